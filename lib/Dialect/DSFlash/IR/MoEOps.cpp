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
  return Constraint{*this, 3}.holds(getTemperature().isFiniteNonZero() &&
                                        !getTemperature().isNegative() &&
                                        getScaling().isFinite(),
                                    "a finite positive temperature and a "
                                    "finite scaling");
}

LogicalResult GroupByExpertOp::verify() {
  if (failed(Constraint{*this, 1}.equal(getOrder().getType(),
                                        getExperts().getType(), "the order")))
    return failure();
  return Constraint{*this, 2}.holds(extent(getOffsets(), 0) >= 2 &&
                                        isExtent(extent(getOffsets(), 0)),
                                    "a static extent of at least 2 offsets");
}

LogicalResult ExpertLinearOp::verify() {
  WeightType weight = getWeight().getType();
  bool forEachChoice = cast<ShapedType>(getInput().getType()).getRank() == 3;
  if (failed(Constraint{*this, 1}.holds(
          weight.getShape().size() == 3 &&
              weight.getFormat().getElement() != Element::I32,
          "a weight of three extents that is not i32")) ||
      failed(Constraint{*this, 1}.equal(extent(getOffsets(), 0),
                                        weight.getExperts() + 1,
                                        "the offsets' extent")) ||
      failed(Constraint{*this, 2}.equal(extent(getInput(), -1),
                                        weight.getColumns(),
                                        "the input's features")) ||
      (forEachChoice && failed(Constraint{*this, 2}.equal(
                            extent(getInput(), 1), extent(getOrder(), 1),
                            "the input's choices"))) ||
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
