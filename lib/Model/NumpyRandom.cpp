//===- NumpyRandom.cpp - NumPy's default generator ------------------------===//

#include "NumpyRandom.h"

#include <array>
#include <cstddef>

using namespace dsflash;

using uint128 = unsigned __int128;

namespace {

/// SeedSequence of one 32-bit word.
class SeedSequence {
public:
  explicit SeedSequence(uint32_t entropy) {
    uint32_t hash = 0x43b0d7e5;
    auto hashed = [&hash](uint32_t value) {
      value ^= hash;
      hash *= 0x931e8875;
      value *= hash;
      return value ^ value >> 16;
    };
    for (size_t i = 0; i < pool.size(); ++i)
      pool[i] = hashed(i == 0 ? entropy : 0);
    for (size_t from = 0; from < pool.size(); ++from)
      for (size_t to = 0; to < pool.size(); ++to)
        if (from != to)
          pool[to] = mix(pool[to], hashed(pool[from]));
  }

  /// generate_state(4, uint64).
  std::array<uint64_t, 4> words() const {
    std::array<uint64_t, 4> state{};
    uint32_t hash = 0x8b51f9dd;
    for (size_t i = 0; i < 2 * state.size(); ++i) {
      uint32_t value = pool[i % pool.size()] ^ hash;
      hash *= 0x58f38ded;
      value *= hash;
      value ^= value >> 16;
      state[i / 2] |= uint64_t(value) << (32 * (i % 2));
    }
    return state;
  }

private:
  static uint32_t mix(uint32_t x, uint32_t y) {
    uint32_t result = 0xca01f9ddu * x - 0x4973f715u * y;
    return result ^ result >> 16;
  }

  std::array<uint32_t, 4> pool;
};

uint128 join(uint64_t high, uint64_t low) { return uint128(high) << 64 | low; }

} // namespace

NumpyRandom::NumpyRandom(uint32_t seed) {
  std::array<uint64_t, 4> words = SeedSequence(seed).words();
  increment = join(words[2], words[3]) << 1 | 1;
  next();
  state += join(words[0], words[1]);
  next();
}

uint64_t NumpyRandom::next() {
  state = state * join(0x2360ED051FC65DA4, 0x4385DF649FCCF645) + increment;
  uint64_t folded = uint64_t(state >> 64) ^ uint64_t(state);
  unsigned turn = unsigned(state >> 122);
  return folded >> turn | folded << (-turn & 63);
}

int64_t NumpyRandom::below(int64_t bound) {
  uint64_t range = bound;
  uint128 product = uint128(next()) * range;
  // Products whose low half is below this would favour some results.
  uint64_t threshold = -range % range;
  while (uint64_t(product) < threshold)
    product = uint128(next()) * range;
  return int64_t(product >> 64);
}
