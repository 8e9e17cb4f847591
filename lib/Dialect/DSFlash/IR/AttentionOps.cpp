//===- AttentionOps.cpp - CSA2, compressor, indexer, RoPE -----------------===//

#include "Constraints.h"

using namespace mlir;
using namespace mlir::dsflash;

LogicalResult RopeTableOp::verify() {
  if (failed(Constraint{*this, 1}.equal(extent(getResult(), 1),
                                        getFrequencies().size(),
                                        "the table's frequencies")) ||
      failed(Constraint{*this, 1}.equal(extent(getResult(), 2), 2,
                                        "the table's last extent")))
    return failure();
  return Constraint{*this, 2}.holds(isExtent(getRatio()), "a positive ratio");
}

LogicalResult RotateOp::verify() {
  int64_t headDim = getHeadDim();
  if (failed(Constraint{*this, 1}.equal(getResult().getType(),
                                        getInput().getType(), "the result")) ||
      failed(Constraint{*this, 2}.holds(
          headDim > 0 && extent(getInput(), 1) % headDim == 0,
          "features to be a multiple of head_dim " + Twine(headDim) +
              " but got " + Twine(extent(getInput(), 1)))))
    return failure();
  return Constraint{*this, 3}.holds(extent(getTable(), 2) == 2 &&
                                        2 * extent(getTable(), 1) <= headDim,
                                    "a table of at most head_dim / 2 pairs");
}

LogicalResult CSA2Op::verify() {
  if (failed(verifyHeads(*this)))
    return failure();
  if (getGlobalKv() && failed(Constraint{*this, 2}.equal(
                           getGlobalKv().getType().getDim(), extent(getKv(), 1),
                           "the global KV's dim")))
    return failure();
  bool reads = getMode() != Mode::Window;
  if (failed(Constraint{*this, 4}.holds(
          reads == bool(getGlobalKv()) && reads == bool(getSelection()),
          Twine(reads ? "global KV and a selection"
                      : "neither global KV nor a selection") +
              " in mode " + stringifyMode(getMode()))) ||
      failed(verifySlidingWindow(*this, getSlidingWindow(),
                                 getWindow().getType())) ||
      failed(Constraint{*this, 6}.equal(getResult().getType(),
                                        getQuery().getType(), "the result")))
    return failure();
  return Constraint{*this, 6}.equal(getWindowAfter().getType(),
                                    getWindow().getType(), "the window after");
}

LogicalResult CompressOp::verify() {
  PendingType pending = getPending().getType();
  int64_t ratio = getRatio();
  if (failed(Constraint{*this, 1}.equal(getGate().getType(), getKv().getType(),
                                        "the gate")) ||
      failed(Constraint{*this, 1}.equal(getLatent().getType(),
                                        getKv().getType(), "the latent")) ||
      failed(Constraint{*this, 1}.equal(pending.getDim(), extent(getKv(), 1),
                                        "the pending groups' dim")) ||
      failed(Constraint{*this, 2}.holds(
          ratio >= 2 && pending.getSlots() >= ratio,
          "a ratio of at least 2 and at most " + Twine(pending.getSlots()) +
              " slots but got " + Twine(ratio))))
    return failure();
  return Constraint{*this, 3}.equal(getPendingAfter().getType(), pending,
                                    "the pending groups after");
}

LogicalResult AppendOp::verify() {
  auto state = cast<StateTypeInterface>(getState().getType());
  if (failed(Constraint{*this, 1}.equal(extent(getInput(), 1),
                                        state.getRowElements(),
                                        "the input's features")))
    return failure();
  return Constraint{*this, 2}.equal(getStateAfter().getType(),
                                    getState().getType(), "the state after");
}

LogicalResult LoadOp::verify() {
  auto state = cast<StateTypeInterface>(getState().getType());
  return Constraint{*this, 1}.equal(
      extent(getResult(), 1), state.getRowElements(), "the result's features");
}

LogicalResult IndexerOp::verify() {
  int64_t heads = extent(getWeights(), 1);
  if (failed(Constraint{*this, 1}.times(extent(getQuery(), 1), heads,
                                        getKeys().getType().getDim(),
                                        "the query's features")) ||
      failed(Constraint{*this, 2}.holds(!(getCandidates() && getKept()),
                                        "candidates or kept blocks, not both")))
    return failure();
  return Constraint{*this, 3}.holds(
      getCandidates() || getKept() ? isExtent(getBlockSize())
                                   : getBlockSize() == 0,
      "a positive block_size exactly with candidates or kept blocks");
}
