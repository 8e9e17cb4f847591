//===- Translation.h - The LLVM dialect to LLVM IR --------------*- C++ -*-===//

#ifndef DSFLASH_LIB_TARGET_TRANSLATION_H
#define DSFLASH_LIB_TARGET_TRANSLATION_H

#include "CodeGeneration.h"
#include "mlir/IR/Operation.h"
#include "llvm/IR/Function.h"

namespace mlir::dsflash {

/// LLVM IR of a module for a triple. Functions carry their processor, by
/// `setProcessor`, so that its text says all.
llvm::Expected<LLVMModule>
translate(Operation *module, llvm::StringRef triple,
          llvm::function_ref<void(llvm::Function &)> setProcessor);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TARGET_TRANSLATION_H
