//===- CodeGeneration.h - LLVM IR to objects --------------------*- C++ -*-===//

#ifndef DSFLASH_LIB_TARGET_CODEGENERATION_H
#define DSFLASH_LIB_TARGET_CODEGENERATION_H

#include "mlir/Support/Timing.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlir::dsflash {

/// LLVM IR and what owns its types.
struct LLVMModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

/// Reads LLVM IR text. `name` stands for it in errors ("name:line:column:
/// why").
llvm::Expected<LLVMModule> parseLLVM(llvm::StringRef llvmIR,
                                     llvm::StringRef name);

/// Optimises LLVM IR text and gives the bytes of an object file. The steps add
/// their times to `timing`.
llvm::Expected<llvm::SmallString<0>>
emitObject(llvm::StringRef llvmIR, llvm::StringRef name, TimingScope &timing);

/// Optimises LLVM IR and gives the assembly text. `name` stands for the module
/// in errors.
llvm::Expected<std::string> emitAssembly(LLVMModule module,
                                         llvm::StringRef name);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TARGET_CODEGENERATION_H
