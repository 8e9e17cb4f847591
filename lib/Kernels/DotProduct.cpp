//===- DotProduct.cpp - Products of pairs of bf16 values ------------------===//

#include "DotProduct.h"
#include "DotEmitter.h"
#include "dsflash/Kernels/SharedFunction.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

int64_t DotEmitter::getUnit(FormatAttr format) {
  constexpr int64_t lineBytes = 64;
  int64_t columns = 1;
  while (format.getPayloadBytes(columns) < lineBytes)
    columns *= 2;
  return columns;
}

/// Rows of equal blocks, whole tiles that fit the scratch.
static Value getRowBlock(KernelBuilder &b, const ProductOperands &operands) {
  auto ceilDiv = [&](Value a, Value d) {
    return b.div(b.add(a, b.add(d, -1)), d);
  };
  Value one = b.index(1), tileRows = b.index(DotEmitter::tileRows);
  Value fitting = memref::DimOp::create(b, operands.narrowed, 0);
  Value rows = b.max(operands.rowCount, one);
  Value each = ceilDiv(rows, ceilDiv(rows, fitting));
  return b.mul(ceilDiv(each, tileRows), tileRows);
}

DotEmitter::DotEmitter(KernelBuilder &b, FormatAttr format, bool hasRest,
                       const ProductOperands &operands)
    : ProductLoops(b, format, b.getF32Type(), sumLanes, operands,
                   getRowBlock(b, operands), mostRows),
      hasRest(hasRest), unit(getUnit(format)),
      weights(b.scratch({tile, span}, b.getBF16Type())),
      lastRow(b.add(memref::DimOp::create(b, operands.payload, 0), -1)) {
  if (hasSharedScale())
    scales = b.scratch({span / width}, b.getF32Type());
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void DotEmitter::emitTile(Value first, Value count, Value isFirst) {
  constexpr int64_t direct[] = {1, 2, 3, 4, 8};
  auto isZero = [&](Value number) {
    return b.cmp(Cmp::eq, number, b.index(0));
  };
  Value areFew = b.cmp(Cmp::sle, count, b.index(std::end(direct)[-1]));
  Value isOther = b.bitOr(isFirst, isZero(inGroup));
  if (hasSharedScale()) {
    Value isOtherBlock = isZero(b.rem(firstOutput, format.getBlockRows()));
    isOther = b.bitOr(isOther, b.bitAnd(areFew, isOtherBlock));
  }
  b.when(isOther, [&] { narrowRows(first, count, /*scaled=*/areFew); });
  b.when(
      areFew,
      [&] {
        emitFew(count, /*least=*/1, direct);
        finishStored(first, count);
      },
      [&] { emitDecoded(first, count); });
}

/// `least` rows to as many as the last number of `direct` says, so many at once
/// as one of its numbers.
void DotEmitter::emitFew(Value count, int64_t least, ArrayRef<int64_t> direct) {
  int64_t most = direct.front();
  if (direct.size() == 1)
    return emitDirect(count, least, most);
  b.when(
      b.cmp(Cmp::sle, count, b.index(most)),
      [&] { emitDirect(count, least, most); },
      [&] { emitFew(count, most + 1, direct.drop_front()); });
}

/// `least` to `most` rows: weights of as many outputs as have their sums in
/// registers are decoded there, while those of the next tile come into the
/// cache. Rows that are not there repeat the last one.
void DotEmitter::emitDirect(Value count, int64_t least, int64_t most) {
  int64_t outputCount = most <= 4 ? tile / 2 : tile / 4;
  SmallVector<Value> rows;
  for (int64_t r = 0; r < most; ++r)
    rows.push_back(r < least ? b.index(r)
                             : b.min(b.index(r), b.add(count, -1)));
  b.loop(b.index(0), b.index(tile), outputCount, [&](Value firstOutput) {
    SmallVector<Value> outputs;
    for (int64_t i = 0; i < outputCount; ++i)
      outputs.push_back(getOutput(b.add(firstOutput, i)));
    SmallVector<Value> sums(most * outputCount, b.f32(0.0f, sumLanes));
    sums = forVectors(
        b.index(0), columns, unit / width, sums,
        [&](Value column, int64_t vectors, bool isRest,
            ArrayRef<Value> carried) {
          SmallVector<Value> next(carried);
          prefetchNextTile(firstOutput, outputCount, column);
          SmallVector<SmallVector<Value>> decoded;
          for (Value output : outputs)
            decoded.push_back(decode(output, column, vectors, isRest));
          for (int64_t part = 0; part < vectors; ++part)
            for (auto [r, row] : llvm::enumerate(rows)) {
              Value input = loadNarrowed(row, b.add(column, part * width));
              for (int64_t i = 0; i < outputCount; ++i) {
                Value &sum = next[r * outputCount + i];
                sum = b.dotBF16(input, decoded[i][part], sum);
              }
            }
          return next;
        });
    for (auto [r, row] : llvm::enumerate(rows))
      storeSums(row, ArrayRef(sums).slice(r * outputCount, outputCount),
                firstOutput);
  });
}

/// Adds the products of some rows with a vector of each output's decoded
/// weights to their sums.
void DotEmitter::addDecoded(ArrayRef<Value> rows, Value column, Value begin,
                            MutableArrayRef<Value> sums) {
  SmallVector<Value> inputs;
  for (Value row : rows)
    inputs.push_back(loadNarrowed(row, column));
  for (int64_t i = 0; i < tile; ++i) {
    Value weight =
        b.loadVector(weights, {b.index(i), b.sub(column, begin)}, width);
    for (auto [r, input] : llvm::enumerate(inputs)) {
      Value &sum = sums[r * tile + i];
      sum = b.dotBF16(input, weight, sum);
    }
  }
}

/// Many rows: weights are decoded once for all of them, while those of the next
/// tile come into the cache beside the products. The last rows of a tile that
/// is not full repeat the last one.
void DotEmitter::emitDecoded(Value first, Value count) {
  b.loop(b.index(0), columns, span, [&](Value begin) {
    Value end = b.min(b.add(begin, span), columns);
    decodeSpan(begin, end);
    Value isEnd = b.cmp(Cmp::eq, end, columns);
    if (isPacked() && hasRest)
      end = b.mul(b.div(b.add(end, unit - 1), unit), unit);
    b.loop(b.index(0), count, tileRows, [&](Value firstRow) {
      SmallVector<Value> rows;
      for (int64_t r = 0; r < tileRows; ++r)
        rows.push_back(b.min(b.add(firstRow, r), b.add(count, -1)));
      SmallVector<Value> sums =
          loadSums(rows, b.cmp(Cmp::eq, begin, b.index(0)));
      sums = forVectors(
          begin, end, unit / width, sums,
          [&](Value column, int64_t vectors, bool, ArrayRef<Value> carried) {
            prefetchNextTile(b.index(0), tile, column);
            SmallVector<Value> next(carried);
            for (int64_t part = 0; part < vectors; ++part)
              addDecoded(rows, b.add(column, part * width), begin, next);
            return next;
          });
      storeOrFinish(isEnd, first, rows, sums);
    });
  });
}

/// Walks the columns begin to end a few vectors at a time and what may be left
/// one by one; of packed weights that is one unit, filled up.
SmallVector<Value> DotEmitter::forVectors(Value begin, Value end, int64_t most,
                                          ArrayRef<Value> sums,
                                          VectorsBody body) {
  auto walk = [&](Value first, Value last, ArrayRef<Value> sums,
                  int64_t vectors, bool isRest) {
    return b.loop(first, last, vectors * width, sums,
                  [&](Value column, ArrayRef<Value> carried) {
                    return body(column, vectors, isRest, carried);
                  });
  };
  if (!hasRest)
    return walk(begin, end, sums, most, /*isRest=*/false);
  Value rest = b.rem(b.sub(end, begin), most * width);
  Value whole = b.sub(end, rest);
  SmallVector<Value> carried = walk(begin, whole, sums, most, false);
  return walk(whole, end, carried, isPacked() ? most : 1, /*isRest=*/true);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

bool mlir::dsflash::isDotProduct(WeightType weight, int64_t groups) {
  FormatAttr format = weight.getFormat();
  constexpr int64_t width = DotEmitter::width;
  if (weight.getColumns() % width)
    return false;
  bool hasPowers = format.hasScale() && format.getScale() == Element::E8M0;
  switch (format.getElement()) {
  case Element::BF16:
    return true;
  case Element::E4M3:
    return hasPowers && format.getBlockColumns() % width == 0 &&
           format.getBlockRows() % ProductLoops::tile == 0 &&
           (groups == 1 || weight.getRows() / groups % ProductLoops::tile == 0);
  case Element::E2M1:
    return hasPowers && format.getBlockColumns() == width;
  default:
    return false;
  }
}

void mlir::dsflash::emitDotProduct(KernelBuilder &b, FormatAttr format,
                                   int64_t columns, ProductOperands operands) {
  constexpr int64_t narrowedBytes = 1 << 19, tileRows = DotEmitter::tileRows;
  int64_t unit = DotEmitter::getUnit(format);
  int64_t filled = llvm::alignTo(columns, unit);
  bool hasRest = columns % unit;
  int64_t fitting = narrowedBytes / 2 / filled / tileRows * tileRows;
  int64_t rows = std::clamp(fitting, tileRows, DotEmitter::mostRows);
  operands.narrowed =
      forgetExtents(b, b.scratch({rows, filled}, b.getBF16Type()));
  operands.callFunction(
      b, "dot_product." + describeProduct(format) + (hasRest ? ".rest" : ""),
      [&](KernelBuilder &body, const ProductOperands &arguments) {
        DotEmitter(body, format, hasRest, arguments)
            .emitTiles(arguments.begin, arguments.end);
      });
}
