//===- SharedEntries.h - Kernels that differ in numbers ---------*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_SHAREDENTRIES_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_SHAREDENTRIES_H

#include "ModuleLayout.h"

namespace mlir::dsflash {

/// The device's code of a kernel.
struct KernelCode {
  std::string entry;
  SmallVector<int64_t> constants; ///< its last parameters
};

/// Merges entries (DeviceEntry.h) of converted kernels that are equal but for
/// 64-bit numbers and launched in equal blocks: the first stays, under a name
/// without sizes, and takes as parameters all numbers in which they differ.
/// Numbers that instructions are chosen by, such as divisors, have to agree.
/// Gives the code of each of `layout.kernels`.
SmallVector<KernelCode> shareEntries(ModuleOp module,
                                     const ModuleLayout &layout);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_SHAREDENTRIES_H
