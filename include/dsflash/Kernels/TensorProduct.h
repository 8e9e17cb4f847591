//===- TensorProduct.h - Products on tensor cores ---------------*- C++ -*-===//
//
// Dense products of bf16 values by the tensor cores of a GPU: a block of
// threads multiplies a tile of rows with a tile of outputs. Packed weights are
// decoded to bf16, which is exact; sums are f32 and take 16 columns at a time,
// from the first to the last, whatever the number of rows.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_KERNELS_TENSORPRODUCT_H
#define DSFLASH_KERNELS_TENSORPRODUCT_H

#include "dsflash/Kernels/MatrixProduct.h"

namespace mlir::dsflash {

/// Computes what MatrixProduct does in f32 where the inputs are exact in bf16.
class TensorProduct : ProductShape {
public:
  TensorProduct(WeightType weight, int64_t groups, bool rounded,
                ConfigAttr config)
      : ProductShape(weight, groups, rounded), config(config) {}

  /// Whether there are tensor cores and every access of 16 bytes is aligned.
  bool isPossible() const;
  /// The threads and the shared memory that a kernel needs.
  BlockAttr getBlock() const;
  /// Pieces of the outputs, and of a number of rows; a kernel has an item for
  /// each pair, the rows innermost.
  int64_t getTiles() const;
  int64_t getTileRows() const { return config.getTile()[0]; }
  /// Computes the items `begin` to `end` with all threads of a block.
  void emit(KernelBuilder &b, Value begin, Value end, const ProductRows &rows,
            Value input, Value weight, Value output, Value expert = {}) const;

private:
  ConfigAttr config;
};

} // namespace mlir::dsflash

#endif // DSFLASH_KERNELS_TENSORPRODUCT_H
