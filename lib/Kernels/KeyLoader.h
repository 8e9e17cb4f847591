//===- KeyLoader.h - Keys of an attention on their way to a tile -*- C++
//-*-===//

#ifndef DSFLASH_LIB_KERNELS_KEYLOADER_H
#define DSFLASH_LIB_KERNELS_KEYLOADER_H

#include "AttentionTile.h"
#include "dsflash/Kernels/BlockAttention.h"

namespace mlir::dsflash {

/// Some keys of a row, whose features a block brings to its tile.
class KeyLoader {
public:
  /// Features that are brought at a time.
  static constexpr int64_t width = AttentionTile::depth;

  /// `count`: keys at a time. Shared memory is taken from byte `offset` on.
  KeyLoader(KernelBuilder &b, const AttentionKeys &keys, FormatAttr ring,
            FormatAttr global, int64_t dim, int64_t count, int64_t offset);

  static int64_t getSharedBytes(int64_t count);

  /// The columns of the selection between which its rows lie: the first and
  /// how many.
  std::pair<Value, Value> findSelected();
  /// Finds the keys from number `begin` on, of `end`; threads see them behind
  /// a barrier.
  void find(Value begin, Value end, Value firstColumn);
  Value isThere(Value slot);
  /// Puts `width` features of them into the tile, zeros where there are none.
  void load(AttentionTile &tile, Value firstFeature);

private:
  /// Where a key is; with the row there a place.
  enum Source : int64_t { Nowhere, Call, Ring, Global };

  Value getPlace(Value row, Source source);
  Value findInWindow(Value t);
  Value findInSelection(Value column);
  using UnitBody = function_ref<void(Value slot, Value at, Value feature,
                                     Value source, Value row)>;
  void forUnits(int64_t unit, Value firstFeature, UnitBody body);

  KernelBuilder &b;
  AttentionKeys keys;
  FormatAttr ring, global;
  int64_t dim, count;
  Value places, limits;
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_KEYLOADER_H
