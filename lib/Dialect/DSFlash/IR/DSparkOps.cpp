//===- DSparkOps.cpp - Draft layers and heads -----------------------------===//

#include "Constraints.h"

using namespace mlir;
using namespace mlir::dsflash;

LogicalResult InsertFeatureOp::verify() {
  if (failed(Constraint{*this, 1}.equal(getResult().getType(),
                                        getFeatures().getType(), "the result")))
    return failure();
  int64_t slots = extent(getFeatures(), 1) / extent(getInput(), 1);
  return Constraint{*this, 2}.holds(
      extent(getFeatures(), 1) % extent(getInput(), 1) == 0 &&
          static_cast<int64_t>(getSlot()) >= 0 &&
          static_cast<int64_t>(getSlot()) < slots,
      "a slot of 0 to " + Twine(slots - 1) + " but got " +
          Twine(static_cast<int64_t>(getSlot())));
}

LogicalResult DraftTokensOp::verify() {
  return Constraint{*this, 1}.holds(getNoise() <=
                                        std::numeric_limits<int32_t>::max(),
                                    "a noise token of 0 to 2147483647");
}

LogicalResult DraftAttentionOp::verify() {
  if (failed(verifyHeads(*this)) ||
      failed(Constraint{*this, 4}.equal(getResult().getType(),
                                        getQuery().getType(), "the result")))
    return failure();
  if (failed(verifySlidingWindow(*this, getSlidingWindow(),
                                 getWindow().getType())))
    return failure();
  return Constraint{*this, 6}.holds(getBlockRows().value_or(1) - 1 <
                                        std::numeric_limits<int32_t>::max(),
                                    "block_rows of 1 to 2147483647");
}

LogicalResult AppendWindowOp::verify() {
  if (failed(Constraint{*this, 1}.equal(getWindow().getType().getDim(),
                                        extent(getKv(), 1),
                                        "the window's dim")))
    return failure();
  return Constraint{*this, 2}.equal(getWindowAfter().getType(),
                                    getWindow().getType(), "the window after");
}

LogicalResult ConfidenceOp::verify() {
  return Constraint{*this, 1}.shape(
      getWeight().getType(), 1, extent(getHidden(), 1) + extent(getEmbed(), 1),
      "the weight");
}
