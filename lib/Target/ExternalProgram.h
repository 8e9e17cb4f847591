//===- ExternalProgram.h - ptxas and the linker -----------------*- C++ -*-===//

#ifndef DSFLASH_LIB_TARGET_EXTERNALPROGRAM_H
#define DSFLASH_LIB_TARGET_EXTERNALPROGRAM_H

#include "TemporaryFile.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir::dsflash {

/// A temporary file that a program is given, and what its messages are to call
/// it.
struct GivenFile {
  llvm::StringRef path, name;
};

/// A new file in the folder for temporary files.
llvm::Expected<TemporaryFile> makeTemporaryFile(llvm::StringRef suffix);

/// Runs `program`, the first of the arguments its name, and gives what it
/// writes. Error: it cannot be started or fails; then what it wrote.
llvm::Expected<std::string>
runExternalProgram(llvm::StringRef program,
                   llvm::ArrayRef<llvm::StringRef> arguments,
                   llvm::ArrayRef<GivenFile> files = {});

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TARGET_EXTERNALPROGRAM_H
