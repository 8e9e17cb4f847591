//===- TargetMachine.h - LLVM's code generator ------------------*- C++ -*-===//

#ifndef DSFLASH_LIB_TARGET_TARGETMACHINE_H
#define DSFLASH_LIB_TARGET_TARGETMACHINE_H

#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace mlir::dsflash {

/// The code generator for a triple. An x86 processor is an attribute of every
/// function; NVPTX has one for all, which has to be given.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(llvm::StringRef triple, llvm::StringRef processor = "",
                    llvm::StringRef features = "");

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TARGET_TARGETMACHINE_H
