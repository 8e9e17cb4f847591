//===- AttentionOperands.h - What attentions have in common -----*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ATTENTIONOPERANDS_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ATTENTIONOPERANDS_H

#include "Lowering.h"
#include "RowAccess.h"
#include "dsflash/Kernels/AttentionKeys.h"

namespace mlir::dsflash {

/// The positions that a row sees in the window: the first and how many.
struct SeenPositions {
  Value first, count;
};

/// CSA2 or draft attention.
struct AttentionOperands {
  explicit AttentionOperands(CSA2Op op);
  explicit AttentionOperands(DraftAttentionOp op);

  /// Keys of one row at most; none where nothing bounds them.
  std::optional<int64_t> getMostKeys() const;
  FormatAttr getRingFormat() const;
  /// Null where there are no global rows.
  FormatAttr getGlobalFormat() const;
  int64_t getDim() const;
  /// What a kernel takes first that reads keys.
  SmallVector<Value> getKeyOperands() const;
  /// The keys of row `row` from these operands.
  AttentionKeys getKeys(KernelBuilder &b, Value row, ValueRange ins) const;

  StringRef name;
  Value query, kv, window, layer, sink, sequence, position, extents;
  Value globalKV, selection; // null where there are none
  Type result;
  int64_t heads;
  bool roundProbabilities;

private:
  template <typename OpTy> AttentionOperands(OpTy op, StringRef name);
  SeenPositions getSeen(KernelBuilder &b, const CallRow &row) const;

  int64_t slidingWindow;
  bool withinCall = false;
  bool isDraft = false; // a row sees its whole block
  std::optional<int64_t> blockRows;
};

/// Launches an attention by blocks of threads and gives its result; null where
/// the device or the sizes do not allow that.
Value lowerByBlocks(Lowering &l, const AttentionOperands &op);
/// The same by one thread an item.
Value lowerByThreads(Lowering &l, const AttentionOperands &op);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ATTENTIONOPERANDS_H
