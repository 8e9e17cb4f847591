//===- GreedyConfig.h - Rewriting before control flow -----------*- C++ -*-===//

#ifndef DSFLASH_TRANSFORMS_GREEDYCONFIG_H
#define DSFLASH_TRANSFORMS_GREEDYCONFIG_H

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::dsflash {

/// For functions of one block, as all are before control flow is lowered:
/// simplifies nothing among blocks, which takes longer than the patterns.
inline GreedyRewriteConfig getStructuredConfig() {
  return GreedyRewriteConfig().setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
}

} // namespace mlir::dsflash

#endif // DSFLASH_TRANSFORMS_GREEDYCONFIG_H
