//===- Launches.h - Launches, probes and packed data to LLVM ----*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_LAUNCHES_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_LAUNCHES_H

#include "ModuleLayout.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"

namespace mlir::dsflash {

/// Weights become slot numbers and states byte offsets, both i64.
void addDSFlashTypeConversions(LLVMTypeConverter &converter);

/// Calls dsf_env.report of its first argument, the call, with the others.
inline constexpr llvm::StringLiteral kReportFunction = "dsf.report";
/// Adds that function where the module has checks.
void addReportFunction(ModuleOp module, const ModuleLayout &layout);

/// Patterns for the kernel-level operations; `layout` must outlive them.
void populateDSFlashToLLVMPatterns(const LLVMTypeConverter &converter,
                                   const ModuleLayout &layout,
                                   RewritePatternSet &patterns);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_LAUNCHES_H
