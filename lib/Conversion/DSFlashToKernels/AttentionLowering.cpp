//===- AttentionLowering.cpp - CSA2 and draft attention -------------------===//

#include "AttentionOperands.h"

using namespace mlir;
using namespace mlir::dsflash;

static Value lowerAttention(Lowering &l, const AttentionOperands &op) {
  Value result = lowerByBlocks(l, op);
  return result ? result : lowerByThreads(l, op);
}

/// Writes the rows of a call to their ring slots, of each sequence the last
/// ones that the ring holds.
static void lowerRingWrite(Lowering &l, Value kv, TypedValue<WindowType> window,
                           Value layer, Value sequence, Value position,
                           Value extents) {
  WindowType type = window.getType();
  l.dispatch(
      "append_window", l.rows(kv),
      {kv, window, layer, sequence, position, extents}, {},
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange) {
        b.loop(begin, end, [&](Value item) {
          CallRow row(b, item, ins[3], ins[4], ins[5]);
          b.when(row.isAmongLast(b, type.getSlots()), [&] {
            PackedRows ring(b, ins[1], row.sequence);
            Value slot = getRingRow(b, type, ins[2], row.position);
            ring.encode(b, ins[0], row.row, slot);
            if (type.getPositions())
              b.store(b.toI32(b.add(row.position, 1)),
                      getRingPositions(b, ins[1], row.sequence), {slot});
          });
        });
      },
      /*writesState=*/true);
}

void mlir::dsflash::lowerOp(Lowering &l, CSA2Op op) {
  Value result = lowerAttention(l, AttentionOperands(op));
  lowerRingWrite(l, op.getKv(), op.getWindow(), op.getLayer(), op.getSequence(),
                 op.getPosition(), op.getExtents());
  l.replace({result, op.getWindow()});
}

void mlir::dsflash::lowerOp(Lowering &l, DraftAttentionOp op) {
  l.replace(lowerAttention(l, AttentionOperands(op)));
}

void mlir::dsflash::lowerOp(Lowering &l, AppendWindowOp op) {
  lowerRingWrite(l, op.getKv(), op.getWindow(), op.getLayer(), op.getSequence(),
                 op.getPosition(), op.getExtents());
  l.replace(op.getWindow());
}
