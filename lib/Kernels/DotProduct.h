//===- DotProduct.h - Products of pairs of bf16 values ----------*- C++ -*-===//
//
// Products whose inputs and weights are exact in bf16, two columns at a time
// (dsflash.dot_bf16): lane i of a sum adds columns 2i + 1 and 2i of 32 that lie
// in a vector. These are adjacent ones, but of E2M1 weights every fourth of
// 128, as their codes lie in words of 16 bits.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_KERNELS_DOTPRODUCT_H
#define DSFLASH_LIB_KERNELS_DOTPRODUCT_H

#include "ProductOperands.h"

namespace mlir::dsflash {

/// Whether a weight of bf16 inputs has such a product: its values are exact in
/// bf16, its columns are whole vectors, and a tile of outputs shares its
/// scales where these may go to the inputs (E4M3).
bool isDotProduct(WeightType weight, int64_t groups);

/// Emits the product, whose inputs are f32 that are exact in bf16.
void emitDotProduct(KernelBuilder &b, FormatAttr format, int64_t columns,
                    ProductOperands operands);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_DOTPRODUCT_H
