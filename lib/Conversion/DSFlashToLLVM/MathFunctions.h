//===- MathFunctions.h - Functions of f32 and f64 as arithmetic -*- C++ -*-===//
//
// One sequence of operations for scalars and vectors, so that a result does
// not depend on the lane or the width.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_MATHFUNCTIONS_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_MATHFUNCTIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::dsflash {

/// Arithmetic on values of one shape: f32 or f64, or a vector of it.
class Arithmetic {
public:
  Arithmetic(PatternRewriter &rewriter, Operation *op)
      : b(op->getLoc(), rewriter), shape(op->getResult(0).getType()),
        isDouble(getElementTypeOrSelf(shape).isF64()) {}

  /// A constant of the shape, rounded to its format.
  Value number(double value) {
    return constant(b.getFloatAttr(getElementTypeOrSelf(shape), value), shape);
  }
  Value f32(float value) { return number(value); }
  Value integer(int64_t value) {
    return constant(b.getIntegerAttr(getIntegerType(), value), integers());
  }
  Value i32(int32_t value) { return integer(value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value addI(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value subI(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value shiftLeft(Value x, int32_t bits) {
    return arith::ShLIOp::create(b, x, integer(bits));
  }
  Value shiftRight(Value x, int32_t bits) {
    return arith::ShRSIOp::create(b, x, integer(bits));
  }
  Value toF32(Value x) { return arith::SIToFPOp::create(b, shape, x); }
  Value bitsOf(Value x) { return arith::BitcastOp::create(b, integers(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, shape, x); }
  /// Comparisons with NaN are false.
  Value less(Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
  }
  Value equal(Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }

  /// c[0] + c[1] x + c[2] x^2 ...
  template <typename T> Value polynomial(Value x, ArrayRef<T> coefficients) {
    Value sum = number(coefficients.back());
    for (T coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }

  Value splat(Value x) {
    return isa<VectorType>(shape) ? vector::BroadcastOp::create(b, shape, x)
                                  : x;
  }

  Value exp(Value x);
  Value log(Value x);
  Value log1p(Value x);
  Value sin(Value x) { return sinOfQuarters(x, 0); }
  Value cos(Value x) { return sinOfQuarters(x, 1); }
  Value decodeE2M1(Value codes, Value scale);
  Value decodeE4M3(Value codes);

private:
  Type getIntegerType() { return b.getIntegerType(isDouble ? 64 : 32); }
  Type integers() {
    if (auto vector = dyn_cast<VectorType>(shape))
      return vector.clone(getIntegerType());
    return getIntegerType();
  }
  Value constant(TypedAttr value, Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(
          b, cast<TypedAttr>(DenseElementsAttr::get(vector, Attribute(value))));
    return arith::ConstantOp::create(b, value);
  }
  Value sinOfQuarters(Value x, int64_t quarters);

  ImplicitLocOpBuilder b;
  Type shape;
  bool isDouble;
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_MATHFUNCTIONS_H
