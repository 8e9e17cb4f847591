//===- Passes.h - From the LLVM dialect to code -----------------*- C++ -*-===//

#ifndef DSFLASH_TARGET_PASSES_H
#define DSFLASH_TARGET_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dsflash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dsflash/Target/Passes.h.inc"

} // namespace mlir::dsflash

#endif // DSFLASH_TARGET_PASSES_H
