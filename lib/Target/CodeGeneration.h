//===- CodeGeneration.h - LLVM IR to objects --------------------*- C++ -*-===//

#ifndef DSFLASH_LIB_TARGET_CODEGENERATION_H
#define DSFLASH_LIB_TARGET_CODEGENERATION_H

#include "mlir/Support/Timing.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"

namespace mlir::dsflash {

/// Optimises LLVM IR text and gives the bytes of an object file. The steps add
/// their times to `timing`.
llvm::Expected<llvm::SmallString<0>>
emitObject(llvm::StringRef llvmIR, llvm::StringRef name, TimingScope &timing);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TARGET_CODEGENERATION_H
