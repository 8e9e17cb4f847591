//===- CheckOps.cpp - What a checked model verifies as it runs ------------===//

#include "Constraints.h"

using namespace mlir;
using namespace mlir::dsflash;

/// C1 of every check.
template <typename OpTy> static LogicalResult verifyName(OpTy op) {
  return Constraint{op, 1}.holds(op.getName().contains("{l}") ==
                                     bool(op.getLayer()),
                                 "{l} in the name exactly when there is a "
                                 "layer");
}

LogicalResult CheckNaNOp::verify() {
  if (failed(verifyName(*this)))
    return failure();
  return Constraint{*this, 2}.holds(!getOutputs() || getPosition(),
                                    "outputs only with positions");
}

LogicalResult CheckIdsOp::verify() {
  if (failed(verifyName(*this)) ||
      failed(Constraint{*this, 2}.holds(getKind() == Check::Expert ||
                                            getKind() == Check::Row,
                                        "the kind expert or row")))
    return failure();
  int64_t ratio = getPositionsPerRow();
  return Constraint{*this, 3}.holds(
      ratio == 0 || (isExtent(ratio) && getPosition()),
      "positions_per_row of 0, or with positions 1 to 2147483647");
}

LogicalResult CheckWindowOp::verify() {
  WindowType window = getWindow().getType();
  if (failed(verifyName(*this)) ||
      failed(
          Constraint{*this, 2}.equal(Type(getType()), window, "the result")) ||
      failed(Constraint{*this, 2}.holds(window.getPositions(),
                                        "a window that keeps positions")))
    return failure();
  return Constraint{*this, 3}.holds(
      int64_t(getCount()) >= 0 && int64_t(getCount()) <= window.getSlots(),
      "a count of 0 to " + Twine(window.getSlots()));
}

LogicalResult ReportOp::verify() { return verifyName(*this); }
