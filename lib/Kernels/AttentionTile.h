//===- AttentionTile.h - Heads times keys or features -----------*- C++ -*-===//

#ifndef DSFLASH_LIB_KERNELS_ATTENTIONTILE_H
#define DSFLASH_LIB_KERNELS_ATTENTIONTILE_H

#include "TensorCores.h"

namespace mlir::dsflash {

/// sums[head, column] += sum over `depth` terms of left[head, term] *
/// right[column, term], in a block of threads: bf16 on tensor cores, else f32
/// by FMA. A warp has kM of the heads and all columns.
class AttentionTile {
public:
  static constexpr int64_t heads = 64;
  static constexpr int64_t threads = heads / kM * kWarp;

  struct Shape {
    bool onTensorCores;
    int64_t depth;      // a multiple of kK
    int64_t columns;    // a multiple of 2 * kN
    bool isTransposed;  // right is stored as [term, column]
    int64_t leftStages; // of left there are that many

    int64_t getElementBytes() const { return onTensorCores ? 2 : 4; }
    int64_t getPitch(int64_t width) const {
      return width + (onTensorCores ? kPadding : kPadding / 2);
    }
    int64_t getLeftBytes() const {
      return leftStages * heads * getPitch(depth) * getElementBytes();
    }
    int64_t getBytes() const {
      int64_t rows = isTransposed ? depth : columns;
      int64_t width = isTransposed ? columns : depth;
      return getLeftBytes() + rows * getPitch(width) * getElementBytes();
    }
  };

  /// The tile lies in shared memory from its first byte.
  AttentionTile(KernelBuilder &b, const Shape &shape);

  /// [stages, heads, terms].
  Value getLeft() const { return left; }
  /// Puts adjacent f32 values into an operand, into the first stage of left.
  void storeLeft(Value values, Value head, Value term);
  void storeRight(Value values, Value row, Value at);

  SmallVector<Value> getZeros() const;
  /// Adds the terms that are in the tile, from the first to the last; heads
  /// from the first multiple of kM behind `headCount` on are left out.
  SmallVector<Value> multiply(Value headCount, Value leftStage,
                              ArrayRef<Value> sums);
  /// This thread has sums of two heads, `number` 0 and 1.
  Value getHead(int64_t number);
  /// Visits them, two adjacent columns at a time.
  void
  forSums(ArrayRef<Value> sums,
          function_ref<void(int64_t number, Value column, Value both)> body);

private:
  void store(Value values, Value operand, ArrayRef<Value> at);
  SmallVector<Value> multiplyOnTensorCores(Value stage, ArrayRef<Value> sums);
  SmallVector<Value> multiplyByFMA(Value stage, ArrayRef<Value> sums);

  KernelBuilder &b;
  Shape shape;
  Value warp, lane;
  Value left, right;
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_ATTENTIONTILE_H
