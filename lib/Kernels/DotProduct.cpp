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
constexpr int64_t narrowedBytes = 1 << 19, mostRows = 60;
/// Most rows whose weights are decoded in registers.
constexpr int64_t mostDirect = 2;
/// Rows and outputs whose sums are in registers together.
constexpr int64_t tileRows = 3, tileOutputs = ProductLoops::tile;

/// Columns whose weights a line of the cache holds.
int64_t getUnit(FormatAttr format) {
  int64_t columns = 1;
  while (format.getPayloadBytes(columns) < lineBytes)
    columns *= 2;
  return columns;
}

/// Writes the body of a product's function.
class DotEmitter : public ProductLoops {
public:
  DotEmitter(KernelBuilder &b, FormatAttr format,
             const ProductOperands &operands)
      : ProductLoops(b, format, b.getF32Type(), sumLanes, operands,
                     memref::DimOp::create(b, operands.narrowed, 0), mostRows),
        unit(getUnit(format)),
        weights(b.scratch({tile, span}, b.getBF16Type())),
        lastRow(b.add(memref::DimOp::create(b, operands.payload, 0), -1)) {}

private:
  /// Of a part of the columns: the number of vectors there, `isRest` if they
  /// are fewer than a unit's.
  using UnitBody = function_ref<SmallVector<Value>(
      Value column, int64_t vectors, bool isRest, ArrayRef<Value> sums)>;

  /// A row of the weight, and the one that the next tile has in its place.
  struct Output {
    Value row;
    Value ahead;
  };
  Output getOutputAhead(Value i) {
    Value row = getOutput(i);
    return {row, b.min(b.add(row, tile), lastRow)};
  }

  bool isPacked() const { return format.getElement() == Element::E2M1; }
  bool scalesInputs() const { return format.getElement() == Element::E4M3; }

  void emitTile(Value first, Value count, Value isFirst) override;
  void narrowRows(Value first, Value count);
  void narrowRow(const Row &from, Value to);
  void narrowPackedRow(const Row &from, Value to);
  void emitDirect(int64_t rows);
  void emitDecoded(Value count);
  void decodeSpan(Value begin, Value end);
  SmallVector<Value> decode(const Output &output, Value column, int64_t vectors,
                            bool isRest);
  SmallVector<Value> forUnits(Value begin, Value end, ArrayRef<Value> sums,
                              UnitBody body);
  Value loadNarrowed(Value row, Value column) {
    return b.loadVector(operands.narrowed, {row, column}, width);
  }

  int64_t unit;
  Value weights; // decoded, of a span
  Value lastRow; // of the weight
};

} // namespace

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Brings the rows to bf16 where the tile before took other columns or another
/// scale of them.
void DotEmitter::narrowRows(Value first, Value count) {
  b.loop(b.index(0), count, [&](Value number) {
    Row row = getRow(b.add(first, number));
    if (isPacked())
      narrowPackedRow(row, number);
    else
      narrowRow(row, number);
  });
}

void DotEmitter::narrowRow(const Row &from, Value to) {
  b.loop(b.index(0), columns, width, [&](Value column) {
    Value vector = b.loadVector(
        operands.input, {from.input, b.add(inputColumn, column)}, width);
    if (scalesInputs()) {
      Value code =
          b.load(operands.scales, {b.div(firstOutput, format.getBlockRows()),
                                   b.div(column, format.getBlockColumns())});
      vector = b.mulf(vector, b.splat(b.decodeScale(code, format), width));
    }
    b.storeVector(b.narrowBF16(vector), operands.narrowed, {to, column});
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
    for (auto [part, quarter] : llvm::enumerate(ArrayRef<Value>{
             even.getRes1(), odd.getRes1(), even.getRes2(), odd.getRes2()}))
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
  Value one = b.cmp(Cmp::eq, count, b.index(1));
  Value few = b.cmp(Cmp::sle, count, b.index(mostDirect));
  b.when(
      one, [&] { emitDirect(1); },
      [&] {
        b.when(
            few, [&] { emitDirect(mostDirect); }, [&] { emitDecoded(count); });
      });
}

/// A few rows: weights are decoded in registers, while those of the next tile
/// come into the cache.
void DotEmitter::emitDirect(int64_t rows) {
  SmallVector<Output> outputs;
  SmallVector<Value> sums;
  for (int64_t i = 0; i < tile; ++i)
    outputs.push_back(getOutputAhead(b.index(i)));
  for (int64_t r = 0; r < rows; ++r)
    llvm::append_range(sums, zeros());
  sums = forUnits(
      b.index(0), columns, sums,
      [&](Value column, int64_t vectors, bool isRest, ArrayRef<Value> carried) {
        SmallVector<Value> next(carried), inputs;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t part = 0; part < vectors; ++part)
            inputs.push_back(
                loadNarrowed(b.index(r), b.add(column, part * width)));
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

/// Many rows: weights are decoded once for all of them. The last rows of a
/// tile that is not full repeat the last one.
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
      for (int64_t output = 0; output < tile; output += tileOutputs) {
        SmallVector<Value> sums;
        for (Value row : rows)
          llvm::append_range(sums, loadSums(row, output, tileOutputs));
        sums =
            b.loop(begin, end, width, sums,
                   [&](Value column, ArrayRef<Value> carried) {
                     SmallVector<Value> next(carried), inputs;
                     for (Value row : rows)
                       inputs.push_back(loadNarrowed(row, column));
                     for (int64_t i = 0; i < tileOutputs; ++i) {
                       Value weight = b.loadVector(
                           weights, {b.index(output + i), b.sub(column, begin)},
                           width);
                       for (auto [r, input] : llvm::enumerate(inputs)) {
                         Value &sum = next[r * tileOutputs + i];
                         sum = b.dotBF16(input, weight, sum);
                       }
                     }
                     return next;
                   });
        for (auto [r, row] : llvm::enumerate(rows))
          storeSums(row,
                    ArrayRef<Value>(sums).slice(r * tileOutputs, tileOutputs),
                    output);
      }
    });
  });
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Walks the columns begin to end a unit at a time and what is left in vectors,
/// which of packed weights are one unit, filled up.
SmallVector<Value> DotEmitter::forUnits(Value begin, Value end,
                                        ArrayRef<Value> sums, UnitBody body) {
  int64_t vectors = unit / width;
  auto walk = [&](Value first, Value last, ArrayRef<Value> sums, int64_t step,
                  bool isRest) {
    return b.loop(first, last, step, sums,
                  [&](Value column, ArrayRef<Value> carried) {
                    bool isUnit = !isRest || isPacked();
                    return body(column, isUnit ? vectors : 1, isRest, carried);
                  });
  };
  Value whole = b.sub(end, b.rem(b.sub(end, begin), unit));
  SmallVector<Value> carried = walk(begin, whole, sums, unit, false);
  if (vectors > 1)
    carried = walk(whole, end, carried, isPacked() ? unit : width, true);
  return carried;
}

/// The weights of an output in the vectors from `column` on, while those of the
/// next tile come into the cache.
SmallVector<Value> DotEmitter::decode(const Output &output, Value column,
                                      int64_t vectors, bool isRest) {
  int64_t count = vectors * width;
  int64_t perByte = isPacked() ? 2 : 1;
  SmallVector<Value> at = {output.row, b.div(column, perByte)};
  b.prefetch(operands.payload, {output.ahead, at[1]});
  Value stored;
  if (isPacked()) {
    Value left = b.div(b.sub(columns, column), perByte);
    Value codes = isRest
                      ? b.loadFirst(operands.payload, at, count / perByte, left)
                      : b.loadVector(operands.payload, at, count / perByte);
    SmallVector<Value> scales;
    Value scaleRow = b.div(output.row, format.getBlockRows());
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
    Output output = getOutputAhead(i);
    forUnits(begin, end, {},
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
