//===- Engram.cpp - Hash constants of the Engram tables -------------------===//

#include "dsflash/Model/Engram.h"
#include "NumpyRandom.h"

#include <algorithm>
#include <iterator>

using namespace dsflash;

/// base^exponent mod n, for n below 2^32.
static uint64_t powerModulo(uint64_t base, uint64_t exponent, uint64_t n) {
  uint64_t result = 1;
  for (base %= n; exponent; exponent >>= 1, base = base * base % n)
    if (exponent & 1)
      result = result * base % n;
  return result;
}

/// Miller's test; these bases leave no doubt below 3,215,031,751, which is more
/// than the search for primes ever reaches.
static bool isPrime(uint64_t n) {
  constexpr uint64_t kBases[] = {2, 3, 5, 7};
  for (uint64_t base : kBases)
    if (n % base == 0)
      return n == base;
  if (n < 2)
    return false;
  int twos = __builtin_ctzll(n - 1);
  return std::all_of(std::begin(kBases), std::end(kBases), [&](uint64_t base) {
    uint64_t power = powerModulo(base, (n - 1) >> twos, n);
    if (power == 1)
      return true;
    for (int i = 1; i < twos && power != n - 1; ++i)
      power = power * power % n;
    return power == n - 1;
  });
}

static std::vector<int64_t> drawMultipliers(const ModelConfig &config,
                                            int64_t layer) {
  // A multiplier times a compressed id stays below 2^63.
  int64_t bound = INT64_MAX / config.engram_compressed_vocab_size / 2;
  NumpyRandom random(10007 * layer);
  std::vector<int64_t> multipliers(config.engram_max_ngram_size);
  for (int64_t &multiplier : multipliers)
    multiplier = 2 * random.below(bound) + 1;
  return multipliers;
}

std::vector<EngramHash> dsflash::engramHashes(const ModelConfig &config) {
  std::vector<EngramHash> hashes;
  // No prime serves twice, so that the search never has to start again.
  int64_t candidate = config.engram_vocab_size - 1;
  for (int64_t layer : config.engram_layer_ids) {
    EngramHash hash;
    hash.multipliers = drawMultipliers(config, layer);
    hash.headsPerNgram = config.engram_n_heads;
    int64_t rows = 0;
    for (int64_t ngram = 2; ngram <= config.engram_max_ngram_size; ++ngram) {
      for (int64_t head = 0; head < config.engram_n_heads; ++head) {
        do
          ++candidate;
        while (!isPrime(uint64_t(candidate)));
        hash.primes.push_back(candidate);
        hash.offsets.push_back(rows);
        rows += candidate;
      }
    }
    hashes.push_back(std::move(hash));
  }
  return hashes;
}

void EngramHash::rows(const int64_t *look, int64_t *out) const {
  int64_t value = look[0] * multipliers[0];
  for (size_t column = 0; column < primes.size(); ++column) {
    if (column % headsPerNgram == 0) {
      size_t ngram = column / headsPerNgram + 1;
      value ^= look[ngram] * multipliers[ngram];
    }
    out[column] = value % primes[column] + offsets[column];
  }
}
