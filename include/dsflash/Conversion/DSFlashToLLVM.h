//===- DSFlashToLLVM.h - From the kernel level to LLVM ----------*- C++ -*-===//

#ifndef DSFLASH_CONVERSION_DSFLASHTOLLVM_H
#define DSFLASH_CONVERSION_DSFLASHTOLLVM_H

#include "dsflash/Conversion/Passes.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::dsflash {

/// The table of the device's code (dsf_module.codes), declared by the
/// conversion and defined by dsflash-serialize-device; and the gpu.module that
/// it is made of.
constexpr StringLiteral deviceCodesSymbol = "dsf.device_codes";
constexpr StringLiteral deviceModuleName = "device_code";
/// The global with the rows of dsf_module.kernels.
constexpr StringLiteral kernelTableSymbol = "dsf.kernels";

/// The passes from the kernel level (stage "kernels") to a module in the LLVM
/// dialect alone. Multiply-add is fused where the features name "fma".
void addDSFlashToLLVMPasses(OpPassManager &passes,
                            const ConvertDSFlashToLLVMPassOptions &options);

/// What generated code may call besides dsf_env; the final check and the linker
/// accept no other external function.
ArrayRef<StringRef> getAllowedExternalFunctions();

} // namespace mlir::dsflash

#endif // DSFLASH_CONVERSION_DSFLASHTOLLVM_H
