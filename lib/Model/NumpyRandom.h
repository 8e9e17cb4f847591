//===- NumpyRandom.h - NumPy's default generator ----------------*- C++ -*-===//
//
// The Engram multipliers are defined as draws of numpy.random.default_rng:
// SeedSequence, PCG64 (XSL-RR 128/64) and Lemire's bounded integers.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_MODEL_NUMPYRANDOM_H
#define DSFLASH_LIB_MODEL_NUMPYRANDOM_H

#include <cstdint>

namespace dsflash {

class NumpyRandom {
public:
  /// default_rng(seed).
  explicit NumpyRandom(uint32_t seed);

  /// One of integers(0, bound, dtype=int64), for bounds above 2^32 (NumPy
  /// draws smaller ones from half a word).
  int64_t below(int64_t bound);

private:
  uint64_t next();

  unsigned __int128 state = 0;
  unsigned __int128 increment = 0;
};

} // namespace dsflash

#endif // DSFLASH_LIB_MODEL_NUMPYRANDOM_H
