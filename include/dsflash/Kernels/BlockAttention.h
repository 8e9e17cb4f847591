//===- BlockAttention.h - Attention by blocks of threads --------*- C++ -*-===//
//
// One softmax over K = V rows (SPEC section 3, attention) in three kernels: the
// scores of a few keys, the probabilities of a head, the values of a few
// features. A block has the heads of a row, so that a key is decoded once for
// all of them. Sums depend on a key's number alone: neither the rows of a call
// nor the blocks of a launch change a bit.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_KERNELS_BLOCKATTENTION_H
#define DSFLASH_KERNELS_BLOCKATTENTION_H

#include "dsflash/Kernels/AttentionKeys.h"

namespace mlir::dsflash {

/// The scores [n, heads * pitch] of all keys, their bounds [n, 2] (the first
/// selected column, the number of keys), from them probabilities like the
/// scores, with a denominator for each head, and from these the result. The
/// scores' blocks also hand on the scales of packed keys, so that a block of
/// values finds those of its features side by side.
class BlockAttention {
public:
  /// Of a block: heads, the keys that it scores, the features whose values it
  /// adds. Behind the scores keys come so many at a time.
  static constexpr int64_t tileHeads = 64, tileKeys = 32, tileFeatures = 64,
                           keyStep = 64;

  /// `mostKeys`: of one row. `global` is null where there is none.
  /// `hasBF16Rows`: queries and the call's window rows are exact in bf16.
  BlockAttention(ConfigAttr config, int64_t heads, int64_t dim,
                 int64_t mostKeys, FormatAttr ring, FormatAttr global,
                 bool roundProbabilities, bool hasBF16Rows);

  /// Whether copies are whole and a block fits the device.
  bool isPossible() const;

  int64_t getPitch() const { return pitch; }
  /// Of a row.
  int64_t getScoreItems() const;
  int64_t getValueItems() const;
  BlockAttr getScoreBlock() const;
  BlockAttr getSoftmaxBlock() const;
  BlockAttr getValueBlock() const;
  /// bf16 on tensor cores, else f32.
  Type getProbabilityType() const;
  /// Whether keys have scales, and how many i32 of a row hold them.
  bool hasKeyScales() const;
  int64_t getKeyScales() const;

  /// Item `item` of the keys' row, of all that it has. `keyScales` is null
  /// where there are none.
  void emitScores(KernelBuilder &b, const AttentionKeys &keys, Value item,
                  Value query, Value scores, Value bounds,
                  Value keyScales) const;
  /// `sink`: the logit of the head (f32).
  void emitSoftmax(KernelBuilder &b, Value row, Value head, Value sink,
                   Value scores, Value bounds, Value probabilities,
                   Value denominators) const;
  void emitValues(KernelBuilder &b, const AttentionKeys &keys, Value item,
                  Value probabilities, Value denominators, Value bounds,
                  Value keyScales, Value result) const;

private:
  int64_t getHeadGroups() const;
  std::string getName(const std::string &part) const;
  struct Layout; // of a block's shared memory
  Layout getScoreLayout(int64_t stages) const;
  Layout getScoreLayout() const;
  Layout getValueLayout(int64_t stages) const;
  Layout getValueLayout() const;

  ConfigAttr config;
  int64_t heads, dim, pitch;
  FormatAttr ring, global;
  bool roundProbabilities, onTensorCores;
};

} // namespace mlir::dsflash

#endif // DSFLASH_KERNELS_BLOCKATTENTION_H
