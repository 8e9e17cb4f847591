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
  static constexpr int64_t heads = 64, depth = 64;
  static constexpr int64_t threads = heads / kM * kWarp;

  /// `columns`: a multiple of 2 * kN. `isTransposed`: right is stored as
  /// [term, column]. The tile lies in shared memory from its first byte.
  AttentionTile(KernelBuilder &b, bool onTensorCores, int64_t columns,
                bool isTransposed);

  /// Of both operands.
  static int64_t getSharedBytes(bool onTensorCores, int64_t columns,
                                bool isTransposed);

  /// Values that a thread stores at once: 16 bytes.
  int64_t getUnit() const { return onTensorCores ? 8 : 4; }
  /// Puts adjacent f32 or bf16 values into an operand.
  void storeLeft(Value values, Value head, Value term);
  void storeRight(Value values, Value row, Value at);

  SmallVector<Value> getZeros() const;
  /// Adds the terms that are in the tile, from the first to the last; heads
  /// from the first multiple of kM behind `headCount` on are left out.
  SmallVector<Value> multiply(Value headCount, ArrayRef<Value> sums);
  /// This thread has sums of two heads, `number` 0 and 1.
  Value getHead(int64_t number);
  /// Visits them, two adjacent columns at a time.
  void
  forSums(ArrayRef<Value> sums,
          function_ref<void(int64_t number, Value column, Value both)> body);

private:
  static int64_t getPitch(bool onTensorCores, int64_t width) {
    return width + (onTensorCores ? kPadding : kPadding / 2);
  }
  void store(Value values, Value operand, Value row, Value at);
  SmallVector<Value> multiplyOnTensorCores(ArrayRef<Value> sums);
  SmallVector<Value> multiplyByFMA(ArrayRef<Value> sums);

  KernelBuilder &b;
  bool onTensorCores;
  int64_t columns;
  bool isTransposed;
  Value warp, lane;
  Value left, right; // [heads, depth], [columns, depth] or [depth, columns]
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_ATTENTIONTILE_H
