//===- StreamOps.cpp - Residual streams (mHC), embedding, rows ------------===//

#include "Constraints.h"

using namespace mlir;
using namespace mlir::dsflash;

LogicalResult EmbedOp::verify() {
  WeightType table = getTable().getType();
  Element element = table.getFormat().getElement();
  if (failed(Constraint{*this, 1}.holds(
          table.getShape().size() == 2 &&
              (element == Element::F32 || element == Element::BF16),
          "a table of two extents of f32 or bf16")))
    return failure();
  return Constraint{*this, 2}.equal(extent(getResult(), 1), table.getColumns(),
                                    "the result's features");
}

LogicalResult HCInitOp::verify() {
  if (failed(Constraint{*this, 1}.equal(
          extent(getStream(), 2), extent(getInput(), 1), "stream features")))
    return failure();
  return Constraint{*this, 2}.equal(extent(getPre(), 1), extent(getStream(), 1),
                                    "collapse weights");
}

LogicalResult HCMixOp::verify() {
  int64_t streams = extent(getStream(), 1), features = extent(getStream(), 2);
  int64_t mixes = (2 + streams) * streams;
  if (failed(Constraint{*this, 1}.shape(getFn().getType(), mixes,
                                        streams * features, "fn")) ||
      failed(
          Constraint{*this, 2}.shape(getBase().getType(), 1, mixes, "base")) ||
      failed(Constraint{*this, 2}.shape(getScale().getType(), 1, 3, "scale")) ||
      failed(Constraint{*this, 3}.equal(extent(getPre(), 1), streams,
                                        "pre's extent")) ||
      failed(Constraint{*this, 3}.equal(extent(getPost(), 1), streams,
                                        "post's extent")) ||
      failed(Constraint{*this, 3}.equal(extent(getComb(), 1), streams,
                                        "comb's sources")) ||
      failed(Constraint{*this, 3}.equal(extent(getComb(), 2), streams,
                                        "comb's destinations")))
    return failure();
  return Constraint{*this, 4}.holds(
      isExtent(getIterations()) && isEps(getEps()) && isEps(getNormEps()),
      "positive iterations and every eps to be finite and not negative");
}

LogicalResult HCCollapseOp::verify() {
  if (failed(Constraint{*this, 1}.equal(
          extent(getPre(), 1), extent(getStream(), 1), "collapse weights")))
    return failure();
  return Constraint{*this, 2}.equal(
      extent(getResult(), 1), extent(getStream(), 2), "the result's features");
}

LogicalResult HCExpandOp::verify() {
  int64_t streams = extent(getStream(), 1);
  if (failed(Constraint{*this, 1}.equal(getResult().getType(),
                                        getStream().getType(), "the result")) ||
      failed(Constraint{*this, 2}.equal(extent(getInput(), 1),
                                        extent(getStream(), 2),
                                        "the input's features")) ||
      failed(Constraint{*this, 3}.equal(extent(getPost(), 1), streams,
                                        "post's extent")) ||
      failed(Constraint{*this, 3}.equal(extent(getComb(), 1), streams,
                                        "comb's sources")))
    return failure();
  return Constraint{*this, 3}.equal(extent(getComb(), 2), streams,
                                    "comb's destinations");
}

LogicalResult StreamMeanOp::verify() {
  return Constraint{*this, 1}.equal(
      extent(getResult(), 1), extent(getStream(), 2), "the result's features");
}

LogicalResult GatherRowsOp::verify() {
  return Constraint{*this, 1}.equal(Type(getResult().getType()),
                                    Type(getInput().getType()), "the result");
}

LogicalResult LastRowsOp::verify() {
  Constraint c1{*this, 1};
  if (failed(c1.holds(isExtent(getCount()), "a count of 1 to 2^31 - 1")))
    return failure();
  return c1.holds(getSkip() >= 0 && getSkip() < getCount(),
                  "a skip of 0 to count - 1");
}

LogicalResult AddRowsOp::verify() {
  if (failed(Constraint{*this, 1}.equal(getResult().getType(),
                                        getInto().getType(), "the result")))
    return failure();
  return Constraint{*this, 2}.equal(
      extent(getInput(), 1), extent(getResult(), 1), "the input's features");
}
