//===- EngramOps.cpp - Engram ---------------------------------------------===//

#include "Constraints.h"

using namespace mlir;
using namespace mlir::dsflash;

LogicalResult EngramHashOp::verify() {
  int64_t ngrams = extent(getLookBack(), 1);
  int64_t columns = getPrimes().size();
  WeightType map = getTokenMap().getType();
  if (failed(Constraint{*this, 1}.equal(getMultipliers().size(), ngrams + 1,
                                        "the number of multipliers")) ||
      failed(Constraint{*this, 2}.equal(extent(getResult(), 1), columns,
                                        "the result's columns")) ||
      failed(Constraint{*this, 2}.holds(
          ngrams > 0 && columns > 0 && columns % ngrams == 0,
          "a multiple of " + Twine(ngrams) + " primes but got " +
              Twine(columns))) ||
      failed(Constraint{*this, 3}.holds(
          llvm::all_of(getPrimes(), [](int64_t p) { return p >= 2; }),
          "every prime to be at least 2")))
    return failure();
  auto isMapped = [&](int64_t token) {
    return token >= 0 && token < map.getColumns();
  };
  if (failed(Constraint{*this, 4}.holds(
          map.getFormat().getElement() == Element::I32 &&
              map.getShape().size() == 2 && map.getRows() == 1 &&
              isMapped(getPad()),
          "a token map of one i32 row that holds the pad token")))
    return failure();
  return Constraint{*this, 5}.holds(isMapped(getImageToken().value_or(0)),
                                    "a token map that holds the image token");
}

LogicalResult EngramLookupOp::verify() {
  WeightType table = getTable().getType();
  FormatAttr format = table.getFormat();
  if (failed(Constraint{*this, 1}.times(
          extent(getResult(), 1), extent(getRows(), 1), table.getColumns(),
          "the result's features")))
    return failure();
  return Constraint{*this, 2}.holds(
      table.getShape().size() == 2 && format.getElement() == Element::E4M3 &&
          format.getScale() == Element::E8M0 && format.getBlockRows() == 1,
      "a table of two extents of e4m3 with an e8m0 scale for one row");
}

LogicalResult EngramGateOp::verify() {
  int64_t streams = extent(getStream(), 1), features = extent(getStream(), 2);
  if (failed(Constraint{*this, 1}.times(extent(getKv(), 1), streams + 1,
                                        features, "kv's features")) ||
      failed(Constraint{*this, 2}.shape(getQueryWeight().getType(), streams,
                                        features, "the query weight")) ||
      failed(Constraint{*this, 2}.shape(getKeyWeight().getType(), streams,
                                        features, "the key weight")) ||
      failed(Constraint{*this, 3}.equal(extent(getGate(), 1), streams,
                                        "the gate's extent")))
    return failure();
  return Constraint{*this, 4}.holds(isEps(getEps()),
                                    "eps to be finite and not negative");
}

LogicalResult EngramAddOp::verify() {
  int64_t streams = extent(getStream(), 1), features = extent(getStream(), 2);
  if (failed(Constraint{*this, 1}.equal(getResult().getType(),
                                        getStream().getType(), "the result")) ||
      failed(Constraint{*this, 2}.times(extent(getKv(), 1), streams + 1,
                                        features, "kv's features")))
    return failure();
  return Constraint{*this, 2}.equal(extent(getGate(), 1), streams,
                                    "the gate's extent");
}
