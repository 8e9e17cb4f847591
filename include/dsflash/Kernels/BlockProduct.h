//===- BlockProduct.h - Products without tensor cores -----------*- C++ -*-===//
//
// Dense products on a device where tensor cores would not do: sums in f64, f32
// inputs. A block of threads shares the columns of a few rows and outputs.
// Every (row, output) pair has one sum for each thread, over its columns in
// their order; these are added pairwise. So a sum's bits depend on neither the
// number of rows nor the tiling.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_KERNELS_BLOCKPRODUCT_H
#define DSFLASH_KERNELS_BLOCKPRODUCT_H

#include "dsflash/Kernels/MatrixProduct.h"

namespace mlir::dsflash {

/// Computes what MatrixProduct does, for weights without scales.
class BlockProduct : ProductShape {
public:
  BlockProduct(WeightType weight, int64_t groups, bool rounded,
               FloatType sumType, ConfigAttr config)
      : ProductShape(weight, groups, rounded), sumType(sumType),
        config(config) {}

  /// Whether there is a device and every access of 16 bytes is aligned.
  bool isPossible() const;
  /// The threads and the shared memory that a kernel needs.
  BlockAttr getBlock() const;
  /// Pieces of the outputs, and rows of a piece; a kernel has an item for each
  /// pair of them, the rows innermost.
  int64_t getTiles() const;
  static constexpr int64_t tileRows = 4;
  /// Computes the items `begin` to `end` with all threads of a block.
  void emit(KernelBuilder &b, Value begin, Value end, Value rowCount,
            Value input, Value weight, Value output) const;

private:
  int64_t getThreads() const;
  int64_t getTileOutputs() const;

  FloatType sumType;
  ConfigAttr config;
};

} // namespace mlir::dsflash

#endif // DSFLASH_KERNELS_BLOCKPRODUCT_H
