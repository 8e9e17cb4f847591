//===- MatrixProduct.cpp - Products with packed matrices ------------------===//

#include "dsflash/Kernels/MatrixProduct.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

namespace {
/// Sums that fit the registers beside weights and inputs.
constexpr int64_t maxSums = 24;
constexpr int64_t maxTile = 8;
constexpr int64_t maxRowTile = 8;
/// Rows whose inputs stay in the cache while a few tiles pass.
constexpr int64_t rowBlock = 30;
/// Bytes of packed weights that stay in the cache while all rows pass.
constexpr int64_t cachedBytes = 1 << 18;
/// Columns that are decoded at a time.
constexpr int64_t maxSpan = 512;

/// Vectors of adjacent elements: one, or the even and the odd ones where two
/// elements share a byte.
using Vectors = SmallVector<Value, 2>;
} // namespace

namespace mlir::dsflash {
/// One tile of outputs.
class ProductTile {
public:
  ProductTile(KernelBuilder &b, const MatrixProduct &product,
              Value firstOutput);

  /// From this many rows on emitDecoded is faster.
  int64_t getRowsForDecoded() const { return format.hasScale() ? 2 : 12; }
  /// Computes rows first to first + count, decoding for each few of them.
  void emitDirect(Value first, Value count,
                  function_ref<ProductRow(Value)> getRow);
  /// The same, decoding once; count is at most rowBlock.
  void emitDecoded(Value first, Value count,
                   function_ref<ProductRow(Value)> getRow);

private:
  using GetWeights = function_ref<Vectors(int64_t output, Value column)>;

  bool isPacked() const { return format.getElement() == Element::E2M1; }
  /// Elements that a load brings.
  int64_t getChunk() const { return isPacked() ? 2 * lanes : lanes; }
  int64_t getSpan() const;
  /// Walks the columns in spans.
  SmallVector<Value>
  forSpans(int64_t span, ArrayRef<Value> sums,
           function_ref<SmallVector<Value>(Value begin, Value end,
                                           ArrayRef<Value> sums)>
               body);
  SmallVector<Value> forSteps(Value begin, Value end, ArrayRef<Value> sums,
                              ArrayRef<ProductRow> rows, GetWeights getWeights);
  void decodeScales(Value begin);
  Vectors decode(int64_t output, Value column, Value begin);
  Vectors loadInput(const ProductRow &row, Value column);
  SmallVector<Value> zeros(int64_t count) {
    return SmallVector<Value>(count, b.f32(0.0f, lanes));
  }
  void finish(const ProductRow &row, ArrayRef<Value> sums);
  void forRowTiles(Value count, int64_t rowTile,
                   function_ref<void(Value first, int64_t rows)> body);

  KernelBuilder &b;
  const MatrixProduct &product;
  FormatAttr format;
  Value firstOutput;
  Value inputColumn; // null for 0
  Value scales;      // of a span, [tile or 1, blocks]; null without
  int64_t tile;
  int64_t step; // columns of an iteration, in one block
  int64_t lanes;
};
} // namespace mlir::dsflash

//===----------------------------------------------------------------------===//
// MatrixProduct
//===----------------------------------------------------------------------===//

void MatrixProduct::bind(KernelBuilder &b, Value input, Value weight,
                         Value output, Value expert) {
  auto getPlane = [&](Plane plane) {
    auto value = cast<TypedValue<WeightType>>(weight);
    return WeightDataOp::create(b, getPlaneType(value.getType(), plane),
                                /*call=*/Value(), value, expert, plane);
  };
  this->input = input;
  this->output = output;
  payload = getPlane(Plane::Payload);
  if (format.hasScale())
    scales = getPlane(Plane::Scale);
}

int64_t MatrixProduct::getTile() const {
  return std::gcd(outputs / groups, maxTile);
}

void MatrixProduct::emit(KernelBuilder &b, Value begin, Value end,
                         Value rowCount,
                         function_ref<ProductRow(Value)> getRow) const {
  int64_t tileBytes = format.getPayloadBytes(columns) * getTile();
  int64_t tileBlock = std::max<int64_t>(cachedBytes / tileBytes, 1);
  b.loop(begin, end, tileBlock, [&](Value firstTile) {
    Value lastTile = b.min(b.add(firstTile, tileBlock), end);
    b.loop(b.index(0), rowCount, rowBlock, [&](Value first) {
      Value count = b.min(b.sub(rowCount, first), b.index(rowBlock));
      b.loop(firstTile, lastTile, [&](Value number) {
        ProductTile tile(b, *this, b.mul(number, getTile()));
        Value many = b.cmp(arith::CmpIPredicate::sge, count,
                           b.index(tile.getRowsForDecoded()));
        b.when(
            many, [&] { tile.emitDecoded(first, count, getRow); },
            [&] { tile.emitDirect(first, count, getRow); });
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// ProductTile
//===----------------------------------------------------------------------===//

ProductTile::ProductTile(KernelBuilder &b, const MatrixProduct &product,
                         Value firstOutput)
    : b(b), product(product), format(product.format), firstOutput(firstOutput),
      tile(product.getTile()) {
  constexpr int64_t unscaledStep = 64;
  step = std::gcd(product.columns,
                  format.hasScale() ? format.getBlockColumns() : unscaledStep);
  lanes = KernelBuilder::getLanes(isPacked() ? step / 2 : step);
  if (product.groups > 1) {
    Value group = b.div(firstOutput, product.outputs / product.groups);
    inputColumn = b.mul(group, product.columns);
  }
  if (format.hasScale()) {
    bool shared = format.getBlockRows() % tile == 0;
    scales = b.scratch({shared ? 1 : tile, format.getScaleCount(getSpan())},
                       b.getF32Type());
  }
}

/// Whole blocks, or all columns.
int64_t ProductTile::getSpan() const {
  int64_t unit = format.hasScale() ? format.getBlockColumns() : step;
  return std::min(product.columns, std::max(maxSpan / unit, int64_t(1)) * unit);
}

SmallVector<Value> ProductTile::forSpans(
    int64_t span, ArrayRef<Value> sums,
    function_ref<SmallVector<Value>(Value, Value, ArrayRef<Value>)> body) {
  Value columns = b.index(product.columns);
  return b.loop(b.index(0), columns, span, sums,
                [&](Value begin, ArrayRef<Value> carried) {
                  return body(begin, b.min(b.add(begin, span), columns),
                              carried);
                });
}

/// Puts the factors of the codes from column `begin` on into `scales`.
void ProductTile::decodeScales(Value begin) {
  if (!scales)
    return;
  ArrayRef<int64_t> extents = cast<MemRefType>(scales.getType()).getShape();
  int64_t all = format.getScaleCount(product.columns);
  int64_t width = KernelBuilder::getLanes(std::gcd(all, extents[1]));
  Value first = b.div(begin, format.getBlockColumns());
  Value count = b.min(b.sub(b.index(all), first), b.index(extents[1]));
  b.loop(b.index(0), count, width, [&](Value block) {
    for (int64_t output = 0; output < extents[0]; ++output) {
      Value row = b.div(b.add(firstOutput, output), format.getBlockRows());
      Value codes =
          b.loadVector(product.scales, {row, b.add(first, block)}, width);
      Value scale = b.decodeScale(codes, format);
      // decodeE2M1Times4 leaves this to the scale.
      if (isPacked())
        scale = b.mulf(scale, b.f32(0.25f, width));
      b.storeVector(scale, scales, {b.index(output), block});
    }
  });
}

/// The weights of one output in the chunk from `column` on, in the span that
/// starts at `begin`.
Vectors ProductTile::decode(int64_t output, Value column, Value begin) {
  Value row = b.add(firstOutput, output);
  Value at = isPacked() ? b.div(column, 2) : column;
  Value stored = b.loadVector(product.payload, {row, at}, lanes);
  if (!scales)
    return {format.getElement() == Element::BF16 ? b.decodeBF16(stored)
                                                 : stored};
  bool shared = cast<MemRefType>(scales.getType()).getShape()[0] == 1;
  Value block = b.div(b.sub(column, begin), format.getBlockColumns());
  Value scale =
      b.splat(b.load(scales, {b.index(shared ? 0 : output), block}), lanes);
  if (!isPacked())
    return {b.mulf(b.decodeE4M3(stored), scale)};
  Value bits = b.widen(stored);
  return {b.mulf(b.decodeE2M1Times4(bits, 0), scale),
          b.mulf(b.decodeE2M1Times4(bits, 4), scale)};
}

Vectors ProductTile::loadInput(const ProductRow &row, Value column) {
  SmallVector<Value> indices = row.input;
  indices.push_back(inputColumn ? b.add(column, inputColumn) : column);
  Value vector = b.loadVector(product.input, indices, getChunk());
  if (!isPacked())
    return {vector};
  auto halves = vector::DeinterleaveOp::create(b, vector);
  return {halves.getRes1(), halves.getRes2()};
}

/// Adds the products of the columns begin to end to the sums, which lie row by
/// row.
SmallVector<Value> ProductTile::forSteps(Value begin, Value end,
                                         ArrayRef<Value> sums,
                                         ArrayRef<ProductRow> rows,
                                         GetWeights getWeights) {
  return b.loop(
      begin, end, step, sums, [&](Value column, ArrayRef<Value> carried) {
        SmallVector<Value> next(carried);
        for (int64_t offset = 0; offset < step; offset += getChunk()) {
          Value chunk = b.add(column, offset);
          SmallVector<Vectors> inputs;
          for (const ProductRow &row : rows)
            inputs.push_back(loadInput(row, chunk));
          for (int64_t output = 0; output < tile; ++output)
            for (auto [i, weights] : llvm::enumerate(getWeights(output, chunk)))
              for (auto [r, input] : llvm::enumerate(inputs)) {
                Value &sum = next[r * tile + output];
                sum = b.fma(input[i], weights, sum);
              }
        }
        return next;
      });
}

/// Stores the results of one row.
void ProductTile::finish(const ProductRow &row, ArrayRef<Value> sums) {
  for (auto [output, sum] : llvm::enumerate(sums)) {
    Value result = b.reduceAdd(sum);
    SmallVector<Value> indices = row.output;
    indices.push_back(b.add(firstOutput, output));
    b.store(product.rounded ? b.round(result) : result, product.output,
            indices);
  }
}

/// As many rows at a time as fit the registers, then one by one.
void ProductTile::forRowTiles(
    Value count, int64_t rowTile,
    function_ref<void(Value first, int64_t rows)> body) {
  Value whole = b.index(0);
  if (rowTile > 1) {
    whole = b.sub(count, b.rem(count, rowTile));
    b.loop(b.index(0), whole, rowTile,
           [&](Value first) { body(first, rowTile); });
  }
  b.loop(whole, count, [&](Value first) { body(first, 1); });
}

void ProductTile::emitDirect(Value first, Value count,
                             function_ref<ProductRow(Value)> getRow) {
  int64_t rowTile =
      getRowsForDecoded() > 2 ? std::min(maxSums / tile, maxRowTile) : 1;
  int64_t span = scales ? getSpan() : product.columns;
  forRowTiles(count, rowTile, [&](Value firstRow, int64_t rowCount) {
    SmallVector<ProductRow> rows;
    for (int64_t r = 0; r < rowCount; ++r)
      rows.push_back(getRow(b.add(first, b.add(firstRow, r))));
    SmallVector<Value> sums =
        forSpans(span, zeros(rowCount * tile),
                 [&](Value begin, Value end, ArrayRef<Value> carried) {
                   decodeScales(begin);
                   return forSteps(begin, end, carried, rows,
                                   [&](int64_t output, Value column) {
                                     return decode(output, column, begin);
                                   });
                 });
    for (auto [r, row] : llvm::enumerate(rows))
      finish(row, ArrayRef<Value>(sums).slice(r * tile, tile));
  });
}

void ProductTile::emitDecoded(Value first, Value count,
                              function_ref<ProductRow(Value)> getRow) {
  Value weights = b.scratch({tile, getSpan()}, b.getF32Type());
  Value partial = b.scratch({rowBlock, tile * lanes}, b.getF32Type());
  auto loadSums = [&](Value row) {
    SmallVector<Value> sums;
    for (int64_t output = 0; output < tile; ++output)
      sums.push_back(
          b.loadVector(partial, {row, b.index(output * lanes)}, lanes));
    return sums;
  };
  auto storeSums = [&](Value row, ArrayRef<Value> sums) {
    for (auto [output, sum] : llvm::enumerate(sums))
      b.storeVector(sum, partial, {row, b.index(output * lanes)});
  };

  b.loop(b.index(0), count, [&](Value row) { storeSums(row, zeros(tile)); });
  forSpans(getSpan(), {}, [&](Value begin, Value end, ArrayRef<Value>) {
    decodeScales(begin);
    b.loop(begin, end, getChunk(), [&](Value column) {
      Value at = b.sub(column, begin);
      for (int64_t output = 0; output < tile; ++output)
        for (auto [i, vector] : llvm::enumerate(decode(output, column, begin)))
          b.storeVector(vector, weights,
                        {b.index(output), b.add(at, i * lanes)});
    });
    int64_t rowTile = std::min(maxSums / tile, maxRowTile);
    forRowTiles(count, rowTile, [&](Value firstRow, int64_t rowCount) {
      SmallVector<ProductRow> rows;
      SmallVector<Value> sums;
      for (int64_t r = 0; r < rowCount; ++r) {
        Value row = b.add(firstRow, r);
        rows.push_back(getRow(b.add(first, row)));
        llvm::append_range(sums, loadSums(row));
      }
      sums =
          forSteps(begin, end, sums, rows, [&](int64_t output, Value column) {
            Vectors vectors;
            Value at = b.sub(column, begin);
            for (int64_t i = 0; i < getChunk(); i += lanes)
              vectors.push_back(b.loadVector(
                  weights, {b.index(output), b.add(at, i)}, lanes));
            return vectors;
          });
      for (int64_t r = 0; r < rowCount; ++r)
        storeSums(b.add(firstRow, r),
                  ArrayRef<Value>(sums).slice(r * tile, tile));
    });
    return SmallVector<Value>();
  });
  b.loop(b.index(0), count,
         [&](Value row) { finish(getRow(b.add(first, row)), loadSums(row)); });
}
