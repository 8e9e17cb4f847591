//===- DeviceEntry.h - Kernels as a device starts them ----------*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_DEVICEENTRY_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_DEVICEENTRY_H

#include "ABIBuilder.h"
#include "ModuleLayout.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsflash {

/// What the function of a kernel is called behind its entry.
std::string getKernelBodyName(StringRef kernel);

/// Adds `NAME(call, items, fields...)`, the entry of the kernel NAME, which
/// becomes NAME.body. A thread, or the block of a kernel with dsflash.block,
/// runs the items that are as far from its own number as a multiple of the
/// number of threads or blocks, so that every grid in x covers any number of
/// items. Error: the name is none that PTX can have.
LogicalResult addDeviceEntry(func::FuncOp kernel,
                             const LLVMTypeConverter &converter);

/// Checks that entries and what they call, kernels left out, touch no buffer:
/// on the host of a device there is only its address.
LogicalResult checkHostCode(ModuleOp module, const ModuleLayout &layout);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_DEVICEENTRY_H
