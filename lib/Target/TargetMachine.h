//===- TargetMachine.h - LLVM's code generator ------------------*- C++ -*-===//

#ifndef DSFLASH_LIB_TARGET_TARGETMACHINE_H
#define DSFLASH_LIB_TARGET_TARGETMACHINE_H

#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace mlir::dsflash {

/// The code generator for a triple; processors are attributes of functions.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(llvm::StringRef triple);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TARGET_TARGETMACHINE_H
