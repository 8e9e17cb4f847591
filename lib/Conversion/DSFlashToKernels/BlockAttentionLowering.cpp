//===- BlockAttentionLowering.cpp - Attention by blocks of threads --------===//

#include "AttentionOperands.h"
#include "dsflash/Kernels/BlockAttention.h"

using namespace mlir;
using namespace mlir::dsflash;

Value mlir::dsflash::lowerByBlocks(Lowering &l, const AttentionOperands &op) {
  std::optional<int64_t> mostKeys = op.getMostKeys();
  if (!l.getConfig() || !mostKeys)
    return {};
  BlockAttention attention(l.getConfig(), op.heads, op.getDim(), *mostKeys,
                           op.getRingFormat(), op.getGlobalFormat(),
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
  SmallVector<Value> keyOperands = op.getKeyOperands();
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
        return l.dispatch((op.name + "_" + part).str(), l.times(n, items), ins,
                          outs,
                          [&](KernelBuilder &b, Value begin, Value end,
                              ValueRange ins, ValueRange outs) {
                            b.loop(begin, end, [&](Value item) {
                              AttentionKeys keys =
                                  op.getKeys(b, b.div(item, items), ins);
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
