//===- NumericsOps.cpp - Rounding, quantizers, norm, products -------------===//

#include "Constraints.h"

using namespace mlir;
using namespace mlir::dsflash;

LogicalResult RoundOp::verify() {
  return Constraint{*this, 1}.holds(!getPoint().empty(), "a named point");
}

LogicalResult QuantizeOp::verify() {
  FormatAttr format = getFormat();
  if (failed(Constraint{*this, 1}.holds(
          format.getScale() == Element::E8M0 && format.getBlockRows() == 1,
          "e4m3 or e2m1 with an e8m0 scale for one row")))
    return failure();
  if (failed(Constraint{*this, 2}.holds(
          extent(getInput(), -1) % format.getBlockColumns() == 0,
          "features to be a multiple of " + Twine(format.getBlockColumns()) +
              " but got " + Twine(extent(getInput(), -1)))))
    return failure();
  return Constraint{*this, 3}.holds(!getPoint().empty(), "a named point");
}

LogicalResult ScaleOp::verify() {
  return Constraint{*this, 1}.holds(getFactor().isFinite(), "a finite factor");
}

LogicalResult RMSNormOp::verify() {
  if (failed(Constraint{*this, 1}.equal(getResult().getType(),
                                        getInput().getType(), "the result")) ||
      failed(Constraint{*this, 2}.shape(getWeight().getType(), 1,
                                        extent(getInput(), 1), "the weight")))
    return failure();
  return Constraint{*this, 3}.holds(isEps(getEps()),
                                    "eps to be finite and not negative");
}

/// C1 to C3 of every product: `groups` blocks along the diagonal.
static LogicalResult verifyProduct(Operation *op, Value input,
                                   WeightType weight, Value result,
                                   int64_t groups) {
  if (failed(Constraint{op, 1}.holds(
          weight.getShape().size() == 2 &&
              weight.getFormat().getElement() != Element::I32,
          "a weight of two extents that is not i32")) ||
      failed(Constraint{op, 2}.times(extent(input, 1), groups,
                                     weight.getColumns(),
                                     "the input's features")))
    return failure();
  return Constraint{op, 3}.equal(extent(result, 1), weight.getRows(),
                                 "the result's features");
}

LogicalResult LinearOp::verify() {
  return verifyProduct(*this, getInput(), getWeight().getType(), getResult(),
                       1);
}

LogicalResult ProjectOp::verify() {
  return verifyProduct(*this, getInput(), getWeight().getType(), getResult(),
                       1);
}

LogicalResult GroupedLinearOp::verify() {
  WeightType weight = getWeight().getType();
  int64_t groups = getGroups();
  if (failed(Constraint{*this, 4}.holds(
          groups > 0 && weight.getRows() % groups == 0,
          "positive groups that divide the weight's rows but got " +
              Twine(groups))))
    return failure();
  return verifyProduct(*this, getInput(), weight, getResult(), groups);
}
