//===- StateFormats.h - The format of rows of the state ---------*- C++ -*-===//

#ifndef DSFLASH_LIB_TRANSFORMS_STATEFORMATS_H
#define DSFLASH_LIB_TRANSFORMS_STATEFORMATS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dsflash {

/// Whether `type` is a state whose rows are not f32.
bool hasPackedRows(Type type);

/// Makes the rows of every state type that `selects` accepts f32, wherever the
/// module names the type. False when there was no such state.
bool unpackStateRows(ModuleOp module, function_ref<bool(Type)> selects);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TRANSFORMS_STATEFORMATS_H
