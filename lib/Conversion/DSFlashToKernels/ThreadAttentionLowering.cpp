//===- ThreadAttentionLowering.cpp - Attention by single threads ----------===//

#include "AttentionOperands.h"
#include "ThreadAttention.h"

using namespace mlir;
using namespace mlir::dsflash;

/// Heads of an item: the most up to 8 that divide all. Few heads let the only
/// row of a decode step run on many threads.
static int64_t getItemHeads(int64_t heads) {
  int64_t itemHeads = std::min(heads, int64_t(8));
  while (heads % itemHeads)
    --itemHeads;
  return itemHeads;
}

/// Calls the function of such attentions.
static void emitAttention(KernelBuilder &b, const AttentionShape &shape,
                          const AttentionKeys &keys,
                          const AttentionHeads &heads,
                          std::optional<int64_t> mostPairKeys) {
  std::string name = "attention.";
  if (mostPairKeys)
    name = "attention_pairs." + std::to_string(*mostPairKeys) + ".";
  else if (shape.roundProbabilities)
    name = "attention_rounded.";
  name +=
      describeAttention(shape.mostHeads, shape.dim, shape.ring, shape.global);
  keys.callFunction(
      b, name,
      {heads.first, heads.count, heads.sinks, heads.query, heads.result},
      [&](KernelBuilder &body, const AttentionKeys &inside, ValueRange others) {
        AttentionHeads these = {others[0], others[1], others[2], others[3],
                                others[4]};
        if (mostPairKeys)
          emitPairAttention(body, shape, inside, these, *mostPairKeys);
        else
          emitFloatAttention(body, shape, inside, these);
      });
}

Value mlir::dsflash::lowerByThreads(Lowering &l, const AttentionOperands &op) {
  // Heads that share the decoded keys.
  constexpr int64_t mostGroupHeads = 32;
  int64_t itemHeads = getItemHeads(op.heads), perRow = op.heads / itemHeads;
  int64_t groupItems = std::min(mostGroupHeads / itemHeads, perRow);
  AttentionShape shape = {op.getDim(),
                          itemHeads,
                          itemHeads * groupItems,
                          op.getRingFormat(),
                          op.getGlobalFormat(),
                          op.roundProbabilities};
  std::optional<int64_t> mostPairKeys;
  if (l.hasPairs() && l.hasBF16Input(1) && isPairAttention(shape))
    mostPairKeys = op.getMostKeys();

  SmallVector<Value> operands = op.getKeyOperands();
  operands.append({op.query, op.sink});
  Value n = l.rows(op.query);
  return l.dispatch(
      op.name, l.times(n, perRow), operands, l.empty(op.result, n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        PackedRows sinks(b, ins.back());
        Value ofHeads = b.scratch({shape.mostHeads}, b.getF32Type());
        Value lastRow = b.div(b.add(end, perRow - 1), perRow);
        b.loop(b.div(begin, perRow), lastRow, [&](Value row) {
          AttentionKeys keys = op.getKeys(b, row, ins);
          Value rowItem = b.mul(row, perRow);
          Value last = b.min(end, b.add(rowItem, perRow));
          b.loop(b.max(begin, rowItem), last, groupItems, [&](Value item) {
            Value items = b.min(b.sub(last, item), b.index(groupItems));
            Value first = b.mul(b.sub(item, rowItem), itemHeads);
            Value count = b.mul(items, itemHeads);
            b.loop(b.index(0), count, [&](Value head) {
              Value sink = loadFloat(b, sinks.getPayload(),
                                     {b.index(0), b.add(first, head)});
              b.store(sink, ofHeads, {head});
            });
            emitAttention(b, shape, keys,
                          {first, count, ofHeads, ins[ins.size() - 2], outs[0]},
                          mostPairKeys);
          });
        });
      })[0];
}
