//===- LaunchTasks.h - Operands of a launch to a kernel ---------*- C++ -*-===//
//
// A launch stores its operands in a structure on the stack: the call, on a
// device the number of items, then for each operand a buffer's address and
// dynamic sizes, or the value itself.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_LAUNCHTASKS_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_LAUNCHTASKS_H

#include "ABIBuilder.h"
#include "ModuleLayout.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsflash {

/// Types of the fields that a launch packs for a kernel's operands: a buffer's
/// address and dynamic sizes, or the value itself.
SmallVector<Type> getOperandFields(func::FuncOp kernel,
                                   const LLVMTypeConverter &converter);

/// Appends a kernel's operands, made of the fields in their order, to the
/// arguments of a call.
void appendOperands(ABIBuilder &b, func::FuncOp kernel,
                    llvm::function_ref<Value()> nextField,
                    SmallVectorImpl<Value> &arguments);

/// Where a field of the structure lies.
Value getFieldAddress(ABIBuilder &b, Type structure, Value context,
                      int32_t field);

/// The function that addTasks adds for a kernel.
std::string getTaskName(StringRef kernel);

/// Adds for every kernel that is launched a function of type dsf_task that
/// unpacks a launch's context and calls the kernel, or on a device an entry.
LogicalResult addTasks(ModuleOp module, const ModuleLayout &layout,
                       const LLVMTypeConverter &converter);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_LAUNCHTASKS_H
