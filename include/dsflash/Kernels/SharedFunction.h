//===- SharedFunction.h - Code that several kernels share -------*- C++ -*-===//

#ifndef DSFLASH_KERNELS_SHAREDFUNCTION_H
#define DSFLASH_KERNELS_SHAREDFUNCTION_H

#include "dsflash/Kernels/KernelBuilder.h"

namespace mlir::dsflash {

/// A buffer of unknown extents.
Value forgetExtents(KernelBuilder &b, Value buffer);

/// Calls the module's function `name` and gives its results. Where the module
/// lacks it, `emitBody` writes it, for as many threads and with the arguments
/// that stand for `operands`.
SmallVector<Value> callShared(
    KernelBuilder &b, StringRef name, ValueRange operands,
    function_ref<SmallVector<Value>(KernelBuilder &body, ValueRange arguments)>
        emitBody);

} // namespace mlir::dsflash

#endif // DSFLASH_KERNELS_SHAREDFUNCTION_H
