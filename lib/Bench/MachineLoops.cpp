//===- MachineLoops.cpp - Loops that use one unit to the full -------------===//
//
// One loop for each instruction set, chosen when the program runs. Twelve
// independent sums hide the latency of every multiply unit in use.
//
//===----------------------------------------------------------------------===//

#include "MachineLoops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace dsflash;

namespace {

constexpr int kSums = 12;
constexpr int kRounds = 50000;

/// Defines NAME(): STEP makes the next `x` of each of the sums, which begin as
/// START(i). A macro, because vectors of an instruction set may pass only
/// between functions that all have it as their target.
#define DSFLASH_MULTIPLY_LOOP(NAME, TARGET, VECTOR, START, STEP)               \
  TARGET float NAME() {                                                        \
    VECTOR sums[kSums];                                                        \
    for (int i = 0; i < kSums; ++i)                                            \
      sums[i] = START(i);                                                      \
    for (int round = 0; round < kRounds; ++round)                              \
      for (VECTOR &x : sums)                                                   \
        x = STEP;                                                              \
    VECTOR total = sums[0];                                                    \
    for (int i = 1; i < kSums; ++i)                                            \
      total += sums[i];                                                        \
    return float(total[0]);                                                    \
  }

MultiplyLoop makeLoop(float (*run)(), int operationsPerStep) {
  return {run, double(operationsPerStep) * kSums * kRounds};
}

typedef float Float4 __attribute__((vector_size(16)));
Float4 broadcast(int value) { return Float4{} + float(value); }
DSFLASH_MULTIPLY_LOOP(fp32Baseline, , Float4, broadcast, x * 0.999f + 0.001f)

#if defined(__x86_64__)
#define DSFLASH_TARGET(features) __attribute__((target(features)))
#define DSFLASH_AVX2 DSFLASH_TARGET("avx2,fma")
#define DSFLASH_AVX_VNNI DSFLASH_TARGET("avx2,avxvnni")
#define DSFLASH_AVX512 DSFLASH_TARGET("avx512f")
#define DSFLASH_AVX512_BF16 DSFLASH_TARGET("avx512f,avx512bw,avx512bf16")
#define DSFLASH_AVX512_VNNI DSFLASH_TARGET("avx512f,avx512bw,avx512vnni")

DSFLASH_MULTIPLY_LOOP(fp32AVX2, DSFLASH_AVX2, __m256, _mm256_set1_ps,
                      _mm256_fmadd_ps(x, _mm256_set1_ps(0.999f),
                                      _mm256_set1_ps(0.001f)))
DSFLASH_MULTIPLY_LOOP(fp32AVX512, DSFLASH_AVX512, __m512, _mm512_set1_ps,
                      _mm512_fmadd_ps(x, _mm512_set1_ps(0.999f),
                                      _mm512_set1_ps(0.001f)))
DSFLASH_MULTIPLY_LOOP(bf16AVX512, DSFLASH_AVX512_BF16, __m512, _mm512_set1_ps,
                      _mm512_dpbf16_ps(x, (__m512bh)x,
                                       (__m512bh)_mm512_set1_epi16(0x3c00)))
DSFLASH_MULTIPLY_LOOP(
    int8AVX2, DSFLASH_AVX2, __m256i, _mm256_set1_epi32,
    _mm256_add_epi32(
        x, _mm256_madd_epi16(_mm256_maddubs_epi16(x, _mm256_set1_epi8(3)),
                             _mm256_set1_epi16(1))))
DSFLASH_MULTIPLY_LOOP(int8AVXVNNI, DSFLASH_AVX_VNNI, __m256i, _mm256_set1_epi32,
                      _mm256_dpbusd_avx_epi32(x, x, _mm256_set1_epi8(3)))
DSFLASH_MULTIPLY_LOOP(int8AVX512, DSFLASH_AVX512_VNNI, __m512i,
                      _mm512_set1_epi32,
                      _mm512_dpbusd_epi32(x, x, _mm512_set1_epi8(3)))
#endif

} // namespace

MultiplyLoop dsflash::fp32Loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return makeLoop(fp32AVX512, 16 * 2);
  if (__builtin_cpu_supports("fma"))
    return makeLoop(fp32AVX2, 8 * 2);
#endif
  return makeLoop(fp32Baseline, 4 * 2);
}

MultiplyLoop dsflash::bf16Loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16"))
    return makeLoop(bf16AVX512, 32 * 2);
#endif
  return {};
}

MultiplyLoop dsflash::int8Loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni"))
    return makeLoop(int8AVX512, 64 * 2);
  if (__builtin_cpu_supports("avxvnni"))
    return makeLoop(int8AVXVNNI, 32 * 2);
  if (__builtin_cpu_supports("avx2"))
    return makeLoop(int8AVX2, 32 * 2);
#endif
  return {};
}

uint64_t dsflash::readStreams(const void *data, size_t bytes) {
  typedef uint64_t Line __attribute__((vector_size(64)));
  constexpr int kStreams = 4;
  size_t lines = bytes / kStreams / sizeof(Line);
  const Line *first = static_cast<const Line *>(data);
  Line sums[kStreams] = {};
  for (size_t i = 0; i < lines; ++i)
    for (int stream = 0; stream < kStreams; ++stream)
      sums[stream] ^= first[size_t(stream) * lines + i];
  Line total = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  return total[0] ^ total[1] ^ total[2] ^ total[3] ^ total[4] ^ total[5] ^
         total[6] ^ total[7];
}
