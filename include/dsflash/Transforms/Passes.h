//===- Passes.h - Transforms of dsflash modules -----------------*- C++ -*-===//

#ifndef DSFLASH_TRANSFORMS_PASSES_H
#define DSFLASH_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dsflash {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "dsflash/Transforms/Passes.h.inc"

/// Passes that only tests use: dsflash-test-drop-rounding.
void registerTestPasses();

} // namespace mlir::dsflash

#endif // DSFLASH_TRANSFORMS_PASSES_H
