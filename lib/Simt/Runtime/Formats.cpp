//===- Formats.cpp - Numbers to codes and back ----------------------------===//

#include "Arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dsflash::simt {

static bool roundsUp(double fraction, bool odd, bool negative,
                     Rounding rounding) {
  switch (rounding) {
  case Rounding::Nearest:
    return fraction > 0.5 || (fraction == 0.5 && odd);
  case Rounding::Away:
    return fraction >= 0.5;
  case Rounding::Zero:
    return false;
  case Rounding::Down:
    return negative && fraction > 0;
  case Rounding::Up:
    return !negative && fraction > 0;
  }
  return false;
}

uint32_t encode(double value, Format which, Rounding rounding, uint32_t flags) {
  const FloatFormat &format = kFormats[size_t(which)];
  unsigned mantissaBits = format.mantissaBits;
  uint32_t one = uint32_t(1) << mantissaBits; // the lowest exponent bit
  uint32_t exponents = (uint32_t(1) << format.exponentBits) - 1;
  uint32_t infinity = exponents << mantissaBits;
  uint32_t all = infinity | (one - 1);
  uint32_t signBit = uint32_t(1) << (format.exponentBits + mantissaBits);
  bool ieee = format.specials == FloatFormat::Specials::IEEE;
  // The code of the largest finite number.
  uint32_t largest = ieee ? infinity - 1
                     : format.specials == FloatFormat::Specials::NaN ? all - 1
                                                                     : all;
  if (std::isnan(value)) {
    if (format.specials == FloatFormat::Specials::Finite)
      return largest;
    return all; // canonical, positive
  }
  bool negative = std::signbit(value);
  if (negative && (flags & kRelu))
    return 0;
  uint32_t sign = negative ? signBit : 0;
  double magnitude = std::fabs(value);
  uint32_t code;
  if (std::isinf(magnitude)) {
    code = all + 1;
  } else {
    int exponent = 1 - format.bias; // of subnormal numbers and 0
    if (magnitude != 0)
      exponent = std::max(exponent, std::ilogb(magnitude));
    // In units of the last place; exact.
    double scaled = std::ldexp(magnitude, int(mantissaBits) - exponent);
    double whole = std::floor(scaled);
    uint64_t digits = uint64_t(whole);
    if (roundsUp(scaled - whole, digits & 1, negative, rounding))
      ++digits;
    // A carry moves into the exponent by itself.
    uint64_t wide =
        digits + (uint64_t(exponent + format.bias - 1) << mantissaBits);
    code = uint32_t(std::min<uint64_t>(wide, all + 1));
  }
  if (code > largest) {
    bool towardsZero = rounding == Rounding::Zero ||
                       rounding == (negative ? Rounding::Up : Rounding::Down);
    bool finite = (flags & kSatFinite) ||
                  format.specials == FloatFormat::Specials::Finite ||
                  (towardsZero && !std::isinf(magnitude));
    code = finite ? largest : ieee ? infinity : all;
  }
  return sign | code;
}

double decode(uint32_t code, Format which) {
  const FloatFormat &format = kFormats[size_t(which)];
  uint32_t mantissa = code & ((uint32_t(1) << format.mantissaBits) - 1);
  uint32_t exponents = (uint32_t(1) << format.exponentBits) - 1;
  uint32_t exponent = (code >> format.mantissaBits) & exponents;
  bool negative = code >> (format.mantissaBits + format.exponentBits) & 1;
  double value;
  if (format.specials == FloatFormat::Specials::IEEE && exponent == exponents)
    value = mantissa ? NAN : INFINITY;
  else if (format.specials == FloatFormat::Specials::NaN &&
           exponent == exponents &&
           mantissa == (uint32_t(1) << format.mantissaBits) - 1)
    value = NAN;
  else
    value = std::ldexp(
        double(mantissa + (exponent ? uint32_t(1) << format.mantissaBits : 0)),
        int(std::max(exponent, 1u)) - format.bias - int(format.mantissaBits));
  return negative ? -value : value;
}

double addToOdd(double x, double y) {
  double sum = x + y;
  if (!std::isfinite(sum))
    return sum;
  // Knuth's two-sum: the exact error of the sum.
  double other = sum - x;
  double error = (x - (sum - other)) + (y - other);
  if (error == 0)
    return sum;
  uint64_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if (bits & 1)
    return sum;
  bool away = (error > 0) == (sum > 0);
  bits += away ? 1 : uint64_t(-1);
  std::memcpy(&sum, &bits, sizeof sum);
  return sum;
}

} // namespace dsflash::simt
