//===- ContextCost.h - What a step costs behind a long context --*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_CONTEXTCOST_H
#define DSFLASH_TOOLS_COMPILE_CONTEXTCOST_H

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

/// What the step that computes the last of so many tokens does in attention
/// and indexers. Rows and keys are read in their packed formats; operations are
/// two for each multiplication.
struct ContextCost {
  int64_t tokens = 0;
  /// Positions that a row sees of the window; of a candidate block, 0 without.
  int64_t slidingWindow = 0, blockSize = 0;
  double attentionFlops = 0, indexFlops = 0;
  double windowBytes = 0, globalBytes = 0;
  /// Index keys that are scored because a layer owns them, and inside the
  /// candidates of another layer.
  int64_t scannedRows = 0, candidateRows = 0;
  double scannedBytes = 0, candidateBytes = 0;
};

/// The costs of @forward of a module at stage "phases", behind contexts of 4K,
/// 64K and 1M tokens, as far as the model's positions reach; at least one.
std::vector<ContextCost> countContexts(mlir::ModuleOp module);

#endif // DSFLASH_TOOLS_COMPILE_CONTEXTCOST_H
