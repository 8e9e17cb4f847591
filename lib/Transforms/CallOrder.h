//===- CallOrder.h - Functions in the order of their calls ------*- C++ -*-===//

#ifndef DSFLASH_LIB_TRANSFORMS_CALLORDER_H
#define DSFLASH_LIB_TRANSFORMS_CALLORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsflash {

/// The functions of a module that are not kernels and have a body, callees
/// before their callers. Fails with a diagnostic when functions call each other
/// in a circle or one of them has more than one block.
FailureOr<SmallVector<func::FuncOp>> sortCalleesFirst(ModuleOp module);

/// The calls of `function` in the module.
SmallVector<func::CallOp> getCalls(func::FuncOp function);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TRANSFORMS_CALLORDER_H
