//===- AttentionOperands.cpp - What attentions have in common -------------===//

#include "AttentionOperands.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace {
/// Where the operands of a kernel that reads keys are.
enum KeyOperand {
  KV,
  Ring,
  Layer,
  Sequence,
  Position,
  Extents,
  GlobalKV,
  Selection
};
} // namespace

template <typename OpTy>
AttentionOperands::AttentionOperands(OpTy op, StringRef name)
    : name(name), query(op.getQuery()), kv(op.getKv()), window(op.getWindow()),
      layer(op.getLayer()), sink(op.getSink()), sequence(op.getSequence()),
      position(op.getPosition()), extents(op.getExtents()),
      result(op.getResult().getType()), heads(op.getHeads()),
      roundProbabilities(op.getRoundProbabilities()),
      slidingWindow(op.getSlidingWindow()) {}

AttentionOperands::AttentionOperands(CSA2Op op)
    : AttentionOperands(op, "csa2") {
  globalKV = op.getGlobalKv();
  selection = op.getSelection();
  withinCall = op.getWithinCall();
}

AttentionOperands::AttentionOperands(DraftAttentionOp op)
    : AttentionOperands(op, "draft_attention") {
  isDraft = true;
  if (std::optional<uint64_t> rows = op.getBlockRows())
    blockRows = *rows;
}

std::optional<int64_t> AttentionOperands::getMostKeys() const {
  if (isDraft && !blockRows)
    return std::nullopt;
  return slidingWindow + blockRows.value_or(0) +
         (selection ? getFeatures(selection) : 0);
}

FormatAttr AttentionOperands::getRingFormat() const {
  return cast<WindowType>(window.getType()).getFormat();
}

FormatAttr AttentionOperands::getGlobalFormat() const {
  return selection ? cast<GlobalKVType>(globalKV.getType()).getFormat()
                   : FormatAttr();
}

int64_t AttentionOperands::getDim() const {
  return cast<WindowType>(window.getType()).getDim();
}

SmallVector<Value> AttentionOperands::getKeyOperands() const {
  SmallVector<Value> all = {kv, window, layer, sequence, position, extents};
  if (selection)
    all.append({globalKV, selection});
  return all;
}

SeenPositions AttentionOperands::getSeen(KernelBuilder &b,
                                         const CallRow &row) const {
  if (!isDraft) {
    Value first = b.max(b.add(row.position, 1 - slidingWindow),
                        withinCall ? row.firstPosition : b.index(0));
    return {first, b.add(b.sub(row.position, first), 1)};
  }
  Value ringCount = b.min(row.firstPosition, b.index(slidingWindow));
  Value count = b.add(ringCount, row.rowCount);
  // Memory is what the block's declared rows need.
  if (std::optional<int64_t> most = getMostKeys())
    count = b.min(count, b.index(*most));
  return {b.sub(row.firstPosition, ringCount), count};
}

AttentionKeys AttentionOperands::getKeys(KernelBuilder &b, Value rowNumber,
                                         ValueRange ins) const {
  CallRow row(b, rowNumber, ins[Sequence], ins[Position], ins[Extents]);
  WindowType window = cast<WindowType>(ins[Ring].getType());
  PackedRows ring(b, ins[Ring], row.sequence);
  AttentionKeys keys;
  keys.kv = ins[KV];
  keys.ringPayload = ring.getPayload();
  keys.ringScales = ring.getScales();
  SeenPositions seen = getSeen(b, row);
  keys.first = seen.first;
  keys.windowCount = seen.count;
  keys.callPosition = row.firstPosition;
  keys.callRow = row.firstRow;
  keys.layerRow = b.mul(ins[Layer], window.getSlots());
  keys.slots = b.index(window.getSlots());
  keys.row = row.row;
  if (selection) {
    PackedRows global(b, ins[GlobalKV], row.sequence);
    keys.globalPayload = global.getPayload();
    keys.globalScales = global.getScales();
    keys.selection = ins[Selection];
  }
  return keys;
}
