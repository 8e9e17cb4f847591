//===- FloatAttention.cpp - Attention with sums by FMA --------------------===//
//
// No buffer depends on the number of keys: scores are computed twice.
//
//===----------------------------------------------------------------------===//

#include "ThreadAttention.h"
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

namespace {

class FloatAttention : public ThreadAttention {
public:
  FloatAttention(KernelBuilder &b, const AttentionShape &shape,
                 const AttentionKeys &keys, const AttentionHeads &heads);
  void emit() override;

private:
  void forTiles(function_ref<void()> body);
  void scoreTile();
  void addTile();

  int64_t tileKeys; // keys decoded at a time, a power of two
  Value tile, mask, scores, tops, denominators;
};

} // namespace

FloatAttention::FloatAttention(KernelBuilder &b, const AttentionShape &shape,
                               const AttentionKeys &keys,
                               const AttentionHeads &heads)
    : ThreadAttention(b, shape, keys, heads), tileKeys(b.getMaxLanes()) {
  constexpr int64_t tileElements = 4096;
  while (tileKeys > 1 && tileKeys * shape.dim > tileElements)
    tileKeys /= 2;
  Type f32 = b.getF32Type();
  tile = b.scratch({tileKeys, shape.dim}, f32);
  mask = b.scratch({tileKeys}, f32);
  scores = b.scratch({shape.mostHeads, tileKeys}, f32);
  tops = b.scratch({shape.mostHeads, tileKeys}, f32);
  denominators = b.scratch({shape.mostHeads, tileKeys}, f32);
}

void FloatAttention::forTiles(function_ref<void()> body) {
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  b.loop(b.index(0), count, tileKeys, [&](Value begin) {
    b.storeVector(b.f32(0.0f, tileKeys), mask, {b.index(0)});
    b.loop(tileKeys, [&](Value slot) {
      fetch(b.add(begin, slot), viewRow(b, tile, slot, b.index(0), shape.dim),
            [&] { b.store(b.f32(hidden), mask, {slot}); });
    });
    body();
  });
}

/// scores[head, slot] = q . key * dim^-0.5, a few heads and keys at a time to
/// share what is loaded; hidden keys get minus infinity.
void FloatAttention::scoreTile() {
  int64_t headStep = shape.getStep(4);
  int64_t keyStep = std::min(tileKeys, int64_t(4));
  Value scale = b.f32(getScale());
  b.loop(b.index(0), b.index(tileKeys), keyStep, [&](Value slot) {
    forHeads(headStep, [&](Value head) {
      SmallVector<Value> dots = sumVectors(
          b, shape.dim, headStep * keyStep,
          [&](Value f, int64_t lanes, MutableArrayRef<Value> sums) {
            SmallVector<Value> vectors;
            for (int64_t k = 0; k < keyStep; ++k)
              vectors.push_back(b.loadVector(tile, {b.add(slot, k), f}, lanes));
            for (int64_t h = 0; h < headStep; ++h) {
              Value feature = getFeature(b.add(head, h), f);
              Value q = b.loadVector(heads.query, {keys.row, feature}, lanes);
              for (int64_t k = 0; k < keyStep; ++k)
                sums[h * keyStep + k] =
                    b.fma(q, vectors[k], sums[h * keyStep + k]);
            }
          });
      for (int64_t h = 0; h < headStep; ++h)
        for (int64_t k = 0; k < keyStep; ++k)
          b.store(b.mulf(dots[h * keyStep + k], scale), scores,
                  {b.add(head, h), b.add(slot, k)});
    });
  });
  Value masks = b.loadVector(mask, {b.index(0)}, tileKeys);
  forHeads(1, [&](Value head) {
    Value s = b.loadVector(scores, {head, b.index(0)}, tileKeys);
    b.storeVector(b.addf(s, masks), scores, {head, b.index(0)});
  });
}

/// Turns scores into probabilities and adds the values that they weigh.
void FloatAttention::addTile() {
  forHeads(1, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    Value top = b.splat(b.load(tops, line), tileKeys);
    Value e = b.exp(b.subf(b.loadVector(scores, line, tileKeys), top));
    Value sum = b.loadVector(denominators, line, tileKeys);
    b.storeVector(b.addf(sum, e), denominators, line);
    b.storeVector(roundIf(b, shape.roundProbabilities, e), scores, line);
  });
  int64_t headStep = shape.getStep(8);
  forHeads(headStep, [&](Value head) {
    forVectors(b, shape.dim, [&](Value f, int64_t lanes) {
      SmallVector<Value> features, sums;
      for (int64_t h = 0; h < headStep; ++h) {
        features.push_back(getFeature(b.add(head, h), f));
        sums.push_back(
            b.loadVector(heads.result, {keys.row, features[h]}, lanes));
      }
      sums = b.loop(b.index(0), b.index(tileKeys), 1, sums,
                    [&](Value slot, ArrayRef<Value> carried) {
                      Value value = b.loadVector(tile, {slot, f}, lanes);
                      SmallVector<Value> next;
                      for (int64_t h = 0; h < headStep; ++h) {
                        Value p = b.load(scores, {b.add(head, h), slot});
                        next.push_back(
                            b.fma(b.splat(p, lanes), value, carried[h]));
                      }
                      return next;
                    });
      for (int64_t h = 0; h < headStep; ++h)
        b.storeVector(sums[h], heads.result, {keys.row, features[h]});
    });
  });
}

void FloatAttention::emit() {
  // The lowest finite value keeps a row without keys free of NaN.
  constexpr float lowest = std::numeric_limits<float>::lowest();
  forHeads(1, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    b.storeVector(b.f32(lowest, tileKeys), tops, line);
    b.storeVector(b.f32(0.0f, tileKeys), denominators, line);
  });
  clearResult();
  forTiles([&] {
    scoreTile();
    forHeads(1, [&](Value head) {
      SmallVector<Value> line = {head, b.index(0)};
      Value s = b.loadVector(scores, line, tileKeys);
      Value top = b.loadVector(tops, line, tileKeys);
      b.storeVector(b.maxf(s, top), tops, line);
    });
  });
  forHeads(1, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    b.store(b.reduceMax(b.loadVector(tops, line, tileKeys)), tops, line);
  });
  forTiles([&] {
    scoreTile();
    addTile();
  });
  forHeads(1, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    Value sum = b.reduceAdd(b.loadVector(denominators, line, tileKeys));
    divideResult(head, getDenominator(head, sum, b.load(tops, line)));
  });
}

void mlir::dsflash::emitFloatAttention(KernelBuilder &b,
                                       const AttentionShape &shape,
                                       const AttentionKeys &keys,
                                       const AttentionHeads &heads) {
  FloatAttention(b, shape, keys, heads).emit();
}
