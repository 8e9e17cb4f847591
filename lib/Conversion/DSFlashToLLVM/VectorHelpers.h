//===- VectorHelpers.h - Parts of what number formats become ----*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_VECTORHELPERS_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_VECTORHELPERS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dsflash {

/// Of AVX-512, in values of 16 and 32 bits.
constexpr int64_t registerWords = 32, registerLanes = 16;

inline Value extract(ImplicitLocOpBuilder &b, Value vector, int64_t first,
                     int64_t count) {
  return vector::ExtractStridedSliceOp::create(
      b, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{count},
      ArrayRef<int64_t>{1});
}

inline Value insert(ImplicitLocOpBuilder &b, Value part, Value vector,
                    int64_t first) {
  return vector::InsertStridedSliceOp::create(
      b, part, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{1});
}

inline Value callIntrinsic(ImplicitLocOpBuilder &b, StringRef name, Type result,
                           ValueRange arguments) {
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name),
                                       arguments)
      .getResult(0);
}

/// An integer, or a vector of it if `type` is one.
inline Value integer(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  TypedAttr attribute = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, attribute);
}

inline Type withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(vector.clone(element)) : element;
}

/// The words of two bytes with the bits from `shift` on lowest.
inline Value shiftWords(ImplicitLocOpBuilder &b, Value codes, int64_t shift) {
  int64_t bytes = cast<VectorType>(codes.getType()).getNumElements();
  auto type = VectorType::get(bytes / 2, b.getI16Type());
  Value words = vector::BitCastOp::create(b, type, codes);
  if (shift == 0)
    return words;
  return arith::ShRUIOp::create(b, words, integer(b, type, shift));
}

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_VECTORHELPERS_H
