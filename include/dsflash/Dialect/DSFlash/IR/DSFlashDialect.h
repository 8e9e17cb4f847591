//===- DSFlashDialect.h - The dsflash dialect, whole ------------*- C++ -*-===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHDIALECT_H
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h.inc"
#include "dsflash/Dialect/DSFlash/IR/DSFlashEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dsflash/Dialect/DSFlash/IR/DSFlashAttrs.h.inc"

#include "dsflash/Dialect/DSFlash/IR/DSFlashTypeInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dsflash/Dialect/DSFlash/IR/DSFlashTypes.h.inc"

#include "dsflash/Dialect/DSFlash/IR/DSFlashOpInterfaces.h.inc"

namespace mlir::dsflash {

/// Whether only the first extent is dynamic, the others being static and 1 to
/// 2^31 - 1.
bool hasRowShape(RankedTensorType type);

} // namespace mlir::dsflash

#define GET_OP_CLASSES
#include "dsflash/Dialect/DSFlash/IR/DSFlashOps.h.inc"

namespace mlir::dsflash {

/// The buffer that a plane of a weight (of one expert) or of one sequence's
/// state is seen through: [rows, columns] of f32, bf16 or i32, or bytes where
/// elements are packed, or [rows] of i32 for the positions of ring slots.
MemRefType getPlaneType(WeightType weight, Plane plane);
MemRefType getPlaneType(StateTypeInterface state, Plane plane);

/// Whether a state has the position plane: a window of a checked model.
bool keepsPositions(Type state);

} // namespace mlir::dsflash

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHDIALECT_H
