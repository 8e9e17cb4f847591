//===- DotEmitter.h - The body of a product of pairs ------------*- C++ -*-===//
//
// Inputs of a block of rows are narrowed to bf16 once for many tiles. A scale
// that a tile of outputs shares (E4M3) is applied to the few: to the inputs of
// a few rows, which are narrowed anew for each block of outputs, or to the
// weights that many rows use. Scales of single rows are part of the look-up of
// E2M1 weights.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_KERNELS_DOTEMITTER_H
#define DSFLASH_LIB_KERNELS_DOTEMITTER_H

#include "ProductLoops.h"

namespace mlir::dsflash {

/// Writes the body of a product's function.
class DotEmitter : public ProductLoops {
public:
  /// Lanes of a sum, and columns of a vector that is added to it.
  static constexpr int64_t sumLanes = KernelBuilder::processorLanes;
  static constexpr int64_t width = 2 * sumLanes;
  /// Rows of a tile that are multiplied together where weights are decoded for
  /// more of them.
  static constexpr int64_t tileRows = 3;
  /// Rows that are multiplied with weights decoded once, at most: their
  /// narrowed inputs stay in the second-level cache while tiles pass.
  static constexpr int64_t mostRows = 96;

  /// `hasRest`: whether columns may be no multiple of the unit.
  DotEmitter(KernelBuilder &b, FormatAttr format, bool hasRest,
             const ProductOperands &operands);

  /// Columns whose weights a line of the cache holds.
  static int64_t getUnit(FormatAttr format);

private:
  /// Columns that are decoded for many rows at a time.
  static constexpr int64_t span = 1024;
  /// Takes the vectors from a column on; `isRest` if they are the last ones.
  using VectorsBody = function_ref<SmallVector<Value>(
      Value column, int64_t vectors, bool isRest, ArrayRef<Value> sums)>;

  bool isPacked() const { return format.getElement() == Element::E2M1; }
  bool hasSharedScale() const { return format.getElement() == Element::E4M3; }

  void emitTile(Value first, Value count, Value isFirst) override;
  void emitFew(Value count, int64_t least, ArrayRef<int64_t> direct);
  void emitDirect(Value count, int64_t least, int64_t most);
  void emitDecoded(Value first, Value count);
  void addDecoded(ArrayRef<Value> rows, Value column, Value begin,
                  MutableArrayRef<Value> sums);
  SmallVector<Value> forVectors(Value begin, Value end, int64_t most,
                                ArrayRef<Value> sums, VectorsBody body);

  void narrowRows(Value first, Value count, Value scaled);
  void decodeScales(Value begin, Value end);
  Value loadScale(Value column, Value begin) {
    return b.load(scales, {b.div(b.sub(column, begin), width)});
  }
  void narrowPackedRow(const Row &from, Value to);
  Value loadNarrowed(Value row, Value column) {
    return b.loadVector(operands.narrowed, {row, column}, width);
  }

  void prefetchNextTile(Value firstOutput, int64_t outputs, Value column);
  void decodeSpan(Value begin, Value end);
  SmallVector<Value> decode(Value output, Value column, int64_t vectors,
                            bool isRest);
  SmallVector<Value> decodeScaled(Value output, Value column, int64_t vectors,
                                  Value begin);

  bool hasRest;
  int64_t unit;
  Value weights; // decoded, of a span
  Value scales;  // shared ones of a span; null without
  Value lastRow; // of the weight
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_DOTEMITTER_H
