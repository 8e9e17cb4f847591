//===- KeyLoader.h - Keys of an attention on their way to a tile -*- C++
//-*-===//

#ifndef DSFLASH_LIB_KERNELS_KEYLOADER_H
#define DSFLASH_LIB_KERNELS_KEYLOADER_H

#include "AttentionTile.h"
#include "dsflash/Kernels/BlockAttention.h"

namespace mlir::dsflash {

/// Brings features of keys to the right of a tile, `width` features of some
/// keys a step: first as they are stored, then as values.
class KeyLoader {
public:
  static constexpr int64_t width = 64;

  struct Shape {
    FormatAttr ring, global; // global is null where there is none
    int64_t dim;
    int64_t stages;   // steps under way
    int64_t count;    // keys of a step
    int64_t total;    // keys that are found at once
    int64_t features; // of them
    bool isSliced;    // their scales come from a buffer of slices

    /// Scales of a key's features; a whole word of a slice.
    int64_t getScales() const;
    int64_t getBytes() const;
  };

  /// Whether copies and scales lie within rows of this format.
  static bool isPossible(FormatAttr format, int64_t dim);

  /// Shared memory is taken from byte `offset` on, a multiple of kCopyBytes.
  KeyLoader(KernelBuilder &b, const AttentionKeys &keys, const Shape &shape,
            int64_t offset);

  /// The columns of the selection between which its rows lie: the first and
  /// how many.
  std::pair<Value, Value> findSelected();
  /// Finds the keys from number `begin` on, of `end`, and their scales, from
  /// the one of `firstFeature` on. Other threads see them behind a barrier.
  /// `slices`: [rows, slices * pitch], null unless scales come from there.
  void find(Value begin, Value end, Value firstColumn, Value firstFeature,
            Value slices = {}, Value pitch = {});
  /// Puts the scales of the keys that were found, number `begin` and on, into a
  /// buffer: of every `width` features of a key a word, those of a slice in the
  /// order of keys. All features' scales are here.
  void storeSlices(Value slices, Value begin, Value pitch);
  static int64_t getSlices(int64_t dim);
  /// Whether the key in slot `slot` of those found is one.
  Value isThere(Value slot);
  /// Starts the copies of a step, whose first key has slot `firstSlot`.
  void start(Value stage, Value firstSlot, Value feature);
  /// Puts what was copied into the tile, zeros where there is nothing.
  void finish(AttentionTile &tile, Value stage, Value firstSlot, Value feature);

private:
  /// Where a key is; with the row there a place.
  enum Kind : int64_t { Nowhere, Call, Ring, Global };
  struct Source {
    Kind kind;
    FormatAttr format; // null for f32
    Value payload, scales;
    Value copied; // [stages, keys of a step, elements]
  };
  /// Some features of a key: their numbers in the step, and where the key is.
  struct Unit {
    Value key, at, slot, feature, kind, row;
  };

  Value getPlace(Value row, Kind kind);
  Value findInWindow(Value t);
  Value findInSelection(Value column);
  void findScales(Value count);
  void loadSlice(Value count, Value slices, Value pitch);
  void forUnits(int64_t size, Value firstSlot, Value firstFeature,
                function_ref<void(const Unit &)> body);
  void whenFrom(Value kind, const Source &source, function_ref<void()> body);
  Value decode(const Unit &unit, const Source &source, Value stage);

  KernelBuilder &b;
  AttentionKeys keys;
  Shape shape;
  SmallVector<Source> sources;
  Value firstFound; // the feature of the first scales
  Value places, limits, scales, floats;
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_KEYLOADER_H
