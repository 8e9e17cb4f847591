//===- HeadLoader.h - Heads of an attention on their way to a tile -*- C++ -*-//

#ifndef DSFLASH_LIB_KERNELS_HEADLOADER_H
#define DSFLASH_LIB_KERNELS_HEADLOADER_H

#include "AttentionTile.h"

namespace mlir::dsflash {

/// The heads of a block: those of a row, as many as a tile has.
struct HeadGroup {
  HeadGroup(KernelBuilder &b, Value group, int64_t heads)
      : first(b.mul(group, AttentionTile::heads)),
        count(b.min(b.sub(b.index(heads), first),
                    b.index(AttentionTile::heads))) {}

  Value first, count;
};

/// Brings terms of heads to the left of a tile, `depth` of them a step, zeros
/// where there are none. What is stored in the tile's element type is copied
/// there, f32 for tensor cores to shared memory from byte `offset` on, and
/// rounded from there.
class HeadLoader {
public:
  /// `matrix`: [rows, heads * pitch].
  HeadLoader(KernelBuilder &b, AttentionTile &tile,
             const AttentionTile::Shape &shape, const HeadGroup &group,
             Value matrix, Value row, Value pitch, int64_t stages,
             int64_t offset);

  static int64_t getBytes(const AttentionTile::Shape &shape, Type element,
                          int64_t stages);

  void start(Value stage, Value begin);
  void finish(Value stage);
  /// The stage of the tile's left that has what was copied for one.
  Value getLeftStage(Value stage) { return isConverted() ? b.index(0) : stage; }

private:
  bool isConverted() const { return copied != tile.getLeft(); }
  void forUnits(function_ref<void(Value head, Value at)> body);

  KernelBuilder &b;
  AttentionTile &tile;
  AttentionTile::Shape shape;
  HeadGroup group;
  Value matrix, row, pitch, copied;
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_HEADLOADER_H
