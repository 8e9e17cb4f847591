//===- BlockAttentionLowering.h - Attention by blocks of threads -*- C++
//-*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_BLOCKATTENTIONLOWERING_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_BLOCKATTENTIONLOWERING_H

#include "Lowering.h"
#include "RowAccess.h"

namespace mlir::dsflash {

/// The positions that a row sees in the window: the first and how many.
struct SeenPositions {
  Value first, count;
};
SeenPositions getSeenPositions(KernelBuilder &b, const CallRow &row, CSA2Op op);
SeenPositions getSeenPositions(KernelBuilder &b, const CallRow &row,
                               DraftAttentionOp op);

/// Launches an attention by blocks of threads and gives its result; null where
/// the device or the sizes do not allow that.
Value lowerByBlocks(Lowering &l, CSA2Op op);
Value lowerByBlocks(Lowering &l, DraftAttentionOp op);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_BLOCKATTENTIONLOWERING_H
