//===- DraftLayers.cpp - The functions of draft layers --------------------===//

#include "LayerBuilder.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace dsflash {

/// Rings of draft layers lie behind those of the backbone.
static Value ringOf(GraphBuilder &b, Value stage) {
  return arith::AddIOp::create(b, stage,
                               b.layerIndex(b.config.num_hidden_layers));
}

func::FuncOp LayerBuilder::draftLayer() {
  func::FuncOp &function = functions["draft_layer"];
  if (function)
    return function;
  OpBuilder::InsertionGuard guard(b);
  const ModelConfig &c = b.config;
  int64_t layer = c.num_hidden_layers;
  Type preType = b.tensor({c.hc_mult});
  function =
      b.startFunction("draft_layer",
                      {b.getIndexType(), b.streamType(), preType,
                       b.tensor({c.qk_rope_head_dim / 2, 2}), b.ids(), b.ids(),
                       b.tensor({2}, b.getI32Type()), b.windowType()},
                      {b.streamType(), preType}, /*exported=*/false);
  auto arguments = function.getArguments();
  Attention a{{"mtp", arguments[0]},
              "",
              arguments[3],
              {arguments[4], arguments[5], arguments[6]}};
  Value stream = arguments[1];
  HCMixOp mixes = mix(stream, a.family, "attn");
  Value x = collapse(stream, arguments[2], a.family, "attn");
  Value quantized = b.quantize(x, "attn.x");
  Value q = query(a, quantized).first;
  Value kv = windowKV(a.family, quantized, a.rope);
  Value sink = b.f32(a.family, "attn.attn_sink", {1, c.num_attention_heads});
  Value context = DraftAttentionOp::create(
      b, q.getType(), q, kv, arguments[7], ringOf(b, arguments[0]), sink,
      a.rows.sequence, a.rows.position, a.rows.extents, c.num_attention_heads,
      c.sliding_window, /*round_probabilities=*/true,
      b.getI64IntegerAttr(c.dspark_block_size));
  stream = expand(outputProjection(a, context), stream, mixes, "attn");
  auto [streamAfter, preAfter] =
      experts(a.family, /*probes=*/false, c.experts(layer),
              c.expertsPerToken(layer), stream, mixes.getPre());
  func::ReturnOp::create(b, ValueRange{streamAfter, preAfter});
  return function;
}

func::FuncOp LayerBuilder::draftContextLayer() {
  func::FuncOp &function = functions["draft_context_layer"];
  if (function)
    return function;
  OpBuilder::InsertionGuard guard(b);
  const ModelConfig &c = b.config;
  function =
      b.startFunction("draft_context_layer",
                      {b.getIndexType(), b.tensor({c.hidden_size}),
                       b.tensor({c.qk_rope_head_dim / 2, 2}), b.ids(), b.ids(),
                       b.tensor({2}, b.getI32Type()), b.windowType()},
                      {b.windowType()}, /*exported=*/false);
  auto arguments = function.getArguments();
  Value quantized = b.quantize(arguments[1], "attn.x");
  Value kv = windowKV({"mtp", arguments[0]}, quantized, arguments[2]);
  Value window = AppendWindowOp::create(
      b, arguments[6].getType(), kv, arguments[6], ringOf(b, arguments[0]),
      arguments[3], arguments[4], arguments[5]);
  func::ReturnOp::create(b, window);
  return function;
}

} // namespace dsflash
