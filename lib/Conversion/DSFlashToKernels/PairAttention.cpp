//===- PairAttention.cpp - Attention by products of pairs -----------------===//
//
// Scores add two features at a time, values two keys (dsflash.dot_bf16). All
// scores of a row stay in memory, so that they are computed once.
//
//===----------------------------------------------------------------------===//

#include "ThreadAttention.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

namespace {

/// Lanes of a sum, and values of a vector that is added to it.
constexpr int64_t sumLanes = KernelBuilder::processorLanes;
constexpr int64_t width = 2 * sumLanes;
/// Keys that are decoded at a time: to score them, and as pairs of values.
constexpr int64_t scoreKeys = sumLanes, valuePairs = 32;

class PairAttention : public ThreadAttention {
public:
  PairAttention(KernelBuilder &b, const AttentionShape &shape,
                const AttentionKeys &keys, const AttentionHeads &heads,
                int64_t mostKeys);
  void emit() override;

private:
  void narrowQueries();
  void fetchTile(Value begin);
  void scoreTile(Value begin);
  void weigh(Value head);
  void fetchPairs(Value begin, Value pairs);
  void addPairs(Value begin, Value pairs);
  Value loadPair(Value head, Value t);

  Value rows;    // of a pair of keys, bf16
  Value queries; // bf16
  Value tile;    // [key, feature] of bf16
  Value values;  // [pair, feature, key of the pair] of bf16
  Value mask, tops;
  Value scores, probabilities; // [head, key]
  Value denominators;
};

} // namespace

PairAttention::PairAttention(KernelBuilder &b, const AttentionShape &shape,
                             const AttentionKeys &keys,
                             const AttentionHeads &heads, int64_t mostKeys)
    : ThreadAttention(b, shape, keys, heads) {
  Type f32 = b.getF32Type(), bf16 = b.getBF16Type();
  int64_t pitch = llvm::alignTo(mostKeys, scoreKeys);
  rows = b.scratch({2, shape.dim}, bf16);
  queries = b.scratch({shape.mostHeads, shape.dim}, bf16);
  tile = b.scratch({scoreKeys, shape.dim}, bf16);
  values = b.scratch({valuePairs, 2 * shape.dim}, bf16);
  mask = b.scratch({scoreKeys}, f32);
  tops = b.scratch({shape.mostHeads, scoreKeys}, f32);
  scores = b.scratch({shape.mostHeads, pitch}, f32);
  probabilities = b.scratch({shape.mostHeads, pitch}, bf16);
  denominators = b.scratch({shape.mostHeads}, f32);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void PairAttention::narrowQueries() {
  forHeads(1, [&](Value head) {
    b.loop(b.index(0), b.index(shape.dim), width, [&](Value f) {
      Value query =
          b.loadVector(heads.query, {keys.row, getFeature(head, f)}, width);
      b.storeVector(b.narrowBF16(query), queries, {head, f});
    });
  });
}

/// Puts keys from `begin` on into the tile; hidden ones get minus infinity.
void PairAttention::fetchTile(Value begin) {
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  b.storeVector(b.f32(0.0f, scoreKeys), mask, {b.index(0)});
  b.loop(scoreKeys, [&](Value slot) {
    fetch(b.add(begin, slot), viewRow(b, tile, slot, b.index(0), shape.dim),
          [&] { b.store(b.f32(hidden), mask, {slot}); });
  });
}

/// scores[head, begin + slot] = q . key * dim^-0.5, a few heads and keys at a
/// time to share what is loaded.
void PairAttention::scoreTile(Value begin) {
  constexpr int64_t keyStep = 4;
  int64_t headStep = shape.getStep(4), count = headStep * keyStep;
  b.loop(b.index(0), b.index(scoreKeys), keyStep, [&](Value slot) {
    forHeads(headStep, [&](Value head) {
      SmallVector<Value> sums(count, b.f32(0.0f, sumLanes));
      sums = b.loop(
          b.index(0), b.index(shape.dim), width, sums,
          [&](Value f, ArrayRef<Value> carried) {
            SmallVector<Value> vectors, next;
            for (int64_t k = 0; k < keyStep; ++k)
              vectors.push_back(b.loadVector(tile, {b.add(slot, k), f}, width));
            for (int64_t h = 0; h < headStep; ++h) {
              Value query = b.loadVector(queries, {b.add(head, h), f}, width);
              for (int64_t k = 0; k < keyStep; ++k)
                next.push_back(
                    b.dotBF16(query, vectors[k], carried[h * keyStep + k]));
            }
            return next;
          });
      Value dots = b.mulf(b.reduceAddEach(sums), b.f32(getScale(), count));
      for (int64_t h = 0; h < headStep; ++h)
        b.storeVector(b.slice(dots, h * keyStep, keyStep), scores,
                      {b.add(head, h), b.add(begin, slot)});
    });
  });
  Value masks = b.loadVector(mask, {b.index(0)}, scoreKeys);
  forHeads(1, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    Value score = b.addf(b.loadVector(scores, {head, begin}, scoreKeys), masks);
    b.storeVector(score, scores, {head, begin});
    b.storeVector(b.maxf(score, b.loadVector(tops, line, scoreKeys)), tops,
                  line);
  });
}

/// Turns a head's scores into probabilities.
void PairAttention::weigh(Value head) {
  Value top = b.reduceMax(b.loadVector(tops, {head, b.index(0)}, scoreKeys));
  Value sum = b.loop(b.index(0), count, scoreKeys, {b.f32(0.0f, scoreKeys)},
                     [&](Value t, ArrayRef<Value> carried) {
                       Value score = b.loadVector(scores, {head, t}, scoreKeys);
                       Value e = b.exp(b.subf(score, b.splat(top, scoreKeys)));
                       b.storeVector(b.narrowBF16(b.round(e)), probabilities,
                                     {head, t});
                       return SmallVector<Value>{b.addf(carried[0], e)};
                     })[0];
  b.store(getDenominator(head, b.reduceAdd(sum), top), denominators, {head});
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Puts pairs of keys from `begin` on side by side into `values`.
void PairAttention::fetchPairs(Value begin, Value pairs) {
  b.loop(b.index(0), pairs, [&](Value pair) {
    Value t = b.add(begin, b.mul(pair, 2));
    b.loop(2, [&](Value i) {
      fetch(b.add(t, i), viewRow(b, rows, i, b.index(0), shape.dim), [] {});
    });
    b.loop(b.index(0), b.index(shape.dim), width, [&](Value f) {
      Value both = vector::InterleaveOp::create(
          b, b.loadVector(rows, {b.index(0), f}, width),
          b.loadVector(rows, {b.index(1), f}, width));
      for (int64_t i = 0; i < 2; ++i)
        b.storeVector(b.slice(both, i * width, width), values,
                      {pair, b.add(b.mul(f, 2), i * width)});
    });
  });
}

/// The probabilities of a pair of keys in every lane.
Value PairAttention::loadPair(Value head, Value t) {
  Value word =
      vector::BitCastOp::create(b, VectorType::get(1, b.getI32Type()),
                                b.loadVector(probabilities, {head, t}, 2));
  Value words =
      b.splat(vector::ExtractOp::create(b, word, int64_t(0)), sumLanes);
  return vector::BitCastOp::create(b, VectorType::get(width, b.getBF16Type()),
                                   words);
}

/// Adds what these pairs' probabilities weigh to the result.
void PairAttention::addPairs(Value begin, Value pairs) {
  constexpr int64_t vectors = 2;
  int64_t headStep = shape.getStep(8);
  b.loop(b.index(0), b.index(shape.dim), vectors * sumLanes, [&](Value f) {
    forHeads(headStep, [&](Value head) {
      SmallVector<SmallVector<Value>> places;
      SmallVector<Value> sums;
      for (int64_t h = 0; h < headStep; ++h)
        for (int64_t i = 0; i < vectors; ++i) {
          Value feature = getFeature(b.add(head, h), b.add(f, i * sumLanes));
          places.push_back({keys.row, feature});
          sums.push_back(b.loadVector(heads.result, places.back(), sumLanes));
        }
      sums = b.loop(
          b.index(0), pairs, 1, sums, [&](Value pair, ArrayRef<Value> carried) {
            SmallVector<Value> of, next;
            for (int64_t i = 0; i < vectors; ++i)
              of.push_back(b.loadVector(
                  values, {pair, b.add(b.mul(f, 2), i * width)}, width));
            Value t = b.add(begin, b.mul(pair, 2));
            for (int64_t h = 0; h < headStep; ++h) {
              Value weight = loadPair(b.add(head, h), t);
              for (int64_t i = 0; i < vectors; ++i)
                next.push_back(
                    b.dotBF16(weight, of[i], carried[h * vectors + i]));
            }
            return next;
          });
      for (auto [place, sum] : llvm::zip_equal(places, sums))
        b.storeVector(sum, heads.result, place);
    });
  });
}

void PairAttention::emit() {
  // The lowest finite value keeps a row without keys free of NaN.
  constexpr float lowest = std::numeric_limits<float>::lowest();
  forHeads(1, [&](Value head) {
    b.storeVector(b.f32(lowest, scoreKeys), tops, {head, b.index(0)});
  });
  narrowQueries();
  b.loop(b.index(0), count, scoreKeys, [&](Value begin) {
    fetchTile(begin);
    scoreTile(begin);
  });
  forHeads(1, [&](Value head) { weigh(head); });
  clearResult();
  b.loop(b.index(0), count, 2 * valuePairs, [&](Value begin) {
    Value left = b.div(b.add(b.sub(count, begin), 1), 2);
    Value pairs = b.min(left, b.index(valuePairs));
    fetchPairs(begin, pairs);
    addPairs(begin, pairs);
  });
  forHeads(
      1, [&](Value head) { divideResult(head, b.load(denominators, {head})); });
}

bool mlir::dsflash::isPairAttention(const AttentionShape &shape) {
  return shape.roundProbabilities && shape.dim % width == 0 &&
         shape.ring.hasScale() && (!shape.global || shape.global.hasScale());
}

void mlir::dsflash::emitPairAttention(KernelBuilder &b,
                                      const AttentionShape &shape,
                                      const AttentionKeys &keys,
                                      const AttentionHeads &heads,
                                      int64_t mostKeys) {
  PairAttention(b, shape, keys, heads, mostKeys).emit();
}
