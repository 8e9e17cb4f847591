//===- ThreadIndexer.cpp - The scan of index keys by one thread -----------===//

#include "IndexerEmitter.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

namespace {
/// Scores of a few adjacent keys against all heads of a query. A score has as
/// many partial sums as a processor's vector has lanes, or heads if they are
/// fewer: each adds its heads in their order, and halves are added pairwise.
class KeyScorer {
public:
  static constexpr int64_t keys = threadIndexerKeys;

  KeyScorer(KernelBuilder &b, int64_t heads, int64_t dim,
            const IndexerOperands &operands)
      : b(b), heads(heads), dim(dim),
        lanes(std::gcd(heads, KernelBuilder::processorLanes)),
        operands(operands), tile(b.scratch({keys, dim}, b.getF32Type())) {}

  /// Turns the query of a row so that its heads are adjacent.
  void start(Value ofRow, Value ofItem) {
    row = ofRow;
    item = ofItem;
    b.loop(heads, [&](Value head) {
      b.loop(dim, [&](Value f) {
        Value q = b.load(operands.query, {row, b.add(b.mul(head, dim), f)});
        b.store(q, operands.turnedQuery, {item, f, head});
      });
    });
  }

  /// Of keys first, first + 1, ...; those from `end` on repeat the last one.
  SmallVector<Value> score(const PackedRows &rows, Value first, Value end) {
    Value last = b.add(end, -1);
    for (int64_t k = 0; k < keys; ++k)
      rows.decode(b, b.min(b.add(first, k), last),
                  viewRow(b, tile, b.index(k), b.index(0), dim));
    int64_t vectors = heads / lanes;
    SmallVector<Value> dots(keys * vectors, b.f32(0.0f, lanes));
    dots = b.loop(
        b.index(0), b.index(dim), 1, dots,
        [&](Value f, ArrayRef<Value> carried) {
          SmallVector<Value> next, elements;
          for (int64_t k = 0; k < keys; ++k)
            elements.push_back(b.splat(b.load(tile, {b.index(k), f}), lanes));
          for (int64_t v = 0; v < vectors; ++v) {
            Value q = b.loadVector(operands.turnedQuery,
                                   {item, f, b.index(v * lanes)}, lanes);
            for (int64_t k = 0; k < keys; ++k)
              next.push_back(b.fma(q, elements[k], carried[next.size()]));
          }
          return next;
        });
    SmallVector<Value> scores(keys, b.f32(0.0f, lanes));
    Value zero = b.f32(0.0f, lanes);
    for (int64_t v = 0; v < vectors; ++v) {
      Value weight =
          b.loadVector(operands.weights, {row, b.index(v * lanes)}, lanes);
      for (int64_t k = 0; k < keys; ++k) {
        Value dot = dots[v * keys + k];
        // A NaN stays one.
        Value relu = b.select(b.cmpf(CmpF::OLT, dot, zero), zero, dot);
        scores[k] = b.fma(weight, relu, scores[k]);
      }
    }
    for (Value &score : scores)
      score = b.reduceAdd(score);
    return scores;
  }

private:
  KernelBuilder &b;
  int64_t heads, dim, lanes;
  IndexerOperands operands;
  Value tile;
  Value row, item;
};

class ThreadIndexer : public IndexerEmitter {
public:
  ThreadIndexer(KernelBuilder &b, IndexerOp op, const IndexerOperands &operands)
      : IndexerEmitter(b, op, operands, operands.positions, operands.blocks),
        scorer(b, getFeatures(operands.weights),
               op.getKeys().getType().getDim(), operands) {
    if (blocks)
      blockScore = b.scratch({}, b.getF32Type());
  }

private:
  void start() override { scorer.start(row, item); }

  void scan(const PackedRows &keys, Value begin, Value end) override {
    b.loop(begin, end, KeyScorer::keys, [&](Value first) {
      SmallVector<Value> scores = scorer.score(keys, first, end);
      for (auto [k, score] : llvm::enumerate(scores)) {
        Value position = b.add(first, k);
        Value isValid = b.cmp(Cmp::slt, position, end);
        positions.offer(isValid, BestEntries::getRank(b, score), position);
        if (blocks)
          raiseBlockScore(isValid, score);
      }
      positions.makeRoom();
    });
  }

  void raiseBlockScore(Value isValid, Value score) {
    Value best = b.load(blockScore, {});
    Value isBetter = b.bitAnd(isValid, b.cmpf(CmpF::OGT, score, best));
    b.store(b.select(isBetter, score, best), blockScore, {});
  }

  void scanBlocks(const PackedRows &keys, Value begin, Value end) override {
    b.loop(begin, end, [&](Value block) {
      b.store(b.f32(std::numeric_limits<float>::lowest()), blockScore, {});
      Value first = b.mul(block, blockSize);
      scan(keys, first, b.min(b.add(first, blockSize), reach));
      Value isAlways = arith::ConstantOp::create(b, b.getBoolAttr(true));
      offerBlock(isAlways, b.load(blockScore, {}), block);
    });
  }

  void scanCandidates(const PackedRows &keys, Value begin, Value end) override {
    b.loop(begin, end, [&](Value column) {
      Value block = loadIndex(b, operands.candidates, {row, column});
      b.when(b.cmp(Cmp::sge, block, b.index(0)), [&] {
        Value first = b.mul(block, blockSize);
        scan(keys, first, b.min(b.add(first, blockSize), reach));
      });
    });
  }

  KeyScorer scorer;
  Value blockScore;
};
} // namespace

void mlir::dsflash::emitThreadIndexer(KernelBuilder &b, IndexerOp op,
                                      const IndexerOperands &operands,
                                      Value begin, Value end) {
  ThreadIndexer indexer(b, op, operands);
  b.loop(begin, end, [&](Value item) { indexer.emit(item); });
}
