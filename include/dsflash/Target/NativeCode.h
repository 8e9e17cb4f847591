//===- NativeCode.h - From the LLVM dialect to a shared object --*- C++ -*-===//
//
// LLVM IR travels as text that names its target, so that a module that was
// written out and read back gives the same bytes as the direct way.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_TARGET_NATIVECODE_H
#define DSFLASH_TARGET_NATIVECODE_H

#include "dsflash/Target/CPUTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

namespace mlir::dsflash {

/// LLVM IR of a module in the LLVM dialect, before optimisation, for `target`.
llvm::Expected<std::string> translateToLLVMIR(ModuleOp module,
                                              const CPUTarget &target);

/// Optimises LLVM IR and gives the assembly text. `name` stands for the text in
/// errors ("name:line:column: why").
llvm::Expected<std::string> emitAssembly(llvm::StringRef llvmIR,
                                         llvm::StringRef name);

/// Optimises LLVM IR and links it to the shared object `path`, which is
/// replaced at once or not at all. Equal texts give equal bytes. An undefined
/// symbol that generated code may not have is an error. The parts of the work
/// add their times to `timing`.
llvm::Error emitSharedObject(llvm::StringRef llvmIR, llvm::StringRef name,
                             llvm::StringRef path, TimingScope timing = {});

/// The linker that emitSharedObject runs.
llvm::Expected<std::string> findLinker();

/// Symbols that a shared object wants from its process.
llvm::Expected<std::vector<std::string>>
getUndefinedSymbols(llvm::StringRef path);

} // namespace mlir::dsflash

#endif // DSFLASH_TARGET_NATIVECODE_H
