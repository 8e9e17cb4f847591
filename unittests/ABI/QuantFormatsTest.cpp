//===- QuantFormatsTest.cpp - Every code and every midpoint ---------------===//
//
// Expected values come from the definitions of the formats (SPEC section 2),
// by a search for the nearest value in double precision.
//
//===----------------------------------------------------------------------===//

#include "dsflash/ABI/QuantFormats.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double e4m3Value(int code) {
  int exponent = code >> 3 & 15, mantissa = code & 7;
  double magnitude = exponent == 0
                         ? std::ldexp(mantissa, -9)
                         : std::ldexp(1.0 + mantissa / 8.0, exponent - 7);
  return code & 0x80 ? -magnitude : magnitude;
}

std::vector<double> e4m3Magnitudes() {
  std::vector<double> values;
  for (int code = 0; code < 0x7f; ++code)
    values.push_back(e4m3Value(code));
  return values;
}

const std::vector<double> kE2M1Magnitudes = {0, .5, 1, 1.5, 2, 3, 4, 6};

/// Index of the entry of an ascending table nearest to |x|, ties to the even
/// index; beyond the end the last.
int nearest(const std::vector<double> &table, double x) {
  double magnitude = std::min(std::fabs(x), table.back());
  int best = 0;
  for (int i = 1; i < int(table.size()); ++i) {
    double now = std::fabs(table[i] - magnitude);
    double before = std::fabs(table[best] - magnitude);
    if (now < before || (now == before && i % 2 == 0))
      best = i;
  }
  return best;
}

/// Calls check(x) for every midpoint of neighbours in the table, one ulp to
/// either side of it, for the entries themselves, and for all the negatives.
template <typename Check>
void forMidpoints(const std::vector<double> &table, Check check) {
  auto around = [&](float x) {
    for (float value :
         {x, std::nextafter(x, kInfinity), std::nextafter(x, -kInfinity)}) {
      check(value);
      check(-value);
    }
  };
  for (size_t i = 0; i < table.size(); ++i) {
    around(float(table[i]));
    if (i + 1 < table.size())
      around(float((table[i] + table[i + 1]) / 2));
  }
}

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

float floatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

TEST(E4M3, EveryCode) {
  for (int code = 0; code < 256; ++code) {
    float value = dsf_e4m3_decode(uint8_t(code));
    if ((code & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(double(value), e4m3Value(code)) << code;
      EXPECT_EQ(std::signbit(value), code >= 128) << code;
      EXPECT_EQ(dsf_e4m3_encode(value), code);
    }
  }
}

TEST(E4M3, EveryMidpoint) {
  std::vector<double> table = e4m3Magnitudes();
  forMidpoints(table, [&](float x) {
    int expected = nearest(table, x) | (std::signbit(x) ? 0x80 : 0);
    EXPECT_EQ(dsf_e4m3_encode(x), expected) << x;
  });
}

TEST(E4M3, EveryBF16Value) {
  std::vector<double> table = e4m3Magnitudes();
  for (uint32_t code = 0; code < 0x10000; ++code) {
    float x = floatOf(code << 16);
    int expected = std::isnan(x)   ? 0x7f
                   : std::isinf(x) ? 0x7e
                                   : nearest(table, x);
    EXPECT_EQ(dsf_e4m3_encode(x), expected | (code >> 8 & 0x80)) << x;
  }
}

// Through f16 this value would first become 1.0625, a tie, and then 1.
TEST(E4M3, RoundsOnce) {
  EXPECT_EQ(dsf_e4m3_decode(dsf_e4m3_encode(1.0625001f)), 1.125f);
  EXPECT_EQ(dsf_e4m3_decode(dsf_e4m3_encode(1.0625f)), 1.0f);
}

TEST(E4M3, Saturates) {
  for (float x : {449.0f, 464.0f, 465.0f, 1e30f, kInfinity}) {
    EXPECT_EQ(dsf_e4m3_decode(dsf_e4m3_encode(x)), 448.0f) << x;
    EXPECT_EQ(dsf_e4m3_decode(dsf_e4m3_encode(-x)), -448.0f) << x;
  }
  EXPECT_EQ(dsf_e4m3_encode(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(dsf_e4m3_encode(-1e-30f), 0x80);
}

TEST(E8M0, EveryCode) {
  for (int code = 0; code < 255; ++code) {
    float value = dsf_e8m0_decode(uint8_t(code));
    EXPECT_EQ(double(value), std::ldexp(1.0, code - 127)) << code;
    EXPECT_EQ(dsf_e8m0_encode(value), code);
  }
  EXPECT_TRUE(std::isnan(dsf_e8m0_decode(255)));
  EXPECT_EQ(dsf_e8m0_encode(kNaN), 255);
  EXPECT_EQ(dsf_e8m0_encode(kInfinity), 255);
}

TEST(E8M0, NoPowerOfTwoGoesUp) {
  EXPECT_EQ(dsf_e8m0_decode(dsf_e8m0_encode(1.5f)), 2.0f);
  EXPECT_EQ(dsf_e8m0_decode(dsf_e8m0_encode(0.75f)), 1.0f);
  for (int code = 0; code < 254; ++code) {
    float value = dsf_e8m0_decode(uint8_t(code));
    EXPECT_EQ(dsf_e8m0_encode(std::nextafter(value, kInfinity)), code + 1);
    if (code > 0) {
      EXPECT_EQ(dsf_e8m0_encode(std::nextafter(value, 0.0f)), code);
    }
  }
  EXPECT_EQ(dsf_e8m0_encode(std::numeric_limits<float>::max()), 254);
  EXPECT_EQ(dsf_e8m0_encode(0.0f), 0);
  EXPECT_EQ(dsf_e8m0_encode(-4.0f), 0);
}

TEST(E2M1, EveryCode) {
  for (int code = 0; code < 16; ++code) {
    float value = dsf_e2m1_decode(uint8_t(code));
    EXPECT_EQ(std::fabs(value), kE2M1Magnitudes[code & 7]);
    EXPECT_EQ(std::signbit(value), code >= 8);
    EXPECT_EQ(dsf_e2m1_encode(value), code);
  }
}

TEST(E2M1, EveryMidpoint) {
  forMidpoints(kE2M1Magnitudes, [](float x) {
    int expected = nearest(kE2M1Magnitudes, x) | (std::signbit(x) ? 8 : 0);
    EXPECT_EQ(dsf_e2m1_encode(x), expected) << x;
  });
}

// As listed in SPEC section 2.
TEST(E2M1, NamedTies) {
  const float ties[][2] = {{.25f, 0}, {.75f, 1}, {1.25f, 1}, {1.75f, 2},
                           {2.5f, 2}, {3.5f, 4}, {5, 4}};
  for (auto [x, value] : ties)
    EXPECT_EQ(dsf_e2m1_decode(dsf_e2m1_encode(x)), value);
  EXPECT_EQ(dsf_e2m1_decode(dsf_e2m1_encode(1e9f)), 6.0f);
  EXPECT_EQ(dsf_e2m1_encode(-0.0f), 8);
}

TEST(E2M1, EveryBF16Value) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    float x = floatOf(code << 16);
    int expected = std::isnan(x)   ? 0
                   : std::isinf(x) ? 7
                                   : nearest(kE2M1Magnitudes, x);
    EXPECT_EQ(dsf_e2m1_encode(x), expected | (code >> 12 & 8)) << x;
  }
}

TEST(BF16, EveryValueAndMidpoint) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    float value = floatOf(code << 16);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(dsf_bf16_round(value)));
      continue;
    }
    EXPECT_EQ(bitsOf(dsf_bf16_round(value)), code << 16);
    if (std::isinf(value))
      continue;
    uint32_t middle = code << 16 | 0x8000, even = (code + (code & 1)) << 16;
    EXPECT_EQ(bitsOf(dsf_bf16_round(floatOf(middle))), even);
    EXPECT_EQ(bitsOf(dsf_bf16_round(floatOf(middle - 1))), code << 16);
    EXPECT_EQ(bitsOf(dsf_bf16_round(floatOf(middle + 1))), (code + 1) << 16);
  }
}

// A NaN whose mantissa lives in the lower half must not become an infinity.
TEST(BF16, NaNStaysNaN) {
  EXPECT_TRUE(std::isnan(dsf_bf16_round(floatOf(0x7f800001))));
  EXPECT_TRUE(std::isnan(dsf_bf16_round(floatOf(0xffffffff))));
}

/// 2^ceil(log2(x)), x > 0.
double ceilPowerOfTwo(double x) {
  int exponent;
  return std::ldexp(1.0,
                    std::frexp(x, &exponent) == 0.5 ? exponent - 1 : exponent);
}

std::array<float, 32> ramp(float scale) {
  std::array<float, 32> x;
  for (int i = 0; i < 32; ++i)
    x[i] = scale * float((i * 37 % 32) - 15);
  return x;
}

TEST(Blocks, ZerosStayZeros) {
  std::array<float, 32> zeros{};
  std::array<uint8_t, 32> codes;
  codes.fill(0xff);
  EXPECT_EQ(dsf_fp8_quantize(zeros.data(), codes.data()),
            dsf_e8m0_encode(float(1e-4 / 448)));
  for (uint8_t code : codes)
    EXPECT_EQ(code, 0);
  EXPECT_EQ(dsf_e4m3_decode(dsf_fp4_kv_quantize(zeros.data(), codes.data())),
            1.0f / 512);
  EXPECT_EQ(codes[0], 0);
  EXPECT_EQ(dsf_e8m0_decode(dsf_fp4_key_quantize(zeros.data(), codes.data())),
            std::ldexp(1.0f, -126));
  EXPECT_EQ(codes[0], 0);
}

TEST(Blocks, FP8Activations) {
  std::vector<double> table = e4m3Magnitudes();
  for (float size : {1e-7f, 0.013f, 1.0f, 28.0f, 448.0f, 1e6f}) {
    std::array<float, 32> x = ramp(size);
    std::array<uint8_t, 32> codes;
    float scale = dsf_e8m0_decode(dsf_fp8_quantize(x.data(), codes.data()));
    float product = std::max(16 * size, 1e-4f) * float(1.0 / 448);
    EXPECT_EQ(scale, ceilPowerOfTwo(product));
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(codes[i], nearest(table, x[i] / scale) | (x[i] < 0 ? 0x80 : 0));
  }
  // 448 * fp32(1/448) is exactly 1: the scale must not go up to 2.
  float exact[32] = {448.0f};
  EXPECT_EQ(dsf_e8m0_decode(dsf_fp8_scale(exact, 32)), 1.0f);
}

TEST(Blocks, FP4GlobalKV) {
  std::vector<double> table = e4m3Magnitudes();
  for (float size : {1e-5f, 0.11f, 1.0f, 7.3f}) {
    std::array<float, 32> x = ramp(size);
    std::array<uint8_t, 8> packed;
    float scale = dsf_e4m3_decode(dsf_fp4_kv_quantize(x.data(), packed.data()));
    float amax = 6.0f / 512;
    for (int i = 0; i < 16; ++i)
      amax = std::max(amax, std::fabs(x[i]));
    EXPECT_EQ(scale, table[nearest(table, amax / 6.0f)]);
    for (int i = 0; i < 16; ++i) {
      int code = packed[i / 2] >> (i % 2 * 4) & 15;
      EXPECT_EQ(code, nearest(kE2M1Magnitudes, x[i] / scale) |
                          (std::signbit(x[i]) ? 8 : 0));
    }
  }
}

TEST(Blocks, FP4IndexKeys) {
  for (float size : {1e-30f, 0.11f, 1.0f, 6.0f, 7e8f}) {
    std::array<float, 32> x = ramp(size);
    std::array<uint8_t, 16> packed;
    float scale =
        dsf_e8m0_decode(dsf_fp4_key_quantize(x.data(), packed.data()));
    EXPECT_EQ(scale, ceilPowerOfTwo(16 * size * float(1.0 / 6)));
    for (int i = 0; i < 32; ++i) {
      int code = packed[i / 2] >> (i % 2 * 4) & 15;
      EXPECT_EQ(code, nearest(kE2M1Magnitudes, x[i] / scale) |
                          (std::signbit(x[i]) ? 8 : 0));
    }
  }
  float exact[32] = {-6.0f};
  EXPECT_EQ(dsf_e8m0_decode(dsf_fp4_key_scale(exact, 32)), 1.0f);
}

} // namespace
