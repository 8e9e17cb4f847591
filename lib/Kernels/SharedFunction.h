//===- SharedFunction.h - Code that several kernels share -------*- C++ -*-===//

#ifndef DSFLASH_LIB_KERNELS_SHAREDFUNCTION_H
#define DSFLASH_LIB_KERNELS_SHAREDFUNCTION_H

#include "dsflash/Kernels/KernelBuilder.h"

namespace mlir::dsflash {

/// A buffer of unknown extents.
Value forgetExtents(KernelBuilder &b, Value buffer);

/// Calls the module's function `name`. Where the module lacks it, `emitBody`
/// writes it, with the arguments that stand for `operands`.
void callShared(
    KernelBuilder &b, StringRef name, ValueRange operands,
    function_ref<void(KernelBuilder &body, ValueRange arguments)> emitBody);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_SHAREDFUNCTION_H
