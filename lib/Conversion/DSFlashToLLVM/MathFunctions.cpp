//===- MathFunctions.cpp - Functions of f32 and f64 as arithmetic ---------===//
//
// Polynomials are minimax fits of the reduced functions in relative error.
//
//===----------------------------------------------------------------------===//

#include "MathFunctions.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kLog2E = 1.4426950408889634;
/// ln 2 in two parts; the products of the first with exponents are exact.
constexpr double kLn2High = 0.693359375f;
constexpr double kLn2Low = -2.1219444005469057e-4;

/// What exp needs to know of f32 or f64.
struct ExpFormat {
  /// Outside of them results are 0 and infinity.
  double lowest, highest;
  int32_t mantissaBits, exponentBias;
  /// (exp(r) - 1 - r) / r^2
  ArrayRef<double> polynomial;
};
constexpr double kExpF32[] = {0.5, 0.16666518, 4.1666206e-2, 8.3688842e-3,
                              1.3950478e-3};
/// Of Taylor's series; what is left out is below 3e-13.
constexpr double kExpF64[] = {1.0 / 2,     1.0 / 6,      1.0 / 24,
                              1.0 / 120,   1.0 / 720,    1.0 / 5040,
                              1.0 / 40320, 1.0 / 362880, 1.0 / 3628800};
const ExpFormat kF32 = {-104, 89, 23, 127, kExpF32};
const ExpFormat kF64 = {-746, 710, 52, 1023, kExpF64};

} // namespace

/// x = n ln 2 + r with |r| <= ln(2) / 2; 2^n is applied in two factors, so that
/// infinity and subnormal results come out by themselves.
Value Arithmetic::exp(Value x) {
  const ExpFormat &format = isDouble ? kF64 : kF32;
  Value low = number(format.lowest), high = number(format.highest);
  x = select(less(x, low), low, x);
  x = select(less(high, x), high, x);
  // Adding it rounds to an integer that is the low bits of the sum.
  Value rounder = number(std::ldexp(1.5, format.mantissaBits));
  Value shifted = fma(x, number(kLog2E), rounder);
  Value n = subI(bitsOf(shifted), bitsOf(rounder));
  Value count = sub(shifted, rounder);
  Value r = fma(count, number(-kLn2High), x);
  r = fma(count, number(-kLn2Low), r);
  Value p = polynomial(r, format.polynomial);
  Value y = add(fma(p, mul(r, r), r), number(1));
  Value half = shiftRight(n, 1);
  auto powerOfTwo = [&](Value exponent) {
    return fromBits(shiftLeft(addI(exponent, integer(format.exponentBias)),
                              format.mantissaBits));
  };
  return mul(mul(y, powerOfTwo(half)), powerOfTwo(subI(n, half)));
}

/// x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).
Value Arithmetic::log(Value x) {
  Value subnormal = less(x, f32(std::numeric_limits<float>::min()));
  Value bits = bitsOf(select(subnormal, mul(x, f32(0x1p23f)), x));
  Value e = shiftRight(subI(bits, i32(0x3f3504f3)), 23);
  Value f = sub(fromBits(subI(bits, shiftLeft(e, 23))), f32(1));
  Value exponent = toF32(subI(e, select(subnormal, i32(23), i32(0))));
  Value p = polynomial<float>(f, {0.33333331f, -0.25000823f, 0.20001227f,
                                  -0.16623355f, 0.14201768f, -0.13160208f,
                                  0.12761521f, -7.6343596e-2f});
  Value square = mul(f, f);
  Value y = mul(mul(square, f), p);
  y = fma(exponent, f32(kLn2Low), y);
  y = fma(square, f32(-0.5f), y);
  y = fma(exponent, f32(kLn2High), add(f, y));
  y = select(equal(x, f32(kInfinity)), x, y);
  Value outside = select(equal(x, f32(0)), f32(-kInfinity), f32(kNaN));
  return select(less(f32(0), x), y, outside);
}

/// log(u) for u = 1 + x as rounded, and the first term of what rounding lost.
Value Arithmetic::log1p(Value x) {
  Value u = add(x, f32(1));
  Value lost = sub(x, sub(u, f32(1)));
  Value y = log(u);
  Value finite = less(abs(y), f32(kInfinity));
  return add(y, select(finite, div(lost, u), f32(0)));
}

/// sin(x + quarters pi/2) in f64, which is exact enough that rounding it is the
/// only error. x = n pi/2 + r with |r| <= pi/4; adding 1.5 * 2^52 rounds to the
/// n that is in the low bits of the sum.
Value Arithmetic::sinOfQuarters(Value x, int64_t quarters) {
  Type wide = b.getF64Type(), bits = b.getI64Type();
  if (auto vector = dyn_cast<VectorType>(shape)) {
    wide = vector.clone(wide);
    bits = vector.clone(bits);
  }
  auto f64 = [&](double value) {
    return constant(b.getF64FloatAttr(value), wide);
  };
  auto i64 = [&](int64_t value) {
    return constant(b.getI64IntegerAttr(value), bits);
  };
  auto polynomialOf = [&](Value z, ArrayRef<double> coefficients) {
    Value sum = f64(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, z, f64(coefficient));
    return sum;
  };
  auto hasBit = [&](Value n, int64_t bit) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                 arith::AndIOp::create(b, n, i64(bit)), i64(0));
  };
  constexpr double round = 0x1.8p52;
  Value angle = arith::ExtFOp::create(b, wide, x);
  Value shifted = fma(angle, f64(0x1.45f306dc9c883p-1), f64(round));
  Value n = addI(arith::BitcastOp::create(b, bits, shifted), i64(quarters));
  Value count = sub(shifted, f64(round));
  Value r = fma(count, f64(-0x1.921fb54442d18p0), angle);
  r = fma(count, f64(-0x1.1a62633145c07p-54), r);
  Value z = mul(r, r);
  Value s = polynomialOf(z, {-0x1.5555555555549p-3, 0x1.111111110f8a6p-7,
                             -0x1.a01a019c161d5p-13, 0x1.71de357b1fe7dp-19,
                             -0x1.ae5e68a2b9cebp-26, 0x1.5d93a5acfd57cp-33});
  s = fma(mul(z, r), s, r);
  Value c =
      polynomialOf(z, {1.0, -0.5, 0x1.555555555554cp-5, -0x1.6c16c16c15177p-10,
                       0x1.a01a019cb1590p-16, -0x1.27e4f809c52adp-22,
                       0x1.1ee9ebdb4b1c4p-29, -0x1.8fae9be8838d4p-37});
  Value value = select(hasBit(n, 1), c, s);
  value = select(hasBit(n, 2), arith::NegFOp::create(b, value), value);
  return arith::TruncFOp::create(b, shape, value);
}

/// With the two bits of the exponent under an exponent of 1 normal codes v read
/// 4v, code 0 reads 2 and code 1 reads 3. 2x - 4 is right for these two, and
/// for the others it is not below 4v.
Value Arithmetic::decodeE2M1(Value codes, Value scale) {
  auto bitAnd = [&](Value x, int32_t mask) {
    return arith::AndIOp::create(b, x, i32(mask));
  };
  auto bitOr = [&](Value x, Value y) { return arith::OrIOp::create(b, x, y); };
  Value magnitude = bitAnd(shiftLeft(codes, 22), 0x01c00000);
  Value raw = fromBits(bitOr(magnitude, i32(0x40000000)));
  Value other = fma(raw, f32(2), f32(-4));
  Value value = select(less(raw, other), raw, other);
  Value sign =
      bitAnd(shiftLeft(codes, 28), std::numeric_limits<int32_t>::min());
  Value signedValue = fromBits(bitOr(bitsOf(value), sign));
  Value quarter = arith::ConstantOp::create(b, b.getF32FloatAttr(0.25f));
  return mul(signedValue, splat(mul(scale, quarter)));
}

/// The exponent's bias differs by 120: exact for subnormal codes too.
Value Arithmetic::decodeE4M3(Value codes) {
  constexpr int32_t magnitude = 0x07f00000, quietNaN = 0x7fc00000;
  Value wide = arith::ExtSIOp::create(b, integers(), codes);
  Value bits = arith::AndIOp::create(
      b, shiftLeft(wide, 20),
      i32(std::numeric_limits<int32_t>::min() | magnitude));
  Value value = mul(fromBits(bits), f32(0x1p120f));
  Value isNaN = arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq,
      arith::AndIOp::create(b, bits, i32(magnitude)), i32(magnitude));
  Value nan = fromBits(arith::OrIOp::create(b, bits, i32(quietNaN)));
  return select(isNaN, nan, value);
}
