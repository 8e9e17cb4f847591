//===- Attention.h - What backbone and draft attention share ----*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ATTENTION_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ATTENTION_H

#include "Lowering.h"
#include "RowAccess.h"

namespace mlir::dsflash {

/// The size of an attention and how its work is cut.
struct AttentionShape {
  AttentionShape(int64_t heads, int64_t dim, bool roundProbabilities);

  int64_t heads;
  int64_t dim;
  bool roundProbabilities;
  int64_t itemHeads; // heads of one item; they share the decoded keys
  int64_t tileKeys;  // keys decoded at a time, a power of two

  int64_t getItemsPerRow() const { return heads / itemHeads; }
};

/// One softmax over K = V rows with a sink (SPEC section 3, attention). The
/// keys are walked twice, first for the maximum, so that no buffer depends on
/// their number; probabilities are relative to the maximum over all keys, and
/// sums run over the keys in order.
class AttentionEmitter {
public:
  AttentionEmitter(KernelBuilder &b, const AttentionShape &shape);

  /// Emits what brings key t to a slot of the tile, by one of the calls below.
  using Fetch = function_ref<void(Value t, Value slot)>;
  /// Some heads of a row, from `firstHead`, over `count` keys.
  void emit(Value row, Value firstHead, Value query, Value sink, Value count,
            Fetch fetch, Value out);

  void take(const PackedRows &rows, Value row, Value slot);
  void take(Value matrix, Value row, Value slot);
  /// There is no such key.
  void hide(Value slot);

private:
  void forTiles(Value count, Fetch fetch, function_ref<void()> body);
  void scoreTile();
  void addTile();
  void finish(Value sink);
  Value getFeature(Value head, Value feature);

  KernelBuilder &b;
  AttentionShape shape;
  Value tile, mask, scores, tops, denominators;
  Value row, firstHead, query, out; // of the current item
};

/// The ring row of a position.
Value getRingRow(KernelBuilder &b, WindowType window, Value layer,
                 Value position);

/// The positions that the ring slots of a sequence hold, plus one, where the
/// window keeps them.
Value getRingPositions(KernelBuilder &b, Value window, Value sequence);

/// Writes the rows of a call to their ring slots, of each sequence the last
/// ones that the ring holds.
void lowerRingWrite(Lowering &l, Value kv, TypedValue<WindowType> window,
                    Value layer, Value sequence, Value position, Value extents);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ATTENTION_H
