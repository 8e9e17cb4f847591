//===- Engram.h - Hash constants of the Engram tables -----------*- C++ -*-===//
//
// Primes, multipliers and the row hash of SPEC section 3, Engram. They follow
// from the config alone, so a checkpoint need not hold them.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_MODEL_ENGRAM_H
#define DSFLASH_MODEL_ENGRAM_H

#include "dsflash/Model/ModelConfig.h"

#include <cstdint>
#include <vector>

namespace dsflash {

/// Hash of one Engram layer.
struct EngramHash {
  /// Odd, one per n-gram length: [engram_max_ngram_size].
  std::vector<int64_t> multipliers;
  /// Rows of each column's part of the table, n-gram by n-gram, head by head:
  /// [engramColumns()].
  std::vector<int64_t> primes;
  /// First row of each part: the running sum of `primes`.
  std::vector<int64_t> offsets;
  int64_t headsPerNgram = 0;

  /// Rows of the whole table.
  int64_t tableRows() const {
    return primes.empty() ? 0 : offsets.back() + primes.back();
  }
  /// Row ids [engramColumns()] of the n-grams that end at a position, from
  /// compressed ids `look` [engram_max_ngram_size]: the position's own, the
  /// one before it, and so on, with the compressed pad id where there is none.
  void rows(const int64_t *look, int64_t *out) const;
};

/// The hashes of all Engram layers, in the order of engram_layer_ids. Uses
/// only the engram_* fields, which must be in their ranges.
std::vector<EngramHash> engramHashes(const ModelConfig &config);

} // namespace dsflash

#endif // DSFLASH_MODEL_ENGRAM_H
