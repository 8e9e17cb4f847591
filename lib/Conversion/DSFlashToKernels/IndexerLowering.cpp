//===- IndexerLowering.cpp - Streaming selection of global rows -----------===//

#include "Lowering.h"
#include "RowAccess.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

namespace {
/// Below every rank of a score, and that of a score that is NaN.
constexpr int64_t noRank = std::numeric_limits<int32_t>::min();

/// Keeps the best of many scored entries, which arrive with ascending indices:
/// ties go to the lower index and what is kept stays in order. Entries are
/// gathered until there is no room; then those below the best are dropped, and
/// from then on what is not better than the worst of them is not gathered.
class BestEntries {
public:
  /// Entries that must have arrived before some are dropped.
  static int64_t getLimit(int64_t wanted) {
    constexpr int64_t smallest = 64;
    return std::max(2 * wanted, smallest);
  }
  /// Columns of the two buffers [rows, columns] of i32 that an object works in,
  /// when `more` entries may come between two calls of makeRoom.
  static int64_t getColumns(int64_t wanted, int64_t more) {
    return getLimit(wanted) + more + KernelBuilder::processorLanes;
  }

  BestEntries(KernelBuilder &b, int64_t wanted, Value ranks, Value indices)
      : b(b), wanted(wanted), rankLanes(b.getMaxLanes()), ranks(ranks),
        indices(indices), count(b.scratch({}, b.getIndexType())),
        threshold(b.scratch({}, b.getI32Type())) {}

  /// Starts anew, in the buffers' row `at`.
  void start(Value at) {
    constexpr int64_t rankOfMinusInfinity = int32_t(0x807fffff);
    row = at;
    b.store(b.index(0), count, {});
    b.store(b.i32(rankOfMinusInfinity), threshold, {});
  }

  /// A score that is minus infinity or NaN never stays.
  void offer(Value isValid, Value score, Value index) {
    Value rank = b.select(isValid, getRank(score), b.i32(noRank));
    Value at = b.load(count, {});
    b.store(rank, ranks, {row, at});
    b.store(b.toI32(index), indices, {row, at});
    Value isBetter = b.cmp(Cmp::sgt, rank, b.load(threshold, {}));
    b.store(b.select(isBetter, b.add(at, 1), at), count, {});
  }

  void makeRoom() {
    Value limit = b.index(getLimit(wanted));
    b.when(b.cmp(Cmp::sge, b.load(count, {}), limit), [&] { dropWorst(); });
  }

  /// Writes the indices of what stays, then -1.
  void finish(Value selection) {
    b.when(b.cmp(Cmp::sgt, b.load(count, {}), b.index(wanted)),
           [&] { dropWorst(); });
    Value kept = b.load(count, {});
    b.loop(b.index(0), kept, [&](Value i) {
      b.store(b.load(indices, {row, i}), selection, {row, i});
    });
    b.loop(kept, b.index(wanted),
           [&](Value i) { b.store(b.i32(-1), selection, {row, i}); });
  }

private:
  /// An integer in the order of scores; -0 equals +0.
  Value getRank(Value score) {
    Value bits = b.bitsOf(b.addf(score, b.f32(0.0f)));
    Value flipped = arith::XOrIOp::create(
        b, bits, b.i32(std::numeric_limits<int32_t>::max()));
    Value isNegative = b.cmp(Cmp::slt, bits, b.i32(0));
    Value rank = b.select(isNegative, flipped, bits);
    return b.select(b.cmpf(CmpF::ORD, score, score), rank, b.i32(noRank));
  }

  /// How many of the gathered entries have at least this rank.
  Value countFrom(Value rank) {
    Value least = b.splat(rank, rankLanes);
    Value zero = b.i32(0, rankLanes), one = b.i32(1, rankLanes);
    Value total =
        b.loop(b.index(0), b.load(count, {}), rankLanes, {zero},
               [&](Value i, ArrayRef<Value> carried) {
                 Value entries = b.loadVector(ranks, {row, i}, rankLanes);
                 Value isCounted = b.cmp(Cmp::sge, entries, least);
                 return SmallVector<Value>{
                     b.add(carried[0], b.select(isCounted, one, zero))};
               })[0];
    return vector::ReductionOp::create(b, vector::CombiningKind::ADD, total);
  }

  /// The rank of the worst entry that stays, found bit by bit from the top.
  Value findThreshold() {
    Value most = b.i32(wanted);
    Value lowest = b.i32(noRank);
    return b.loop(b.index(0), b.index(32), 1, {lowest, lowest},
                  [&](Value, ArrayRef<Value> carried) {
                    Value rank = carried[0], bit = carried[1];
                    Value higher = b.add(rank, bit);
                    Value reaches = b.cmp(Cmp::sge, countFrom(higher), most);
                    return SmallVector<Value>{b.select(reaches, higher, rank),
                                              b.shiftRight(bit, 1)};
                  })[0];
  }

  /// Keeps the wanted number of entries, in order.
  void dropWorst() {
    Value gathered = b.load(count, {});
    b.storeVector(b.i32(noRank, rankLanes), ranks, {row, gathered});
    Value least = findThreshold();
    Value above = countFrom(b.add(least, 1));
    Value ties = b.sub(b.i32(wanted), above);
    Value kept =
        b.loop(b.index(0), gathered, 1, {b.index(0), ties},
               [&](Value i, ArrayRef<Value> carried) {
                 Value to = carried[0], tiesLeft = carried[1];
                 Value rank = b.load(ranks, {row, i});
                 b.store(rank, ranks, {row, to});
                 b.store(b.load(indices, {row, i}), indices, {row, to});
                 Value isAbove = b.cmp(Cmp::sgt, rank, least);
                 Value isTie = b.cmp(Cmp::eq, rank, least);
                 Value isKeptTie = arith::AndIOp::create(
                     b, isTie, b.cmp(Cmp::sgt, tiesLeft, b.i32(0)));
                 Value isKept = arith::OrIOp::create(b, isAbove, isKeptTie);
                 return SmallVector<Value>{
                     b.select(isKept, b.add(to, 1), to),
                     b.select(isKeptTie, b.add(tiesLeft, -1), tiesLeft)};
               })[0];
    b.store(kept, count, {});
    b.store(least, threshold, {});
  }

  KernelBuilder &b;
  int64_t wanted, rankLanes;
  Value ranks, indices;
  Value count, threshold; // of the current row
  Value row;
};

/// Scores of a few adjacent keys against all heads of a query.
class KeyScorer {
public:
  static constexpr int64_t keys = 4;

  KeyScorer(KernelBuilder &b, int64_t heads, int64_t dim, Value weights,
            Value turnedQuery)
      : b(b), heads(heads), dim(dim), lanes(b.getLanes(heads)),
        weights(weights), turnedQuery(turnedQuery),
        tile(b.scratch({keys, dim}, b.getF32Type())) {}

  /// Turns the query of a row so that its heads are adjacent.
  void start(Value at, Value query) {
    row = at;
    b.loop(heads, [&](Value head) {
      b.loop(dim, [&](Value f) {
        Value q = b.load(query, {row, b.add(b.mul(head, dim), f)});
        b.store(q, turnedQuery, {row, f, head});
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
            Value q =
                b.loadVector(turnedQuery, {row, f, b.index(v * lanes)}, lanes);
            for (int64_t k = 0; k < keys; ++k)
              next.push_back(b.fma(q, elements[k], carried[next.size()]));
          }
          return next;
        });
    SmallVector<Value> scores(keys, b.f32(0.0f, lanes));
    Value zero = b.f32(0.0f, lanes);
    for (int64_t v = 0; v < vectors; ++v) {
      Value weight = b.loadVector(weights, {row, b.index(v * lanes)}, lanes);
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
  Value weights, turnedQuery, tile;
  Value row;
};

/// The body of an indexer's kernel.
class IndexerEmitter {
public:
  IndexerEmitter(KernelBuilder &b, IndexerOp op, ValueRange ins,
                 ValueRange outs)
      : b(b), ins(ins), outs(outs), blockSize(op.getBlockSize()),
        hasCandidates(op.getCandidates()), hasKept(op.getKept()),
        ratio(op.getKeys().getType().getRatio()),
        scorer(b, getFeatures(ins[1]), op.getKeys().getType().getDim(), ins[1],
               outs.back()),
        positions(b, getFeatures(outs[0]), outs[1 + hasKept],
                  outs[2 + hasKept]) {
    if (!hasKept)
      return;
    blocks.emplace(b, getFeatures(outs[1]), outs[4], outs[5]);
    blockScore = b.scratch({}, b.getF32Type());
  }

  void emit(Value at) {
    row = at;
    PackedRows keys(b, ins[2], loadIndex(b, ins[3], {row}));
    Value reach = b.div(b.add(loadIndex(b, ins[4], {row}), 1), ratio);
    scorer.start(row, ins[0]);
    positions.start(row);
    if (hasKept)
      scanBlocks(keys, reach);
    else if (hasCandidates)
      scanCandidates(keys, reach);
    else
      scan(keys, b.index(0), reach);
    positions.finish(outs[0]);
  }

private:
  /// Offers the positions begin to end.
  void scan(const PackedRows &keys, Value begin, Value end) {
    b.loop(begin, end, KeyScorer::keys, [&](Value first) {
      SmallVector<Value> scores = scorer.score(keys, first, end);
      for (auto [k, score] : llvm::enumerate(scores)) {
        Value position = b.add(first, k);
        Value isValid = b.cmp(Cmp::slt, position, end);
        positions.offer(isValid, score, position);
        if (hasKept)
          raiseBlockScore(isValid, score);
      }
      positions.makeRoom();
    });
  }

  void raiseBlockScore(Value isValid, Value score) {
    Value best = b.load(blockScore, {});
    Value isBetter =
        arith::AndIOp::create(b, isValid, b.cmpf(CmpF::OGT, score, best));
    b.store(b.select(isBetter, score, best), blockScore, {});
  }

  void scanBlocks(const PackedRows &keys, Value reach) {
    blocks->start(row);
    Value last = b.div(b.add(reach, blockSize - 1), blockSize);
    b.loop(b.index(0), last, [&](Value block) {
      b.store(b.f32(std::numeric_limits<float>::lowest()), blockScore, {});
      Value begin = b.mul(block, blockSize);
      scan(keys, begin, b.min(b.add(begin, blockSize), reach));
      Value isNewest = b.cmp(Cmp::eq, b.add(block, 1), last);
      Value score =
          b.select(isNewest, b.f32(std::numeric_limits<float>::infinity()),
                   b.load(blockScore, {}));
      blocks->offer(isAlways(), score, block);
      blocks->makeRoom();
    });
    blocks->finish(outs[1]);
  }

  void scanCandidates(const PackedRows &keys, Value reach) {
    Value candidates = ins[5];
    b.loop(getFeatures(candidates), [&](Value column) {
      Value block = loadIndex(b, candidates, {row, column});
      b.when(b.cmp(Cmp::sge, block, b.index(0)), [&] {
        Value begin = b.mul(block, blockSize);
        scan(keys, begin, b.min(b.add(begin, blockSize), reach));
      });
    });
  }

  Value isAlways() { return arith::ConstantOp::create(b, b.getBoolAttr(true)); }

  KernelBuilder &b;
  ValueRange ins, outs;
  int64_t blockSize;
  bool hasCandidates, hasKept;
  int64_t ratio;
  KeyScorer scorer;
  BestEntries positions;
  std::optional<BestEntries> blocks;
  Value blockScore;
  Value row;
};
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, IndexerOp op) {
  Value n = l.rows(op.getQuery());
  OpBuilder &builder = l.builder();
  SmallVector<Value> outs;
  for (Type type : op.getResultTypes())
    outs.push_back(l.empty(type, n));
  auto addScratch = [&](ArrayRef<int64_t> rowShape, Type element) {
    SmallVector<int64_t> shape = {ShapedType::kDynamic};
    shape.append(rowShape.begin(), rowShape.end());
    outs.push_back(l.empty(RankedTensorType::get(shape, element), n));
  };
  auto addEntries = [&](Value result, int64_t more) {
    int64_t columns = BestEntries::getColumns(getFeatures(result), more);
    addScratch({columns}, builder.getI32Type());
    addScratch({columns}, builder.getI32Type());
  };
  addEntries(op.getSelection(), KeyScorer::keys);
  if (op.getKept())
    addEntries(op.getKept(), 1);
  addScratch({op.getKeys().getType().getDim(), getFeatures(op.getWeights())},
             builder.getF32Type());

  SmallVector<Value> results =
      l.dispatch(op.getCandidates() ? "candidate_indexer" : "indexer", n,
                 op->getOperands(), outs,
                 [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
                     ValueRange outs) {
                   IndexerEmitter emitter(b, op, ins, outs);
                   b.loop(begin, end, [&](Value row) { emitter.emit(row); });
                 });
  l.replace(ValueRange(results).take_front(op->getNumResults()));
}

void mlir::dsflash::lowerOp(Lowering &l, NoSelectionOp op) {
  Value n = l.rows(op.getPosition());
  l.replace(l.dispatch("no_selection", n, {}, l.empty(op.getType(), n),
                       [](KernelBuilder &b, Value begin, Value end, ValueRange,
                          ValueRange outs) {
                         b.loop(begin, end, [&](Value row) {
                           b.loop(getFeatures(outs[0]), [&](Value i) {
                             b.store(b.i32(-1), outs[0], {row, i});
                           });
                         });
                       }));
}
