//===- BlockIndexer.cpp - The scan of index keys by a block ---------------===//
//
// All threads of a block score a tile of keys together, one each, and offer
// them in the order of their positions. Entries are gathered in shared memory.
//
//===----------------------------------------------------------------------===//

#include "BlockScorer.h"
#include "IndexerEmitter.h"
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

namespace {
constexpr int64_t kKeys = ScoreTile::keys;
constexpr float kLowest = std::numeric_limits<float>::lowest();

/// What an indexer's block has in shared memory.
struct BlockLayout {
  explicit BlockLayout(IndexerOp op)
      : positionColumns(
            BestEntries::getColumns(getFeatures(op.getSelection()), kKeys)),
        blockColumns(op.getKept() ? BestEntries::getColumns(
                                        getFeatures(op.getKept()), kKeys)
                                  : 0),
        tile(op.getKeys().getType(), getFeatures(op.getWeights()),
             (kKeys + 2 * (positionColumns + blockColumns)) * 4) {}

  int64_t positionColumns, blockColumns;
  ScoreTile tile;

  Value getScores(KernelBuilder &b) const {
    return b.shared(tile.entries, {kKeys}, b.getF32Type());
  }
  EntryBuffers getPositions(KernelBuilder &b) const {
    return getEntries(b, tile.entries + kKeys * 4, positionColumns);
  }
  EntryBuffers getBlocks(KernelBuilder &b) const {
    if (!blockColumns)
      return {};
    return getEntries(b, tile.entries + (kKeys + 2 * positionColumns) * 4,
                      blockColumns);
  }

private:
  static EntryBuffers getEntries(KernelBuilder &b, int64_t offset,
                                 int64_t columns) {
    Type i32 = b.getI32Type();
    return {b.shared(offset, {1, columns}, i32),
            b.shared(offset + columns * 4, {1, columns}, i32)};
  }
};

class BlockIndexer : public IndexerEmitter {
public:
  BlockIndexer(KernelBuilder &b, IndexerOp op, const IndexerOperands &operands,
               const BlockLayout &layout)
      : IndexerEmitter(b, op, operands, layout.getPositions(b),
                       layout.getBlocks(b)),
        scorer(b, layout.tile), thread(b.thread()),
        scores(layout.getScores(b)) {
    if (blockSize)
      tileBlocks = kKeys / blockSize;
  }

private:
  void start() override { scorer.start(row, operands.query, operands.weights); }

  Value offer(const PackedRows &keys, Value isValid, Value position) {
    Value score = scorer.score(keys, position);
    positions.offer(isValid, BestEntries::getRank(b, score), position);
    positions.makeRoom();
    return score;
  }

  void scan(const PackedRows &keys, Value begin, Value end) override {
    Value last = b.add(end, -1);
    b.loop(begin, end, kKeys, [&](Value first) {
      Value position = b.add(first, thread);
      offer(keys, b.cmp(Cmp::slt, position, end), b.min(position, last));
    });
  }

  void scanBlocks(const PackedRows &keys, Value begin, Value end) override {
    Value last = b.add(reach, -1);
    Value isOfTile = b.cmp(Cmp::slt, thread, b.index(tileBlocks * blockSize));
    b.loop(begin, end, tileBlocks, [&](Value first) {
      Value position = b.add(b.mul(first, blockSize), thread);
      Value isValid =
          b.bitAnd(isOfTile, b.cmp(Cmp::slt, position, getEnd(end)));
      Value score = offer(keys, isValid, b.min(position, last));
      Value counts =
          b.bitAnd(isValid, b.cmpf(CmpF::OGT, score, b.f32(kLowest)));
      b.store(b.select(counts, score, b.f32(kLowest)), scores, {thread});
      b.barrier();
      Value block = b.add(first, thread);
      Value isBlock = b.bitAnd(b.cmp(Cmp::slt, thread, b.index(tileBlocks)),
                               b.cmp(Cmp::slt, block, end));
      Value best =
          b.loop(b.index(0), b.index(blockSize), 1, {b.f32(kLowest)},
                 [&](Value i, ArrayRef<Value> carried) {
                   Value at = b.add(b.mul(thread, blockSize), i);
                   Value other =
                       b.load(scores, {b.min(at, b.index(kKeys - 1))});
                   return SmallVector<Value>{b.maxf(other, carried[0])};
                 })[0];
      offerBlock(isBlock, best, block);
    });
  }

  /// The position behind a row's blocks up to `end`.
  Value getEnd(Value end) { return b.min(b.mul(end, blockSize), reach); }

  void scanCandidates(const PackedRows &keys, Value begin, Value end) override {
    Value isOfTile = b.cmp(Cmp::slt, thread, b.index(tileBlocks * blockSize));
    Value last = b.add(end, -1), lastPosition = b.add(reach, -1);
    Value zero = b.index(0);
    b.loop(begin, end, tileBlocks, [&](Value first) {
      auto loadBlock = [&](Value column) {
        return loadIndex(b, operands.candidates, {row, column});
      };
      // Behind the last candidate there are no more.
      b.when(b.cmp(Cmp::sge, loadBlock(first), zero), [&] {
        Value column = b.add(first, b.div(thread, blockSize));
        Value block = loadBlock(b.min(column, last));
        Value position =
            b.add(b.mul(block, blockSize), b.rem(thread, blockSize));
        Value isThere = b.bitAnd(b.cmp(Cmp::sle, column, last),
                                 b.cmp(Cmp::sge, block, zero));
        Value isValid = b.bitAnd(b.bitAnd(isOfTile, isThere),
                                 b.cmp(Cmp::sle, position, lastPosition));
        offer(keys, isValid, b.max(b.min(position, lastPosition), zero));
      });
    });
  }

  BlockScorer scorer;
  Value thread, scores;
  int64_t tileBlocks = 0; // that a tile holds
};
} // namespace

BlockAttr mlir::dsflash::getIndexerBlock(IndexerOp op, ConfigAttr config) {
  if (!config || static_cast<int64_t>(op.getBlockSize()) > kKeys)
    return {};
  BlockLayout layout(op);
  if (!layout.tile.isPossible(config))
    return {};
  return BlockAttr::get(config.getContext(), kKeys, layout.tile.sharedBytes);
}

void mlir::dsflash::emitBlockIndexer(KernelBuilder &b, IndexerOp op,
                                     const IndexerOperands &operands,
                                     Value begin, Value end) {
  BlockIndexer indexer(b, op, operands, BlockLayout(op));
  b.loop(begin, end, [&](Value item) { indexer.emit(item); });
}
