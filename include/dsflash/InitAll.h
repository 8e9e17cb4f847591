//===- InitAll.h - Everything that dsflash registers ------------*- C++ -*-===//

#ifndef DSFLASH_INITALL_H
#define DSFLASH_INITALL_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::dsflash {

/// The dsflash dialect, the upstream ones and the interfaces that the
/// pipelines need.
void registerAllDialects(DialectRegistry &registry);
/// All passes and pipelines, of dsflash and upstream.
void registerAllPasses();

/// What `tool --version` prints: versions of dsflash, LLVM and the ABI,
/// built-in targets; no final newline.
std::string getVersionText(llvm::StringRef tool);

} // namespace mlir::dsflash

#endif // DSFLASH_INITALL_H
