/*===- QuantFormats.h - Number formats, one value at a time ---------------===*\
 *
 * The scalar meaning of bf16, E4M3, E8M0 and E2M1 and of the block quantizers
 * built on them (SPEC section 2). Generated code must agree bit for bit. Plain
 * C, independent of the rounding mode: all rounding is done on integers.
 *
\*===----------------------------------------------------------------------===*/

#ifndef DSFLASH_ABI_QUANTFORMATS_H
#define DSFLASH_ABI_QUANTFORMATS_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements that share one scale. */
enum { DSF_FP8_GROUP = 32, DSF_FP4_KV_GROUP = 16, DSF_FP4_KEY_GROUP = 32 };

static inline uint32_t dsf_f32_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float dsf_f32_from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* value / 2^shift, to nearest, ties to even. 1 <= shift. */
static inline uint32_t dsf_shift_right_rne(uint32_t value, uint32_t shift) {
  if (shift > 31)
    return 0;
  uint32_t quotient = value >> shift;
  uint32_t rest = value - (quotient << shift);
  uint32_t half = (uint32_t)1 << (shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1)));
}

/* The nearest bf16, ties to even, as its upper 16 bits. NaN stays a NaN. */
static inline uint16_t dsf_bf16_encode(float x) {
  uint32_t bits = dsf_f32_bits(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)dsf_shift_right_rne(bits, 16);
}

static inline float dsf_bf16_decode(uint16_t code) {
  return dsf_f32_from_bits((uint32_t)code << 16);
}

/* r(x) of SPEC section 2. */
static inline float dsf_bf16_round(float x) {
  return dsf_bf16_decode(dsf_bf16_encode(x));
}

/* E4M3FN: bias 7, largest value 448, no infinity, 0x7f and 0xff are NaN. */
static inline float dsf_e4m3_decode(uint8_t code) {
  uint32_t sign = (uint32_t)(code & 0x80) << 24;
  uint32_t exponent = code >> 3 & 15, mantissa = code & 7;
  if ((code & 0x7f) == 0x7f)
    return dsf_f32_from_bits(sign | 0x7fc00000u);
  if (exponent == 0) {
    float magnitude = (float)mantissa * (1.0f / 512.0f);
    return sign ? -magnitude : magnitude;
  }
  return dsf_f32_from_bits(sign | (exponent + 120) << 23 | mantissa << 20);
}

/* The nearest E4M3, ties to even, rounded once, straight from f32. Everything
 * beyond +-448, infinity too, becomes +-448. */
static inline uint8_t dsf_e4m3_encode(float x) {
  uint32_t bits = dsf_f32_bits(x), magnitude = bits & 0x7fffffffu;
  uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
  if (magnitude > 0x7f800000u)
    return (uint8_t)(sign | 0x7f);
  if (magnitude >= 0x43e00000u) /* 448 */
    return (uint8_t)(sign | 0x7e);
  if (magnitude >= 0x3c800000u) /* 2^-6, the smallest normal value */
    return (uint8_t)(sign | (dsf_shift_right_rne(magnitude, 20) - (120 << 3)));
  uint32_t exponent = magnitude >> 23;
  uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  return (uint8_t)(sign | dsf_shift_right_rne(significand, 141 - exponent));
}

/* 2^(code - 127); 255 is NaN. */
static inline float dsf_e8m0_decode(uint8_t code) {
  if (code == 255)
    return dsf_f32_from_bits(0x7fc00000u);
  return dsf_f32_from_bits(code == 0 ? 0x00400000u : (uint32_t)code << 23);
}

/* The smallest power of two that is not below x, within 2^-127 .. 2^127: a
 * scale that is no power of two goes up, so that what it scales still fits.
 * Negative x and 0 give 2^-127, infinity and NaN give NaN. */
static inline uint8_t dsf_e8m0_encode(float x) {
  uint32_t bits = dsf_f32_bits(x);
  if ((bits & 0x7fffffffu) >= 0x7f800000u)
    return 255;
  if (bits >> 31)
    return 0;
  uint32_t exponent = bits >> 23, mantissa = bits & 0x7fffffu;
  if (exponent == 0)
    return mantissa > 0x400000u; /* above 2^-127 */
  exponent += mantissa != 0;
  return (uint8_t)(exponent > 254 ? 254 : exponent);
}

/* E2M1: magnitudes 0, .5, 1, 1.5, 2, 3, 4, 6, bit 3 is the sign. */
static inline float dsf_e2m1_decode(uint8_t code) {
  static const float magnitudes[8] = {0.0f, 0.5f, 1.0f, 1.5f,
                                      2.0f, 3.0f, 4.0f, 6.0f};
  float magnitude = magnitudes[code & 7];
  return code & 8 ? -magnitude : magnitude;
}

/* The nearest E2M1, ties to the even code, saturating at +-6. -0 keeps its
 * sign; NaN gives 0 of its sign. */
static inline uint8_t dsf_e2m1_encode(float x) {
  uint32_t bits = dsf_f32_bits(x);
  float magnitude = dsf_f32_from_bits(bits & 0x7fffffffu);
  uint8_t code =
      (uint8_t)((magnitude > 0.25f) + (magnitude >= 0.75f) +
                (magnitude > 1.25f) + (magnitude >= 1.75f) +
                (magnitude > 2.5f) + (magnitude >= 3.5f) + (magnitude > 5.0f));
  return (uint8_t)(code | (bits >> 28 & 8));
}

static inline float dsf_clamp(float x, float limit) {
  return x < -limit ? -limit : x > limit ? limit : x;
}

/* max(floor, |x_0|, .., |x_count-1|) */
static inline float dsf_absmax(const float *x, int64_t count, float floor) {
  float best = floor;
  for (int64_t i = 0; i < count; ++i) {
    float magnitude = dsf_f32_from_bits(dsf_f32_bits(x[i]) & 0x7fffffffu);
    best = magnitude > best ? magnitude : best;
  }
  return best;
}

/* FP8 activations: the E8M0 scale of a group, 2^ceil(log2(amax / 448)). */
static inline uint8_t dsf_fp8_scale(const float *x, int64_t count) {
  return dsf_e8m0_encode(dsf_absmax(x, count, 1e-4f) * (float)(1.0 / 448.0));
}

/* FP4 global KV: the E4M3 scale of a group, amax / 6 by true division. */
static inline uint8_t dsf_fp4_kv_scale(const float *x, int64_t count) {
  return dsf_e4m3_encode(dsf_absmax(x, count, 6.0f / 512.0f) / 6.0f);
}

/* FP4 index queries and keys: the E8M0 scale of a group,
 * 2^ceil(log2(amax / 6)). */
static inline uint8_t dsf_fp4_key_scale(const float *x, int64_t count) {
  return dsf_e8m0_encode(dsf_absmax(x, count, 0x1.8p-124f) *
                         (float)(1.0 / 6.0));
}

/* One group of FP8 activations: `codes` takes DSF_FP8_GROUP E4M3 bytes.
 * Returns the E8M0 scale. */
static inline uint8_t dsf_fp8_quantize(const float *x, uint8_t *codes) {
  uint8_t scale = dsf_fp8_scale(x, DSF_FP8_GROUP);
  for (int i = 0; i < DSF_FP8_GROUP; ++i)
    codes[i] = dsf_e4m3_encode(dsf_clamp(x[i] / dsf_e8m0_decode(scale), 448));
  return scale;
}

/* Two E2M1 codes a byte, the even element in the low nibble. `count` is even.
 */
static inline void dsf_e2m1_pack(const float *x, int64_t count, float scale,
                                 uint8_t *packed) {
  for (int64_t i = 0; i < count; i += 2)
    packed[i / 2] =
        (uint8_t)(dsf_e2m1_encode(dsf_clamp(x[i] / scale, 6)) |
                  dsf_e2m1_encode(dsf_clamp(x[i + 1] / scale, 6)) << 4);
}

/* One group of the FP4 global KV: `packed` takes DSF_FP4_KV_GROUP / 2 bytes.
 * Returns the E4M3 scale. */
static inline uint8_t dsf_fp4_kv_quantize(const float *x, uint8_t *packed) {
  uint8_t scale = dsf_fp4_kv_scale(x, DSF_FP4_KV_GROUP);
  dsf_e2m1_pack(x, DSF_FP4_KV_GROUP, dsf_e4m3_decode(scale), packed);
  return scale;
}

/* One group of FP4 index keys: `packed` takes DSF_FP4_KEY_GROUP / 2 bytes.
 * Returns the E8M0 scale. */
static inline uint8_t dsf_fp4_key_quantize(const float *x, uint8_t *packed) {
  uint8_t scale = dsf_fp4_key_scale(x, DSF_FP4_KEY_GROUP);
  dsf_e2m1_pack(x, DSF_FP4_KEY_GROUP, dsf_e8m0_decode(scale), packed);
  return scale;
}

#ifdef __cplusplus
}
#endif

#endif /* DSFLASH_ABI_QUANTFORMATS_H */
