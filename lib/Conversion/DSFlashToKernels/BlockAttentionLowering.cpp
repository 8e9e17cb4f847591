//===- BlockAttentionLowering.cpp - Attention by blocks of threads --------===//

#include "BlockAttentionLowering.h"
#include "dsflash/Kernels/BlockAttention.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace {

/// What CSA2 and draft attention have in common.
struct AttentionOp {
  template <typename OpTy>
  AttentionOp(OpTy op, int64_t mostPositions)
      : query(op.getQuery()), kv(op.getKv()), window(op.getWindow()),
        layer(op.getLayer()), sink(op.getSink()), sequence(op.getSequence()),
        position(op.getPosition()), extents(op.getExtents()),
        heads(op.getHeads()), mostPositions(mostPositions),
        roundProbabilities(op.getRoundProbabilities()) {}

  Value query, kv, window, layer, sink, sequence, position, extents;
  Value globalKV, selection; // null where there are none
  int64_t heads, mostPositions;
  bool roundProbabilities;
};

using FindPositions =
    function_ref<SeenPositions(KernelBuilder &, const CallRow &)>;

/// What all kernels of keys start with.
enum KeyOperand { KV, Ring, Layer, Sequence, Position, Extents, GlobalKV };

} // namespace

static AttentionKeys getKeys(KernelBuilder &b, Value rowNumber, ValueRange ins,
                             const AttentionOp &op, FindPositions find) {
  CallRow row(b, rowNumber, ins[Sequence], ins[Position], ins[Extents]);
  WindowType window = cast<WindowType>(ins[Ring].getType());
  PackedRows ring(b, ins[Ring], row.sequence);
  AttentionKeys keys;
  keys.kv = ins[KV];
  keys.ringPayload = ring.getPayload();
  keys.ringScales = ring.getScales();
  SeenPositions seen = find(b, row);
  keys.first = seen.first;
  keys.windowCount = seen.count;
  keys.callPosition = row.firstPosition;
  keys.callRow = row.firstRow;
  keys.layerRow = b.mul(ins[Layer], window.getSlots());
  keys.slots = b.index(window.getSlots());
  keys.row = row.row;
  if (op.selection) {
    PackedRows global(b, ins[GlobalKV], row.sequence);
    keys.globalPayload = global.getPayload();
    keys.globalScales = global.getScales();
    keys.selection = ins[GlobalKV + 1];
  }
  return keys;
}

static Value lowerByBlocks(Lowering &l, StringRef name, const AttentionOp &op,
                           FindPositions find) {
  if (!l.getConfig())
    return {};
  auto window = cast<WindowType>(op.window.getType());
  FormatAttr globalFormat;
  int64_t mostKeys = op.mostPositions;
  if (op.selection) {
    globalFormat = cast<GlobalKVType>(op.globalKV.getType()).getFormat();
    mostKeys += getFeatures(op.selection);
  }
  BlockAttention attention(l.getConfig(), op.heads, window.getDim(), mostKeys,
                           window.getFormat(), globalFormat,
                           op.roundProbabilities,
                           l.hasBF16Input(0) && l.hasBF16Input(1));
  if (!attention.isPossible())
    return {};

  MLIRContext *context = op.query.getContext();
  Value n = l.rows(op.query);
  auto makeEmpty = [&](int64_t columns, Type element) {
    return l.empty(
        RankedTensorType::get({ShapedType::kDynamic, columns}, element), n);
  };
  SmallVector<Value> keyOperands = {op.kv,       op.window,   op.layer,
                                    op.sequence, op.position, op.extents};
  if (op.selection)
    keyOperands.append({op.globalKV, op.selection});
  int64_t keyCount = keyOperands.size();
  Type f32 = Float32Type::get(context), i32 = IntegerType::get(context, 32);
  /// Launches a kernel with items for each row, each with its keys.
  auto dispatch =
      [&](StringRef part, int64_t items, ValueRange others, ValueRange outs,
          BlockAttr block,
          function_ref<void(KernelBuilder &, const AttentionKeys &, Value item,
                            ValueRange others, ValueRange outs)>
              emit) {
        SmallVector<Value> ins(keyOperands);
        llvm::append_range(ins, others);
        return l.dispatch((name + "_" + part).str(), l.times(n, items), ins,
                          outs,
                          [&](KernelBuilder &b, Value begin, Value end,
                              ValueRange ins, ValueRange outs) {
                            b.loop(begin, end, [&](Value item) {
                              AttentionKeys keys =
                                  getKeys(b, b.div(item, items), ins, op, find);
                              emit(b, keys, b.rem(item, items),
                                   ins.drop_front(keyCount), outs);
                            });
                          },
                          /*writesState=*/false, block);
      };

  int64_t columns = op.heads * attention.getPitch();
  SmallVector<Value> scores = {makeEmpty(columns, f32), makeEmpty(2, i32)};
  if (attention.hasKeyScales())
    scores.push_back(makeEmpty(attention.getKeyScales(), i32));
  /// The scales of keys are the third of these, if there are any.
  auto getScales = [](ValueRange values) {
    return values.size() > 2 ? values[2] : Value();
  };
  SmallVector<Value> scored =
      dispatch("scores", attention.getScoreItems(), op.query, scores,
               attention.getScoreBlock(),
               [&](KernelBuilder &b, const AttentionKeys &keys, Value item,
                   ValueRange others, ValueRange outs) {
                 attention.emitScores(b, keys, item, others[0], outs[0],
                                      outs[1], getScales(outs));
               });
  SmallVector<Value> weighed = l.dispatch(
      "attention_softmax", l.times(n, op.heads),
      {scored[0], scored[1], op.sink},
      {makeEmpty(columns, attention.getProbabilityType()),
       makeEmpty(op.heads, f32)},
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        PackedRows sinks(b, ins[2]);
        b.loop(begin, end, [&](Value item) {
          Value row = b.div(item, op.heads), head = b.rem(item, op.heads);
          Value sink = loadFloat(b, sinks.getPayload(), {b.index(0), head});
          attention.emitSoftmax(b, row, head, sink, ins[0], ins[1], outs[0],
                                outs[1]);
        });
      },
      /*writesState=*/false, attention.getSoftmaxBlock());
  SmallVector<Value> values = {weighed[0], weighed[1]};
  llvm::append_range(values, ArrayRef(scored).drop_front());
  return dispatch("values", attention.getValueItems(), values,
                  l.empty(op.query.getType(), n), attention.getValueBlock(),
                  [&](KernelBuilder &b, const AttentionKeys &keys, Value item,
                      ValueRange others, ValueRange outs) {
                    attention.emitValues(
                        b, keys, item, others[0], others[1], others[2],
                        getScales(others.drop_front()), outs[0]);
                  })[0];
}

Value mlir::dsflash::lowerByBlocks(Lowering &l, CSA2Op op) {
  AttentionOp operands(op, op.getSlidingWindow());
  operands.globalKV = op.getGlobalKv();
  operands.selection = op.getSelection();
  return ::lowerByBlocks(l, "csa2", operands,
                         [&](KernelBuilder &b, const CallRow &row) {
                           return getSeenPositions(b, row, op);
                         });
}

Value mlir::dsflash::lowerByBlocks(Lowering &l, DraftAttentionOp op) {
  std::optional<uint64_t> most = op.getBlockRows();
  if (!most)
    return {};
  int64_t mostPositions = op.getSlidingWindow() + *most;
  return ::lowerByBlocks(l, "draft_attention", AttentionOp(op, mostPositions),
                         [&](KernelBuilder &b, const CallRow &row) {
                           SeenPositions seen = getSeenPositions(b, row, op);
                           // Memory is what the block's declared rows need.
                           seen.count =
                               b.min(seen.count, b.index(mostPositions));
                           return seen;
                         });
}
