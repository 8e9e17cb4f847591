//===- BlockScorer.h - Scores of index keys by a block ----------*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_BLOCKSCORER_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_BLOCKSCORER_H

#include "RowAccess.h"

namespace mlir::dsflash {

/// How an indexer's key and query heads lie in the shared memory of a block,
/// which has a tile of keys, one for each of its threads.
struct ScoreTile {
  /// Keys, and threads.
  static constexpr int64_t keys = 128;

  /// `entries`: bytes of what else the block keeps.
  ScoreTile(IndexKeysType type, int64_t heads, int64_t entryBytes);
  /// Whether every access of 16 bytes is aligned, a thread's sums fit its
  /// registers, and the block its shared memory.
  bool isPossible(ConfigAttr config) const;

  int64_t heads, dim;
  FormatAttr format;
  int64_t features;     // of a key that are decoded at a time
  int64_t unitFeatures; // of 16 bytes
  int64_t pitch;        // of a key's features in the tile
  int64_t warpHeads;    // that a warp multiplies
  // Offsets.
  int64_t rows, weights, query, tile, entries;
  int64_t sharedBytes;
};

/// Scores a key for each thread of a block. Sums have the order of KeyScorer's.
class BlockScorer {
public:
  BlockScorer(KernelBuilder &b, const ScoreTile &shape);

  /// Fetches the query and the head weights of a row.
  void start(Value row, Value queries, Value weights);
  /// The score of the key at this thread's position.
  Value score(const PackedRows &keys, Value position);

private:
  Value emitScore(Value position);
  void decode(Value chunk);
  SmallVector<Value> multiply(Value chunk, Value feature, ArrayRef<Value> sums);
  Value addHeads();

  KernelBuilder &b;
  ScoreTile shape;
  Value thread, warp, lane;
  Value rows, weights, query, tile, dots;
  Value payload, scales; // of the keys; scales null where there are none
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_BLOCKSCORER_H
