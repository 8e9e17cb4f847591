//===- ProductLoops.h - Walking the tiles of a product ----------*- C++ -*-===//

#ifndef DSFLASH_LIB_KERNELS_PRODUCTLOOPS_H
#define DSFLASH_LIB_KERNELS_PRODUCTLOOPS_H

#include "ProductOperands.h"

namespace mlir::dsflash {

/// What the bodies of the processor's products have in common: the walk over
/// blocks of rows and tiles of outputs, and sums in vectors that end in the
/// output. What a tile adds up is the derived class's.
class ProductLoops {
public:
  /// Outputs that are computed together; a last tile repeats its last output.
  static constexpr int64_t tile = 8;
  virtual ~ProductLoops() = default;
  /// Emits the tiles from the first to the one behind the last.
  void emitTiles(Value firstTile, Value lastTile);

protected:
  /// Where a row of activations lies and where its result goes.
  struct Row {
    Value input;
    Value output;
  };

  /// `rowBlock`: rows whose inputs stay in the cache while tiles pass, at most
  /// `mostRows`.
  ProductLoops(KernelBuilder &b, FormatAttr format, FloatType sumType,
               int64_t lanes, const ProductOperands &operands, Value rowBlock,
               int64_t mostRows);

  /// Computes the current tile of `count` rows from `first`. It is the first
  /// one for these rows if `isFirst`.
  virtual void emitTile(Value first, Value count, Value isFirst) = 0;

  Value getOutput(Value i) { return b.min(b.add(firstOutput, i), lastOutput); }
  Row getRow(Value number);
  SmallVector<Value> zeros();
  SmallVector<Value> loadSums(Value row);
  /// Of some rows so far, one behind the other; zeros if this is the start.
  SmallVector<Value> loadSums(ArrayRef<Value> rows, Value isStart);
  /// Of the outputs from number `output` of the tile on.
  void storeSums(Value row, ArrayRef<Value> sums, Value output = {});
  /// Puts a row's results into the output.
  void finish(Value number, ArrayRef<Value> sums);
  /// The same of `count` rows from `first`, from their stored sums.
  void finishStored(Value first, Value count);
  /// Finishes some rows, counted from `first`, at the end of their columns or
  /// else stores their sums.
  void storeOrFinish(Value isEnd, Value first, ArrayRef<Value> rows,
                     ArrayRef<Value> sums);

  KernelBuilder &b;
  FormatAttr format;
  FloatType sumType;
  int64_t lanes;
  ProductOperands operands;
  Value columns, rowBlock;
  Value partial; // sums of the rows of a block
  // Of the current tile.
  Value firstOutput, lastOutput, inGroup, inputColumn;

private:
  void startTile(Value number);

  Value results; // of one row
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_PRODUCTLOOPS_H
