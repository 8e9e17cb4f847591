//===- MoEOps.cpp - Router and experts ------------------------------------===//

#include "Constraints.h"

using namespace mlir;
using namespace mlir::dsflash;

LogicalResult RouterOp::verify() {
  int64_t experts = extent(getLogits(), 1), chosen = extent(getExperts(), 1);
  if (failed(Constraint{*this, 1}.shape(getBias().getType(), 1, experts,
                                        "the bias")) ||
      failed(Constraint{*this, 2}.equal(extent(getWeights(), 1), chosen,
                                        "the weights' extent")) ||
      failed(Constraint{*this, 2}.holds(chosen > 0 && chosen <= experts,
                                        "1 to " + Twine(experts) +
                                            " chosen experts but got " +
                                            Twine(chosen))))
    return failure();
  return Constraint{*this, 3}.holds(getTemperature().isFinite() &&
                                        getTemperature().convertToFloat() > 0,
                                    "a positive temperature");
}

LogicalResult GroupByExpertOp::verify() {
  if (failed(Constraint{*this, 1}.equal(getOrder().getType(),
                                        getExperts().getType(), "the order")))
    return failure();
  return Constraint{*this, 2}.holds(extent(getOffsets(), 0) >= 2,
                                    "a static extent of at least 2 offsets");
}

LogicalResult ExpertLinearOp::verify() {
  WeightType weight = getWeight().getType();
  if (failed(Constraint{*this, 1}.equal(weight.getShape().size(), 3,
                                        "the weight's extents")) ||
      failed(Constraint{*this, 1}.equal(weight.getExperts(),
                                        extent(getOffsets(), 0) - 1,
                                        "the weight's experts")) ||
      failed(Constraint{*this, 2}.equal(extent(getInput(), -1),
                                        weight.getColumns(),
                                        "the input's features")) ||
      failed(Constraint{*this, 3}.equal(extent(getResult(), 1),
                                        extent(getOrder(), 1),
                                        "the result's choices")))
    return failure();
  return Constraint{*this, 3}.equal(extent(getResult(), 2), weight.getRows(),
                                    "the result's features");
}

LogicalResult SwiGLUOp::verify() {
  if (failed(Constraint{*this, 1}.equal(getUp().getType(), getGate().getType(),
                                        "up")) ||
      failed(Constraint{*this, 1}.equal(getResult().getType(),
                                        getGate().getType(), "the result")))
    return failure();
  if (!getRoute())
    return success();
  auto gate = cast<RankedTensorType>(getGate().getType());
  return Constraint{*this, 2}.holds(
      gate.getShape().drop_back() ==
          cast<RankedTensorType>(getRoute().getType()).getShape(),
      "route weights with the leading extents of the gate");
}

LogicalResult CombineOp::verify() {
  if (failed(Constraint{*this, 1}.equal(getResult().getType(),
                                        getShared().getType(), "the result")))
    return failure();
  return Constraint{*this, 1}.equal(extent(getShared(), 1),
                                    extent(getRouted(), 2),
                                    "the shared expert's features");
}
