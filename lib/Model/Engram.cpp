//===- Engram.cpp - Hash constants of the Engram tables -------------------===//

#include "dsflash/Model/Engram.h"
#include "NumpyRandom.h"

#include <algorithm>
#include <unordered_set>

using namespace dsflash;

static bool isPrime(int64_t n) {
  if (n < 2 || n % 2 == 0)
    return n == 2;
  for (int64_t divisor = 3; divisor * divisor <= n; divisor += 2)
    if (n % divisor == 0)
      return false;
  return true;
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
  std::unordered_set<int64_t> taken;
  for (int64_t layer : config.engram_layer_ids) {
    EngramHash hash;
    hash.multipliers = drawMultipliers(config, layer);
    hash.headsPerNgram = config.engram_n_heads;
    int64_t rows = 0;
    for (int64_t ngram = 2; ngram <= config.engram_max_ngram_size; ++ngram) {
      int64_t candidate = config.engram_vocab_size - 1;
      for (int64_t head = 0; head < config.engram_n_heads; ++head) {
        do
          ++candidate;
        while (taken.count(candidate) || !isPrime(candidate));
        taken.insert(candidate);
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
