//===- DotOperands.cpp - Inputs and weights of a product of pairs ---------===//

#include "DotEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <array>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Brings the rows to bf16, times shared scales if `scaled` (i1).
void DotEmitter::narrowRows(Value first, Value count, Value scaled) {
  auto forRows = [&](function_ref<void(const Row &from, Value to)> body) {
    b.loop(b.index(0), count,
           [&](Value row) { body(getRow(b.add(first, row)), row); });
  };
  if (isPacked())
    return forRows(
        [&](const Row &from, Value to) { narrowPackedRow(from, to); });
  b.loop(b.index(0), columns, span, [&](Value begin) {
    Value end = b.min(b.add(begin, span), columns);
    if (hasSharedScale())
      decodeScales(begin, end);
    forRows([&](const Row &from, Value to) {
      b.loop(begin, end, width, [&](Value column) {
        Value vector = b.loadVector(
            operands.input, {from.input, b.add(inputColumn, column)}, width);
        if (hasSharedScale()) {
          Value scale = b.select(scaled, loadScale(column, begin), b.f32(1.0f));
          vector = b.mulf(vector, b.splat(scale, width));
        }
        b.storeVector(b.narrowBF16(vector), operands.narrowed, {to, column});
      });
    });
  });
}

/// Puts the shared scale of each vector of a span into `scales`.
void DotEmitter::decodeScales(Value begin, Value end) {
  Value row = b.div(firstOutput, format.getBlockRows());
  b.loop(begin, end, width, [&](Value column) {
    Value block = b.div(column, format.getBlockColumns());
    Value code = b.load(operands.scales, {row, block});
    b.store(b.decodeScale(code, format), scales,
            {b.div(b.sub(column, begin), width)});
  });
}

/// Puts the columns where decode_e2m1_blocks has their weights, and zeros where
/// the last unit has none.
void DotEmitter::narrowPackedRow(const Row &from, Value to) {
  Value whole = hasRest ? b.sub(columns, b.rem(columns, unit)) : columns;
  b.loop(b.index(0), whole, unit, [&](Value column) {
    Value vector = b.narrowBF16(b.loadVector(
        operands.input, {from.input, b.add(inputColumn, column)}, unit));
    auto halves = vector::DeinterleaveOp::create(b, vector);
    auto even = vector::DeinterleaveOp::create(b, halves.getRes1());
    auto odd = vector::DeinterleaveOp::create(b, halves.getRes2());
    std::array<Value, 4> quarters = {even.getRes1(), odd.getRes1(),
                                     even.getRes2(), odd.getRes2()};
    for (auto [part, quarter] : llvm::enumerate(quarters))
      b.storeVector(quarter, operands.narrowed,
                    {to, b.add(column, int64_t(part) * width)});
  });
  if (!hasRest)
    return;
  b.when(b.cmp(Cmp::slt, whole, columns), [&] {
    Value zeros = b.narrowBF16(b.f32(0.0f, unit));
    b.storeVector(zeros, operands.narrowed, {to, whole});
    b.loop(whole, columns, [&](Value column) {
      Value x =
          b.load(operands.input, {from.input, b.add(inputColumn, column)});
      Value place =
          b.add(b.mul(b.rem(column, 4), width), b.div(b.sub(column, whole), 4));
      b.store(b.narrowBF16(x), operands.narrowed, {to, b.add(whole, place)});
    });
  });
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The weights of an output in the vectors from `column` on, without a shared
/// scale.
SmallVector<Value> DotEmitter::decode(Value output, Value column,
                                      int64_t vectors, bool isRest) {
  int64_t count = vectors * width;
  int64_t perByte = isPacked() ? 2 : 1;
  SmallVector<Value> at = {output, b.div(column, perByte)};
  Value stored;
  if (isPacked()) {
    Value left = b.div(b.sub(columns, column), perByte);
    Value codes = isRest
                      ? b.loadFirst(operands.payload, at, count / perByte, left)
                      : b.loadVector(operands.payload, at, count / perByte);
    SmallVector<Value> scales;
    Value scaleRow = b.div(output, format.getBlockRows());
    Value lastBlock = b.add(b.div(columns, format.getBlockColumns()), -1);
    for (int64_t first = 0; first < count; first += format.getBlockColumns()) {
      Value block = b.div(b.add(column, first), format.getBlockColumns());
      if (isRest)
        block = b.min(block, lastBlock);
      scales.push_back(b.load(operands.scales, {scaleRow, block}));
    }
    stored = b.decodeE2M1Blocks(codes, scales);
  } else {
    stored = b.loadVector(operands.payload, at, count);
    if (hasSharedScale())
      stored = b.decodeE4M3(stored, b.getBF16Type());
  }
  SmallVector<Value> parts;
  for (int64_t part = 0; part < vectors; ++part)
    parts.push_back(b.slice(stored, part * width, width));
  return parts;
}

/// The same times shared scales, which are those of the span from `begin` on.
SmallVector<Value> DotEmitter::decodeScaled(Value output, Value column,
                                            int64_t vectors, Value begin) {
  Value values = b.decodeE4M3(
      b.loadVector(operands.payload, {output, column}, vectors * width));
  SmallVector<Value> parts;
  for (int64_t part = 0; part < vectors; ++part) {
    Value scale = loadScale(b.add(column, part * width), begin);
    Value unscaled = b.slice(values, part * width, width);
    parts.push_back(b.narrowBF16(b.mulf(unscaled, b.splat(scale, width))));
  }
  return parts;
}

/// Puts the weights of a span into `weights`.
void DotEmitter::decodeSpan(Value begin, Value end) {
  if (hasSharedScale())
    decodeScales(begin, end);
  b.loop(tile, [&](Value i) {
    Value output = getOutput(i);
    forVectors(
        begin, end, unit / width, {},
        [&](Value column, int64_t vectors, bool isRest, ArrayRef<Value>) {
          SmallVector<Value> parts =
              hasSharedScale() ? decodeScaled(output, column, vectors, begin)
                               : decode(output, column, vectors, isRest);
          for (auto [part, vector] : llvm::enumerate(parts))
            b.storeVector(vector, weights,
                          {i, b.add(b.sub(column, begin), part * width)});
          return SmallVector<Value>();
        });
  });
}

/// Brings a line of some outputs' weights of the next tile into the cache.
void DotEmitter::prefetchNextTile(Value firstOutput, int64_t outputs,
                                  Value column) {
  Value at = b.div(column, isPacked() ? 2 : 1);
  for (int64_t i = 0; i < outputs; ++i) {
    Value ahead = b.add(getOutput(b.add(firstOutput, i)), tile);
    b.prefetch(operands.payload, {b.min(ahead, lastRow), at});
  }
}
