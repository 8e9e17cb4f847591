//===- MatrixProduct.h - Products with packed matrices ----------*- C++ -*-===//
//
// The one generator of dense products: f32 rows times rows of a weight that is
// decoded as it is read. Every (row, output) pair has one vector of partial
// sums, updated in the order of the summed index and reduced at the end, so
// that its bits depend on neither the number of rows nor the tiling.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_KERNELS_MATRIXPRODUCT_H
#define DSFLASH_KERNELS_MATRIXPRODUCT_H

#include "dsflash/Kernels/KernelBuilder.h"

namespace mlir::dsflash {

/// Where a row of activations lies and where its result goes: the indices of
/// input and output but the last ones.
struct ProductRow {
  SmallVector<Value> input;
  SmallVector<Value> output;
};

/// output[row, o] = sum over k of input[row, k] * W[o, k], f32, for a weight
/// [outputs, columns]. With groups, group g of the outputs sees columns
/// g * columns and on of the input.
class MatrixProduct {
public:
  /// `rounded`: r() of what is stored.
  MatrixProduct(WeightType weight, int64_t groups, bool rounded)
      : format(weight.getFormat()), outputs(weight.getRows()),
        columns(weight.getColumns()), groups(groups), rounded(rounded) {}

  /// The buffers, and the weight (of one expert, where it has experts).
  void bind(KernelBuilder &b, Value input, Value weight, Value output,
            Value expert = {});

  /// Outputs that are computed together: 8, 4, 2 or 1.
  int64_t getTile() const;
  int64_t getTiles() const { return outputs / getTile(); }
  /// Writes the loops for the tiles `begin` to `end` of the outputs and rows 0
  /// to `rowCount`, each of which `getRow` places.
  void emit(KernelBuilder &b, Value begin, Value end, Value rowCount,
            function_ref<ProductRow(Value)> getRow) const;

private:
  friend class ProductTile;

  FormatAttr format;
  int64_t outputs;
  int64_t columns;
  int64_t groups;
  bool rounded;
  Value payload;
  Value scales; // null where the format has none
  Value input;
  Value output;
};

} // namespace mlir::dsflash

#endif // DSFLASH_KERNELS_MATRIXPRODUCT_H
