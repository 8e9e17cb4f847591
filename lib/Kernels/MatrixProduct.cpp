//===- MatrixProduct.cpp - Products with packed matrices ------------------===//

#include "dsflash/Kernels/MatrixProduct.h"
#include "DotProduct.h"
#include "ProductLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

namespace {

/// Rows that are computed together: their sums fit the registers.
constexpr int64_t rowTile = 3;
/// Rows whose inputs stay in the cache while a few tiles pass.
constexpr int64_t cachedRows = 30;
/// Bytes of packed weights that stay in the cache while all rows pass.
constexpr int64_t cachedBytes = 1 << 18;
/// Columns that are decoded at a time.
constexpr int64_t mostSpan = 512;
/// Bytes of a line of the cache.
constexpr int64_t lineBytes = 64;
/// Vectors of inputs that are loaded at a time.
constexpr int64_t mostInputs = 4;
/// Scales that are decoded at a time.
constexpr int64_t scaleLanes = 8;

/// Vectors of adjacent elements: one, or the even and the odd ones where two
/// elements share a byte.
using Vectors = SmallVector<Value, 2>;

bool isPacked(FormatAttr format) {
  return format.getElement() == Element::E2M1;
}

/// Lanes of the sums, whose registers are of one size; what they take at a time
/// lies in one block of a scale.
int64_t getSumLanes(const KernelBuilder &b, FormatAttr format, int64_t columns,
                    FloatType sumType) {
  if (format.hasScale())
    columns = std::gcd(columns, format.getBlockColumns());
  int64_t lanes = b.getLanes(isPacked(format) ? columns / 2 : columns);
  return sumType.isF64() ? std::min(lanes, b.getF64Lanes()) : lanes;
}

/// Whole blocks.
int64_t getSpan(FormatAttr format) {
  int64_t unit = format.hasScale() ? format.getBlockColumns() : mostSpan;
  return std::max(mostSpan / unit, int64_t(1)) * unit;
}

/// Writes the body of a product's function.
class ProductEmitter : public ProductLoops {
public:
  ProductEmitter(KernelBuilder &b, FormatAttr format, FloatType sumType,
                 int64_t lanes, const ProductOperands &operands)
      : ProductLoops(b, format, sumType, lanes, operands, b.index(cachedRows),
                     cachedRows),
        span(getSpan(format)),
        weights(b.scratch({tile, span}, b.getF32Type())) {
    if (format.hasScale())
      scales = b.scratch({tile, format.getScaleCount(span)}, b.getF32Type());
  }
  void emit();

private:
  using GetWeights =
      function_ref<Vectors(int64_t output, Value column, int64_t chunks)>;

  /// Elements that the sums take at a time.
  int64_t getChunk() const { return isPacked(format) ? 2 * lanes : lanes; }
  /// Chunks whose weights fill a line of the cache, if their inputs fit the
  /// registers.
  int64_t getLineChunks() const {
    int64_t chunk = getChunk();
    return std::clamp<int64_t>(lineBytes / format.getPayloadBytes(chunk), 1,
                               mostInputs * lanes / chunk);
  }

  Value getPayloadColumn(Value column) {
    return isPacked(format) ? b.div(column, 2) : column;
  }

  void emitTile(Value first, Value count, Value isFirst) override;
  void emitDirect(Value first);
  void emitDecoded(Value first, Value count);

  SmallVector<Value>
  forSpans(ArrayRef<Value> sums,
           function_ref<SmallVector<Value>(Value begin, Value end,
                                           ArrayRef<Value> sums)>
               body);
  SmallVector<Value>
  forChunks(Value begin, Value end, int64_t most, ArrayRef<Value> sums,
            function_ref<SmallVector<Value>(Value column, int64_t chunks,
                                            ArrayRef<Value> sums)>
                body);
  SmallVector<Value> addProducts(Value column, int64_t chunks,
                                 ArrayRef<Value> sums, ArrayRef<Row> rows,
                                 GetWeights getWeights);
  void decodeScales(Value begin, Value end);
  Vectors decode(Value i, Value output, Value column, int64_t chunks,
                 Value begin);
  void decodeSpan(Value begin, Value end);
  Vectors loadWeights(Value i, Value at);
  Vectors loadInput(const Row &row, Value column, int64_t chunks);

  Value toSumType(Value vector) {
    return sumType.isF64() ? b.toF64(vector) : vector;
  }

  int64_t span;
  Value weights; // decoded, of a span
  Value scales;  // of a span; null without
};

} // namespace

/// A few tiles for all rows, then the next ones.
void ProductEmitter::emit() {
  int64_t perByte = isPacked(format) ? 2 : 1;
  int64_t elementBytes = format.getPayloadBytes(perByte);
  Value tileBytes = b.div(b.mul(columns, tile * elementBytes), perByte);
  Value cached = b.max(b.div(b.index(cachedBytes), tileBytes), b.index(1));
  b.loop(operands.begin, operands.end, cached, [&](Value first) {
    emitTiles(first, b.min(b.add(first, cached), operands.end));
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void ProductEmitter::emitTile(Value first, Value count, Value) {
  Value isOne = b.cmp(arith::CmpIPredicate::eq, count, b.index(1));
  b.when(isOne, [&] { emitDirect(first); }, [&] { emitDecoded(first, count); });
}

/// One row: weights are decoded in registers, while those of the next tile come
/// into the cache.
void ProductEmitter::emitDirect(Value first) {
  Value lastRow = b.add(memref::DimOp::create(b, operands.payload, 0), -1);
  SmallVector<Value> outputs, ahead;
  for (int64_t i = 0; i < tile; ++i) {
    outputs.push_back(getOutput(b.index(i)));
    ahead.push_back(b.min(b.add(outputs[i], tile), lastRow));
  }
  SmallVector<Value> sums =
      forSpans(zeros(), [&](Value begin, Value end, ArrayRef<Value> carried) {
        decodeScales(begin, end);
        Row row = getRow(first);
        auto getWeights = [&](int64_t i, Value column, int64_t chunks) {
          b.prefetch(operands.payload, {ahead[i], getPayloadColumn(column)});
          return decode(b.index(i), outputs[i], column, chunks, begin);
        };
        return forChunks(
            begin, end, getLineChunks(), carried,
            [&](Value column, int64_t chunks, ArrayRef<Value> sums) {
              return addProducts(column, chunks, sums, row, getWeights);
            });
      });
  finish(first, sums);
}

/// Many rows: weights are decoded once for all of them. The last rows of a
/// tile that is not full repeat the last one.
void ProductEmitter::emitDecoded(Value first, Value count) {
  forSpans({}, [&](Value begin, Value end, ArrayRef<Value>) {
    decodeScales(begin, end);
    decodeSpan(begin, end);
    b.loop(b.index(0), count, rowTile, [&](Value firstRow) {
      SmallVector<Value> numbers;
      SmallVector<Row> rows;
      for (int64_t r = 0; r < rowTile; ++r) {
        numbers.push_back(b.min(b.add(firstRow, r), b.add(count, -1)));
        rows.push_back(getRow(b.add(first, numbers[r])));
      }
      Value isStart = b.cmp(arith::CmpIPredicate::eq, begin, b.index(0));
      SmallVector<Value> sums = loadSums(numbers, isStart);
      auto getWeights = [&](int64_t i, Value column, int64_t) {
        return loadWeights(b.index(i), b.sub(column, begin));
      };
      sums = forChunks(begin, end, /*most=*/1, sums,
                       [&](Value column, int64_t chunks, ArrayRef<Value> sums) {
                         return addProducts(column, chunks, sums, rows,
                                            getWeights);
                       });
      Value isEnd = b.cmp(arith::CmpIPredicate::eq, end, columns);
      storeOrFinish(isEnd, first, numbers, sums);
    });
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Loops over columns
//===----------------------------------------------------------------------===//

SmallVector<Value> ProductEmitter::forSpans(
    ArrayRef<Value> sums,
    function_ref<SmallVector<Value>(Value, Value, ArrayRef<Value>)> body) {
  return b.loop(b.index(0), columns, span, sums,
                [&](Value begin, ArrayRef<Value> carried) {
                  return body(begin, b.min(b.add(begin, span), columns),
                              carried);
                });
}

/// Walks the columns begin to end, `most` chunks at a time and what is left one
/// by one.
SmallVector<Value> ProductEmitter::forChunks(
    Value begin, Value end, int64_t most, ArrayRef<Value> sums,
    function_ref<SmallVector<Value>(Value, int64_t, ArrayRef<Value>)> body) {
  SmallVector<Value> carried(sums);
  Value first = begin;
  auto walk = [&](Value last, int64_t chunks) {
    carried = b.loop(first, last, chunks * getChunk(), carried,
                     [&](Value column, ArrayRef<Value> sums) {
                       return body(column, chunks, sums);
                     });
    first = last;
  };
  if (most > 1)
    walk(b.sub(end, b.rem(b.sub(end, begin), most * getChunk())), most);
  walk(end, 1);
  return carried;
}

/// Adds the products of some chunks to the sums, which lie row by row.
SmallVector<Value> ProductEmitter::addProducts(Value column, int64_t chunks,
                                               ArrayRef<Value> sums,
                                               ArrayRef<Row> rows,
                                               GetWeights getWeights) {
  SmallVector<Value> next(sums);
  SmallVector<Vectors> inputs;
  for (const Row &row : rows)
    inputs.push_back(loadInput(row, column, chunks));
  for (int64_t i = 0; i < tile; ++i)
    for (auto [part, vector] : llvm::enumerate(getWeights(i, column, chunks)))
      for (auto [r, input] : llvm::enumerate(inputs)) {
        Value &sum = next[r * tile + i];
        sum = b.fma(toSumType(input[part]), toSumType(vector), sum);
      }
  return next;
}

Vectors ProductEmitter::loadInput(const Row &row, Value column,
                                  int64_t chunks) {
  Vectors vectors;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Value at = b.add(b.add(inputColumn, column), chunk * getChunk());
    Value vector = b.loadVector(operands.input, {row.input, at}, getChunk());
    if (!isPacked(format)) {
      vectors.push_back(vector);
      continue;
    }
    auto halves = vector::DeinterleaveOp::create(b, vector);
    vectors.append({halves.getRes1(), halves.getRes2()});
  }
  return vectors;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Puts the factors of the columns begin to end into `scales`.
void ProductEmitter::decodeScales(Value begin, Value end) {
  if (!scales)
    return;
  int64_t width = format.getBlockColumns();
  Value first = b.div(begin, width);
  Value count = b.div(b.add(b.sub(end, begin), width - 1), width);
  Value whole = b.sub(count, b.rem(count, scaleLanes));
  b.loop(tile, [&](Value i) {
    Value row = b.div(getOutput(i), format.getBlockRows());
    auto decode = [&](Value block, int64_t lanes) {
      Value codes =
          b.loadVector(operands.scales, {row, b.add(first, block)}, lanes);
      b.storeVector(b.decodeScale(codes, format), scales, {i, block});
    };
    b.loop(b.index(0), whole, scaleLanes,
           [&](Value block) { decode(block, scaleLanes); });
    b.loop(whole, count, [&](Value block) { decode(block, 1); });
  });
}

/// The weights of output i of the tile in the chunks from `column` on, in the
/// span that starts at `begin`.
Vectors ProductEmitter::decode(Value i, Value output, Value column,
                               int64_t chunks, Value begin) {
  Value stored = b.loadVector(
      operands.payload, {output, getPayloadColumn(column)}, chunks * lanes);
  if (format.getElement() == Element::E4M3)
    stored = b.decodeE4M3(stored);
  Vectors vectors;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Value part = b.slice(stored, chunk * lanes, lanes);
    if (!scales) {
      bool isBF16 = format.getElement() == Element::BF16;
      vectors.push_back(isBF16 ? b.decodeBF16(part) : part);
      continue;
    }
    Value at = b.add(b.sub(column, begin), chunk * getChunk());
    Value scale = b.load(scales, {i, b.div(at, format.getBlockColumns())});
    if (!isPacked(format)) {
      vectors.push_back(b.mulf(part, b.splat(scale, lanes)));
      continue;
    }
    Value bits = b.widen(part);
    vectors.append({b.decodeE2M1(bits, scale),
                    b.decodeE2M1(b.shiftRight(bits, 4), scale)});
  }
  return vectors;
}

/// Puts the weights of a span into `weights`.
void ProductEmitter::decodeSpan(Value begin, Value end) {
  b.loop(tile, [&](Value i) {
    Value output = getOutput(i);
    forChunks(begin, end, getLineChunks(), {},
              [&](Value column, int64_t chunks, ArrayRef<Value>) {
                Value at = b.sub(column, begin);
                for (auto [part, vector] :
                     llvm::enumerate(decode(i, output, column, chunks, begin)))
                  b.storeVector(vector, weights, {i, b.add(at, part * lanes)});
                return SmallVector<Value>();
              });
  });
}

Vectors ProductEmitter::loadWeights(Value i, Value at) {
  Vectors vectors;
  for (int64_t part = 0; part < getChunk(); part += lanes)
    vectors.push_back(b.loadVector(weights, {i, b.add(at, part)}, lanes));
  return vectors;
}

//===----------------------------------------------------------------------===//
// MatrixProduct
//===----------------------------------------------------------------------===//

MatrixProduct::MatrixProduct(WeightType weight, int64_t groups, bool rounded,
                             FloatType sumType, bool hasBF16Input)
    : ProductShape(weight, groups, rounded), sumType(sumType),
      isDot(hasBF16Input && sumType.isF32() && isDotProduct(weight, groups)) {}

int64_t MatrixProduct::getTiles() const {
  return groups * llvm::divideCeil(outputs / groups, ProductLoops::tile);
}

void MatrixProduct::emit(KernelBuilder &b, Value begin, Value end,
                         const ProductRows &rows, Value input, Value weight,
                         Value output, Value expert) const {
  ProductOperands operands(b, begin, end, rows, input, weight, output, expert,
                           outputs / groups, rounded);
  if (isDot)
    return emitDotProduct(b, format, columns, operands);
  int64_t lanes = getSumLanes(b, format, columns, sumType);
  std::string name = "product." + describeProduct(format);
  if (sumType.isF64())
    name += ".f64";
  operands.callFunction(
      b, name + ".lanes" + std::to_string(lanes),
      [&](KernelBuilder &body, const ProductOperands &arguments) {
        ProductEmitter(body, format, sumType, lanes, arguments).emit();
      });
}
