//===- ProductOperands.h - Arguments of a product's function ----*- C++ -*-===//

#ifndef DSFLASH_LIB_KERNELS_PRODUCTOPERANDS_H
#define DSFLASH_LIB_KERNELS_PRODUCTOPERANDS_H

#include "dsflash/Kernels/MatrixProduct.h"

namespace mlir::dsflash {

/// What a product's function takes: it is made once for a format, and called
/// with the sizes of a product.
struct ProductOperands {
  ProductOperands() = default;
  /// Of a product with a weight, or with one expert of it.
  ProductOperands(KernelBuilder &b, Value begin, Value end,
                  const ProductRows &rows, Value input, Value weight,
                  Value output, Value expert, int64_t groupOutputs,
                  bool rounded);

  Value begin, end;    // pieces of the product
  Value input, output; // [rows, features]
  Value payload;       // of the weight
  Value groupOutputs;  // outputs of one group
  Value rowCount;
  Value rounded; // i1
  // Null where there is none.
  Value scales;
  Value order, firstSlot, slotsPerInput;
  Value narrowed; // memref<?x?xbf16>, scratch for inputs in bf16

  /// Calls the function `name` (".slots" behind it where there is an order),
  /// whose body is emitted where the module lacks it.
  void callFunction(
      KernelBuilder &b, std::string name,
      function_ref<void(KernelBuilder &, const ProductOperands &)> emitBody);

private:
  SmallVector<Value *> list();
};

/// "e4m3.32x32": element and block of a format, for names.
std::string describeProduct(FormatAttr format);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_PRODUCTOPERANDS_H
