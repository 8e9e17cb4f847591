//===- FuseRounding.cpp - Round results as they are stored ----------------===//

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/Passes.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_FUSEROUNDINGPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

/// The operation that can round the input of `round` as it stores it; null if
/// there is none.
static RoundableOpInterface getRoundableProducer(RoundOp round) {
  auto result = dyn_cast<OpResult>(round.getInput());
  if (!result || result.getResultNumber() != 0 || !result.hasOneUse())
    return nullptr;
  auto producer = dyn_cast<RoundableOpInterface>(result.getOwner());
  return producer && !producer.isRounded() ? producer : nullptr;
}

namespace {
struct FuseRounding : dsflash::impl::FuseRoundingPassBase<FuseRounding> {
  void runOnOperation() override {
    getOperation().walk([](RoundOp round) {
      RoundableOpInterface producer = getRoundableProducer(round);
      if (!producer)
        return;
      producer.markRounded();
      round.getResult().replaceAllUsesWith(round.getInput());
      round.erase();
    });
  }
};
} // namespace
