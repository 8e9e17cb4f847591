//===- ThreadAttention.cpp - Attention of a few heads by a thread ---------===//

#include "ThreadAttention.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

int64_t AttentionShape::getStep(int64_t most) const {
  return std::gcd(unitHeads, most);
}

ThreadAttention::ThreadAttention(KernelBuilder &b, const AttentionShape &shape,
                                 const AttentionKeys &keys,
                                 const AttentionHeads &heads)
    : b(b), shape(shape), keys(keys), heads(heads), count(keys.windowCount) {
  if (keys.selection)
    findSelected();
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Counts the columns of the selection between which its rows lie.
void ThreadAttention::findSelected() {
  Value columns = memref::DimOp::create(b, keys.selection, 1);
  SmallVector<Value> limits =
      b.loop(b.index(0), columns, 1, {columns, b.index(0)},
             [&](Value column, ArrayRef<Value> carried) {
               Value isSelected =
                   b.cmp(Cmp::sge, b.load(keys.selection, {keys.row, column}),
                         b.i32(0));
               Value first = b.min(carried[0], column);
               return SmallVector<Value>{
                   b.select(isSelected, first, carried[0]),
                   b.select(isSelected, b.add(column, 1), carried[1])};
             });
  firstColumn = limits[0];
  count = b.add(count, b.max(b.sub(limits[1], limits[0]), b.index(0)));
}

/// Fills `to` with vectors of f32.
void ThreadAttention::putRow(
    Value to, function_ref<Value(Value f, int64_t lanes)> getVector) {
  bool isBF16 = cast<MemRefType>(to.getType()).getElementType().isBF16();
  int64_t lanes = b.getLanes(shape.dim);
  if (isBF16 && shape.dim % (2 * lanes) == 0)
    lanes *= 2;
  b.loop(b.index(0), b.index(shape.dim), lanes, [&](Value f) {
    Value vector = getVector(f, lanes);
    b.storeVector(isBF16 ? b.narrowBF16(vector) : vector, to, {f});
  });
}

void ThreadAttention::fetch(Value t, Value to, function_ref<void()> hide) {
  auto putNothing = [&] {
    putRow(to, [&](Value, int64_t lanes) { return b.f32(0.0f, lanes); });
    hide();
  };
  auto putSelected = [&] {
    Value column = b.add(firstColumn, b.sub(t, keys.windowCount));
    Value row = loadIndex(b, keys.selection, {keys.row, column});
    b.when(
        b.cmp(Cmp::sge, row, b.index(0)),
        [&] {
          b.decodeRow(shape.global, keys.globalPayload, keys.globalScales, row,
                      to);
        },
        putNothing);
  };
  auto putRest = [&] {
    if (!keys.selection)
      return putNothing();
    b.when(b.cmp(Cmp::slt, t, count), putSelected, putNothing);
  };
  b.when(
      b.cmp(Cmp::slt, t, keys.windowCount), [&] { fetchOfWindow(t, to); },
      putRest);
}

void ThreadAttention::fetchOfWindow(Value t, Value to) {
  Value position = b.add(keys.first, t);
  b.when(
      b.cmp(Cmp::sge, position, keys.callPosition),
      [&] {
        Value row = b.add(keys.callRow, b.sub(position, keys.callPosition));
        putRow(to, [&](Value f, int64_t lanes) {
          return b.loadVector(keys.kv, {row, f}, lanes);
        });
      },
      [&] {
        Value row = b.add(keys.layerRow, b.rem(position, keys.slots));
        b.decodeRow(shape.ring, keys.ringPayload, keys.ringScales, row, to);
      });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

float ThreadAttention::getScale() const {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.dim)));
}

void ThreadAttention::clearResult() {
  forHeads(1, [&](Value head) {
    forVectors(b, shape.dim, [&](Value f, int64_t lanes) {
      b.storeVector(b.f32(0.0f, lanes), heads.result,
                    {keys.row, getFeature(head, f)});
    });
  });
}

Value ThreadAttention::getDenominator(Value head, Value sum, Value top) {
  Value sink = b.load(heads.sinks, {head});
  sum = b.addf(sum, b.exp(b.subf(sink, top)));
  // It is 0 only where there is no key.
  Value isZero = b.cmpf(arith::CmpFPredicate::OEQ, sum, b.f32(0.0f));
  return b.select(isZero, b.f32(1.0f), sum);
}

void ThreadAttention::divideResult(Value head, Value denominator) {
  forVectors(b, shape.dim, [&](Value f, int64_t lanes) {
    SmallVector<Value> at = {keys.row, getFeature(head, f)};
    Value x = b.loadVector(heads.result, at, lanes);
    b.storeVector(b.divf(x, b.splat(denominator, lanes)), heads.result, at);
  });
}
