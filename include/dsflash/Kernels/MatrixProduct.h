//===- MatrixProduct.h - Products with packed matrices ----------*- C++ -*-===//
//
// The one generator of dense products: f32 rows times rows of a weight that is
// decoded as it is read, in f32 or f64, or in pairs of bf16 values. Every (row,
// output) pair has one vector of partial sums, updated in one order and reduced
// at the end, so that its bits depend on neither the number of rows nor the
// tiling.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_KERNELS_MATRIXPRODUCT_H
#define DSFLASH_KERNELS_MATRIXPRODUCT_H

#include "dsflash/Kernels/KernelBuilder.h"

namespace mlir::dsflash {

/// The rows that are multiplied: 0 to `count`, or those of the slots
/// order[first] to order[first + count - 1], where slot s takes the input row
/// s / slotsPerInput and gives the output row s.
struct ProductRows {
  Value count;
  Value order = {}; // null or memref<?xi32>
  Value first = {};
  int64_t slotsPerInput = 1;
};

/// A product with a weight [outputs, columns], or with one expert of it.
struct ProductShape {
  /// `rounded`: r() of what is stored.
  ProductShape(WeightType weight, int64_t groups, bool rounded)
      : format(weight.getFormat()), outputs(weight.getRows()),
        columns(weight.getColumns()), groups(groups), rounded(rounded) {}

  FormatAttr format;
  int64_t outputs, columns;
  int64_t groups; // of the outputs, each with columns of its own
  bool rounded;
};

/// output[row, o] = sum over k of input[row, k] * W[o, k], f32, for a weight
/// [outputs, columns]. With groups, group g of the outputs sees columns
/// g * columns and on of the input.
///
/// The loops are in a function of the module for each format, which takes the
/// sizes as arguments: all products with weights of a format share its code.
class MatrixProduct : ProductShape {
public:
  /// `sumType`: f32, or f64 for sums that are
  /// rounded to f32 once. `hasBF16Input`: every input is known to be exact in
  /// bf16, which dot products of pairs take where the weights are exact in it
  /// too.
  MatrixProduct(WeightType weight, int64_t groups, bool rounded,
                FloatType sumType, bool hasBF16Input = false);

  /// Pieces of the outputs, each of which is computed together.
  int64_t getTiles() const;
  /// Computes the tiles `begin` to `end` of the outputs. Input and output are
  /// matrices; `expert` chooses one of a weight that has experts.
  void emit(KernelBuilder &b, Value begin, Value end, const ProductRows &rows,
            Value input, Value weight, Value output, Value expert = {}) const;

private:
  FloatType sumType;
  bool isDot; // of pairs of bf16 values
};

} // namespace mlir::dsflash

#endif // DSFLASH_KERNELS_MATRIXPRODUCT_H
