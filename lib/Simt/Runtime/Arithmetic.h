//===- Arithmetic.h - Rounding and approximate functions --------*- C++ -*-===//

#ifndef DSFLASH_SIMT_ARITHMETIC_H
#define DSFLASH_SIMT_ARITHMETIC_H

#include <cstdint>

namespace dsflash::simt {

/// Rounding modes in the order that translated code numbers them. Away: to
/// nearest, ties away from zero (.rna).
enum class Rounding : uint32_t { Nearest, Zero, Down, Up, Away };

/// A binary floating-point format below 64 bits.
struct FloatFormat {
  unsigned exponentBits, mantissaBits;
  int bias;
  enum class Specials {
    IEEE,   ///< infinities and NaNs
    NaN,    ///< one NaN, all ones: e4m3
    Finite, ///< neither: e2m1, e2m3, e3m2
  } specials;
};

/// Formats in the order that translated code numbers them.
enum class Format : uint32_t { F16, BF16, F32, E4M3, E5M2, E2M1, E2M3, E3M2 };
constexpr FloatFormat kFormats[] = {
    {5, 10, 15, FloatFormat::Specials::IEEE},
    {8, 7, 127, FloatFormat::Specials::IEEE},
    {8, 23, 127, FloatFormat::Specials::IEEE},
    {4, 3, 7, FloatFormat::Specials::NaN},
    {5, 2, 15, FloatFormat::Specials::IEEE},
    {2, 1, 1, FloatFormat::Specials::Finite},
    {2, 3, 1, FloatFormat::Specials::Finite},
    {3, 2, 3, FloatFormat::Specials::Finite},
};

/// Flags of translated code.
enum : uint32_t {
  kFtz = 1,
  kSat = 2,
  kRelu = 4,
  kSatFinite = 8,
  kNaN = 16,
  kXorSignAbs = 32
};

/// The code of a number, rounded once. kSatFinite: the largest finite value in
/// place of an infinity, and of NaN where the format has none. kRelu: 0 in
/// place of a negative number.
uint32_t encode(double value, Format format, Rounding rounding, uint32_t flags);
/// The number of a code.
double decode(uint32_t code, Format format);

/// x + y to odd: rounded once more to at most 51 bits it equals the exact sum
/// so rounded.
double addToOdd(double x, double y);

/// Functions of translated code.
struct RuntimeSymbol {
  const char *name;
  void *address;
};
extern const RuntimeSymbol kArithmeticSymbols[];
extern const unsigned kArithmeticSymbolCount;

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_ARITHMETIC_H
