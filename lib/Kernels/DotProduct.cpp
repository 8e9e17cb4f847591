//===- DotProduct.cpp - Products of pairs of bf16 values ------------------===//
//
// Inputs of a block of rows are narrowed to bf16 once for many tiles. A scale
// that a tile of outputs shares is applied to them on the way, so that E4M3
// weights need none; scales of single rows are part of the look-up of E2M1
// weights.
//
//===----------------------------------------------------------------------===//

#include "DotProduct.h"
#include "ProductLoops.h"
#include "dsflash/Kernels/SharedFunction.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <array>

using namespace mlir;
using namespace mlir::dsflash;

namespace {

using Cmp = arith::CmpIPredicate;

/// Lanes of a sum, and columns of a vector that is added to it.
constexpr int64_t sumLanes = KernelBuilder::processorLanes;
constexpr int64_t width = 2 * sumLanes;
/// Bytes of packed weights that are decoded at a time: a line of the cache.
constexpr int64_t lineBytes = 64;
/// Columns that are decoded for many rows at a time.
constexpr int64_t span = 512;
/// Inputs that stay in the second-level cache while tiles pass: at most
/// `mostRows` rows, and not less than is computed together.
constexpr int64_t narrowedBytes = 1 << 19, mostRows = 72;
/// Rows whose sums with the outputs of a tile are in registers together. Up to
/// so many are multiplied while the weights are decoded.
constexpr int64_t tileRows = 3;

/// Columns whose weights a line of the cache holds.
int64_t getUnit(FormatAttr format) {
  int64_t columns = 1;
  while (format.getPayloadBytes(columns) < lineBytes)
    columns *= 2;
  return columns;
}

/// Rows of equal blocks, whole tiles that fit the scratch.
Value getRowBlock(KernelBuilder &b, const ProductOperands &operands) {
  auto ceilDiv = [&](Value a, Value d) {
    return b.div(b.add(a, b.add(d, -1)), d);
  };
  Value one = b.index(1);
  Value fitting = memref::DimOp::create(b, operands.narrowed, 0);
  Value rows = b.max(operands.rowCount, one);
  Value each = ceilDiv(rows, ceilDiv(rows, fitting));
  return b.mul(ceilDiv(each, b.index(tileRows)), tileRows);
}

/// Writes the body of a product's function.
class DotEmitter : public ProductLoops {
public:
  DotEmitter(KernelBuilder &b, FormatAttr format,
             const ProductOperands &operands)
      : ProductLoops(b, format, b.getF32Type(), sumLanes, operands,
                     getRowBlock(b, operands), mostRows),
        unit(getUnit(format)),
        weights(b.scratch({tile, span}, b.getBF16Type())),
        lastRow(b.add(memref::DimOp::create(b, operands.payload, 0), -1)) {
    if (scalesInputs())
      scales = b.scratch({span / width}, b.getF32Type());
  }

private:
  /// Takes the vectors from a column on; `isRest` if they are the last ones.
  using VectorsBody = function_ref<SmallVector<Value>(
      Value column, int64_t vectors, bool isRest, ArrayRef<Value> sums)>;

  bool isPacked() const { return format.getElement() == Element::E2M1; }
  bool scalesInputs() const { return format.getElement() == Element::E4M3; }

  void emitTile(Value first, Value count, Value isFirst) override;
  void narrowRows(Value first, Value count);
  void decodeScales(Value begin, Value end);
  void narrowPackedRow(const Row &from, Value to);
  void emitRows(Value count, int64_t direct);
  void emitDirect(int64_t rows);
  void emitDecoded(Value count);
  void addDecoded(ArrayRef<Value> rows, Value column, Value begin,
                  MutableArrayRef<Value> sums);
  void prefetchNextTile(Value column);
  void decodeSpan(Value begin, Value end);
  SmallVector<Value> decode(Value output, Value column, int64_t vectors,
                            bool isRest);
  SmallVector<Value> forVectors(Value begin, Value end, int64_t most,
                                ArrayRef<Value> sums, VectorsBody body);
  Value loadNarrowed(Value row, Value column) {
    return b.loadVector(operands.narrowed, {row, column}, width);
  }

  int64_t unit;
  Value weights; // decoded, of a span
  Value scales;  // of the inputs of a span; null without
  Value lastRow; // of the weight
};

} // namespace

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Brings the rows to bf16.
void DotEmitter::narrowRows(Value first, Value count) {
  auto forRows = [&](function_ref<void(const Row &from, Value to)> body) {
    b.loop(b.index(0), count,
           [&](Value row) { body(getRow(b.add(first, row)), row); });
  };
  if (isPacked())
    return forRows(
        [&](const Row &from, Value to) { narrowPackedRow(from, to); });
  b.loop(b.index(0), columns, span, [&](Value begin) {
    Value end = b.min(b.add(begin, span), columns);
    if (scalesInputs())
      decodeScales(begin, end);
    forRows([&](const Row &from, Value to) {
      b.loop(begin, end, width, [&](Value column) {
        Value vector = b.loadVector(
            operands.input, {from.input, b.add(inputColumn, column)}, width);
        if (scalesInputs()) {
          Value scale = b.load(scales, {b.div(b.sub(column, begin), width)});
          vector = b.mulf(vector, b.splat(scale, width));
        }
        b.storeVector(b.narrowBF16(vector), operands.narrowed, {to, column});
      });
    });
  });
}

/// Puts the scale of each vector of a span's inputs into `scales`.
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
  Value whole = b.sub(columns, b.rem(columns, unit));
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
// Rows
//===----------------------------------------------------------------------===//

void DotEmitter::emitTile(Value first, Value count, Value isFirst) {
  auto isZero = [&](Value number) {
    return b.cmp(Cmp::eq, number, b.index(0));
  };
  Value isOther = b.bitOr(isFirst, isZero(inGroup));
  if (scalesInputs())
    isOther =
        b.bitOr(isOther, isZero(b.rem(firstOutput, format.getBlockRows())));
  b.when(isOther, [&] { narrowRows(first, count); });
  emitRows(count, /*direct=*/1);
}

/// As many rows as `direct` or more.
void DotEmitter::emitRows(Value count, int64_t direct) {
  if (direct > tileRows)
    return emitDecoded(count);
  b.when(
      b.cmp(Cmp::eq, count, b.index(direct)), [&] { emitDirect(direct); },
      [&] { emitRows(count, direct + 1); });
}

/// A few rows: weights are decoded in registers, while those of the next tile
/// come into the cache.
void DotEmitter::emitDirect(int64_t rows) {
  SmallVector<Value> outputs, sums;
  for (int64_t i = 0; i < tile; ++i)
    outputs.push_back(getOutput(b.index(i)));
  for (int64_t r = 0; r < rows; ++r)
    llvm::append_range(sums, zeros());
  sums = forVectors(
      b.index(0), columns, unit / width, sums,
      [&](Value column, int64_t vectors, bool isRest, ArrayRef<Value> carried) {
        SmallVector<Value> next(carried), inputs;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t part = 0; part < vectors; ++part)
            inputs.push_back(
                loadNarrowed(b.index(r), b.add(column, part * width)));
        prefetchNextTile(column);
        for (int64_t i = 0; i < tile; ++i)
          for (auto [part, weight] :
               llvm::enumerate(decode(outputs[i], column, vectors, isRest)))
            for (int64_t r = 0; r < rows; ++r) {
              Value &sum = next[r * tile + i];
              sum = b.dotBF16(inputs[r * vectors + part], weight, sum);
            }
        return next;
      });
  for (int64_t r = 0; r < rows; ++r)
    storeSums(b.index(r), ArrayRef<Value>(sums).slice(r * tile, tile));
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

/// Brings a line of each output's weights of the next tile into the cache.
void DotEmitter::prefetchNextTile(Value column) {
  Value at = b.div(column, isPacked() ? 2 : 1);
  for (int64_t i = 0; i < tile; ++i) {
    Value ahead = b.add(getOutput(b.index(i)), tile);
    b.prefetch(operands.payload, {b.min(ahead, lastRow), at});
  }
}

/// Many rows: weights are decoded once for all of them, while those of the next
/// tile come into the cache beside the products. The last rows of a tile that
/// is not full repeat the last one.
void DotEmitter::emitDecoded(Value count) {
  b.loop(b.index(0), count, [&](Value row) { storeSums(row, zeros()); });
  b.loop(b.index(0), columns, span, [&](Value begin) {
    Value end = b.min(b.add(begin, span), columns);
    decodeSpan(begin, end);
    if (isPacked())
      end = b.mul(b.div(b.add(end, unit - 1), unit), unit);
    b.loop(b.index(0), count, tileRows, [&](Value firstRow) {
      SmallVector<Value> rows;
      for (int64_t r = 0; r < tileRows; ++r)
        rows.push_back(b.min(b.add(firstRow, r), b.add(count, -1)));
      SmallVector<Value> sums;
      for (Value row : rows)
        llvm::append_range(sums, loadSums(row));
      sums = forVectors(
          begin, end, unit / width, sums,
          [&](Value column, int64_t vectors, bool, ArrayRef<Value> carried) {
            prefetchNextTile(column);
            SmallVector<Value> next(carried);
            for (int64_t part = 0; part < vectors; ++part)
              addDecoded(rows, b.add(column, part * width), begin, next);
            return next;
          });
      for (auto [r, row] : llvm::enumerate(rows))
        storeSums(row, ArrayRef<Value>(sums).slice(r * tile, tile));
    });
  });
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Walks the columns begin to end a few vectors at a time and what is left one
/// by one; of packed weights that is one unit, filled up.
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
  Value rest = b.rem(b.sub(end, begin), most * width);
  Value whole = b.sub(end, rest);
  SmallVector<Value> carried = walk(begin, whole, sums, most, false);
  if (most == 1)
    return carried;
  return walk(whole, end, carried, isPacked() ? most : 1, true);
}

/// The weights of an output in the vectors from `column` on.
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
    if (scalesInputs())
      stored = b.decodeE4M3(stored, b.getBF16Type());
  }
  SmallVector<Value> parts;
  for (int64_t part = 0; part < vectors; ++part)
    parts.push_back(b.slice(stored, part * width, width));
  return parts;
}

/// Puts the weights of a span into `weights`.
void DotEmitter::decodeSpan(Value begin, Value end) {
  b.loop(tile, [&](Value i) {
    Value output = getOutput(i);
    forVectors(
        begin, end, unit / width, {},
        [&](Value column, int64_t vectors, bool isRest, ArrayRef<Value>) {
          for (auto [part, vector] :
               llvm::enumerate(decode(output, column, vectors, isRest)))
            b.storeVector(vector, weights,
                          {i, b.add(b.sub(column, begin), part * width)});
          return SmallVector<Value>();
        });
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

bool mlir::dsflash::isDotProduct(WeightType weight, int64_t groups) {
  FormatAttr format = weight.getFormat();
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
  int64_t filled = llvm::alignTo(columns, getUnit(format));
  int64_t fitting = narrowedBytes / 2 / filled / tileRows * tileRows;
  int64_t rows = std::clamp(fitting, tileRows, mostRows);
  operands.narrowed =
      forgetExtents(b, b.scratch({rows, filled}, b.getBF16Type()));
  operands.callFunction(
      b, "dot_product." + describeProduct(format),
      [&](KernelBuilder &body, const ProductOperands &arguments) {
        DotEmitter(body, format, arguments).emit();
      });
}
