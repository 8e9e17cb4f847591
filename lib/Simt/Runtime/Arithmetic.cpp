//===- Arithmetic.cpp - Arithmetic that translated code calls -------------===//
//
// Approximate functions are computed in double and rounded to nearest: inside
// the error that the PTX ISA allows, and better than a device.
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>

namespace dsflash::simt {

namespace {

enum Operation : uint32_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  Fma,
  Sqrt,
  Min,
  Max,
  Exp2,
  Tanh
};

float bitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The lowest bit says that something was cut off: `error` has the sign of
// exact minus rounded.
double makeOdd(double rounded, double error) {
  if (error == 0 || !std::isfinite(rounded) || rounded == 0)
    return rounded;
  uint64_t bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  if (!(bits & 1))
    bits += (error > 0) == (rounded > 0) ? 1 : uint64_t(-1);
  std::memcpy(&rounded, &bits, sizeof rounded);
  return rounded;
}

// Operands of at most 24 bits; the result may be rounded once more.
double computeToOdd(uint32_t operation, double x, double y, double z) {
  switch (operation) {
  case Add:
    return addToOdd(x, y);
  case Subtract:
    return addToOdd(x, -y);
  case Multiply:
    return x * y; // exact
  case Divide: {
    double quotient = x / y;
    return makeOdd(quotient, std::fma(-quotient, y, x) * (y < 0 ? -1 : 1));
  }
  case Fma:
    return addToOdd(x * y, z);
  default: {
    double root = std::sqrt(x);
    return makeOdd(root, std::fma(-root, root, x));
  }
  }
}

// add, sub, mul, div, fma, sqrt of f32 with a rounding mode.
float roundedF32(uint32_t operation, float x, float y, float z,
                 uint32_t rounding) {
  double value = computeToOdd(operation, x, y, z);
  // The sign of an exact zero sum depends on the mode.
  if (value == 0 && operation != Multiply && operation != Divide &&
      operation != Sqrt && Rounding(rounding) == Rounding::Down) {
    bool negative = operation == Fma
                        ? std::signbit(double(x) * y) || std::signbit(z)
                    : operation == Add ? std::signbit(x) || std::signbit(y)
                                       : std::signbit(x) || !std::signbit(y);
    return negative ? -0.0f : 0.0f;
  }
  return bitsToFloat(encode(value, Format::F32, Rounding(rounding), 0));
}

double roundedF64(uint32_t operation, double x, double y, double z,
                  uint32_t rounding) {
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                  FE_UPWARD};
  std::fesetround(modes[rounding]);
  volatile double a = x, c = y, d = z, result;
  switch (operation) {
  case Add:
    result = a + c;
    break;
  case Subtract:
    result = a - c;
    break;
  case Multiply:
    result = a * c;
    break;
  case Divide:
    result = a / c;
    break;
  case Fma:
    result = std::fma(a, c, d);
    break;
  default:
    result = std::sqrt(a);
    break;
  }
  std::fesetround(FE_TONEAREST);
  return result;
}

double clampResult(double value, uint32_t flags) {
  if (flags & kSat)
    value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
  return value;
}

double minMax(uint32_t operation, double x, double y, uint32_t flags) {
  if (std::isnan(x) || std::isnan(y)) {
    if ((flags & kNaN) || (std::isnan(x) && std::isnan(y)))
      return NAN;
    return std::isnan(x) ? y : x;
  }
  bool negative = std::signbit(x) != std::signbit(y);
  if (flags & kXorSignAbs) {
    x = std::fabs(x);
    y = std::fabs(y);
  }
  bool xIsLess = x < y || (x == y && std::signbit(x));
  double result = xIsLess == (operation == Min) ? x : y;
  return (flags & kXorSignAbs) && negative ? -result : result;
}

// Any operation on f16 or bf16, rounded to nearest.
uint16_t arithmetic16(uint32_t operation, uint32_t format, uint16_t a,
                      uint16_t c, uint16_t d, uint32_t flags) {
  Format kind = Format(format);
  auto load = [&](uint16_t code) {
    double value = decode(code, kind);
    double least = std::ldexp(1.0, 1 - kFormats[format].bias);
    return (flags & kFtz) && std::fabs(value) < least
               ? std::copysign(0.0, value)
               : value;
  };
  double x = load(a), y = load(c), z = load(d), value;
  switch (operation) {
  case Min:
  case Max:
    value = minMax(operation, x, y, flags);
    break;
  case Exp2:
    value = std::exp2(x);
    break;
  case Tanh:
    value = std::tanh(x);
    break;
  default:
    value = computeToOdd(operation, x, y, z);
    break;
  }
  uint32_t code =
      encode(clampResult(value, flags), kind, Rounding::Nearest, flags & kRelu);
  double result = decode(code, kind);
  if ((flags & kFtz) &&
      std::fabs(result) < std::ldexp(1.0, 1 - kFormats[format].bias))
    code &= 0x8000;
  return uint16_t(code);
}

uint32_t encodeFloat(float value, uint32_t format, uint32_t rounding,
                     uint32_t flags) {
  return encode(value, Format(format), Rounding(rounding), flags);
}
uint32_t encodeDouble(double value, uint32_t format, uint32_t rounding,
                      uint32_t flags) {
  return encode(value, Format(format), Rounding(rounding), flags);
}
float decodeToFloat(uint32_t code, uint32_t format) {
  return float(decode(code, Format(format)));
}

// Scale format ue8m0: 2^(code - 127), 255 is NaN.
uint32_t encodeScale(float value, uint32_t rounding) {
  if (std::isnan(value))
    return 255;
  float magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return 254;
  if (magnitude == 0)
    return 0;
  int exponent = std::ilogb(magnitude);
  if (Rounding(rounding) == Rounding::Up &&
      std::ldexp(1.0, exponent) < double(magnitude))
    ++exponent;
  return uint32_t(std::clamp(exponent + 127, 0, 254));
}

double intToFloat(uint64_t bits, uint32_t isSigned, uint32_t rounding,
                  uint32_t toDouble) {
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                  FE_UPWARD};
  std::fesetround(modes[rounding]);
  volatile int64_t asSigned = int64_t(bits);
  volatile uint64_t asUnsigned = bits;
  volatile double wide;
  if (toDouble) {
    wide = isSigned ? double(asSigned) : double(asUnsigned);
  } else {
    volatile float narrow = isSigned ? float(asSigned) : float(asUnsigned);
    wide = narrow;
  }
  std::fesetround(FE_TONEAREST);
  return wide;
}

// A 64-bit integer in 53 bits, the lowest of which says that more follow.
double intToOdd(uint64_t bits, uint32_t isSigned) {
  bool negative = isSigned && int64_t(bits) < 0;
  uint64_t magnitude = negative ? -bits : bits;
  uint64_t low = magnitude & 0xfff;
  double value =
      magnitude >> 52
          ? double((magnitude & ~uint64_t(0xfff)) | (low ? 0x1000 : 0))
          : double(magnitude);
  return negative ? -value : value;
}

float exp2F32(float x) { return float(std::exp2(double(x))); }
float log2F32(float x) { return float(std::log2(double(x))); }
float sinF32(float x) { return float(std::sin(double(x))); }
float cosF32(float x) { return float(std::cos(double(x))); }
float tanhF32(float x) { return float(std::tanh(double(x))); }
float rsqrtF32(float x) { return float(1 / std::sqrt(double(x))); }
double rsqrtF64(double x) { return 1 / std::sqrt(x); }

} // namespace

#define SYMBOL(name, function) {name, reinterpret_cast<void *>(function)}
const RuntimeSymbol kArithmeticSymbols[] = {
    SYMBOL("simt_rounded_f32", roundedF32),
    SYMBOL("simt_rounded_f64", roundedF64),
    SYMBOL("simt_arithmetic16", arithmetic16),
    SYMBOL("simt_encode_f32", encodeFloat),
    SYMBOL("simt_encode_f64", encodeDouble),
    SYMBOL("simt_decode", decodeToFloat),
    SYMBOL("simt_encode_scale", encodeScale),
    SYMBOL("simt_int_to_float", intToFloat),
    SYMBOL("simt_int_to_odd", intToOdd),
    SYMBOL("simt_ex2", exp2F32),
    SYMBOL("simt_lg2", log2F32),
    SYMBOL("simt_sin", sinF32),
    SYMBOL("simt_cos", cosF32),
    SYMBOL("simt_tanh", tanhF32),
    SYMBOL("simt_rsqrt_f32", rsqrtF32),
    SYMBOL("simt_rsqrt_f64", rsqrtF64),
};
#undef SYMBOL
const unsigned kArithmeticSymbolCount =
    sizeof(kArithmeticSymbols) / sizeof(RuntimeSymbol);

} // namespace dsflash::simt
