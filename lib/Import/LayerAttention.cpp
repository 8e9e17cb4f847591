//===- LayerAttention.cpp - The attention half of a layer -----------------===//
//
// Queries, KV rows, the compressor, the indexer and the projection of what they
// give.
//
//===----------------------------------------------------------------------===//

#include "LayerBuilder.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace dsflash {

std::pair<Value, Value> LayerBuilder::query(const Attention &a,
                                            Value quantized) {
  const ModelConfig &c = b.config;
  Value low = b.linear(
      quantized, b.fp8(a.family, "attn.wq_a", c.q_lora_rank, c.hidden_size),
      "attn.wq_a");
  low = b.norm(low, b.bf16(a.family, "attn.q_norm.weight", {1, c.q_lora_rank}),
               "attn.q_norm");
  low = b.quantize(low, "attn.qr");
  Value query =
      b.linear(low,
               b.fp8(a.family, "attn.wq_b", c.num_attention_heads * c.head_dim,
                     c.q_lora_rank),
               "attn.wq_b");
  return {b.rotate(query, a.rope, c.head_dim, "attn.q_rope"), low};
}

Value LayerBuilder::windowKV(const Family &family, Value quantized,
                             Value rope) {
  const ModelConfig &c = b.config;
  Value kv =
      b.linear(quantized, b.fp8(family, "attn.wkv", c.head_dim, c.hidden_size),
               "attn.wkv");
  kv = b.norm(kv, b.bf16(family, "attn.kv_norm.weight", {1, c.head_dim}),
              "attn.kv_norm");
  kv = b.rotate(kv, rope, c.head_dim, "attn.kv_rope");
  return b.quantize(kv, "attn.kv_window");
}

Value LayerBuilder::outputProjection(const Attention &a, Value context) {
  const ModelConfig &c = b.config;
  context = b.round(context, "attn.context");
  context = b.rotate(context, a.rope, c.head_dim, "attn.context_rope",
                     /*inverse=*/true);
  int64_t low = c.o_groups * c.o_lora_rank;
  Value woA = b.fp8(a.family, "attn.wo_a", low, c.outputGroupSize());
  Value grouped =
      b.round(GroupedLinearOp::create(b, b.tensor({low}), context, woA,
                                      c.o_groups, /*rounded=*/false),
              "attn.wo_a");
  grouped = b.quantize(grouped, "attn.o");
  Value output = b.linear(
      grouped, b.fp8(a.family, "attn.wo_b", c.hidden_size, low), "attn.wo_b");
  return probe(a, output, "attn.out");
}

SmallVector<Value> LayerBuilder::compress(const Attention &a, int64_t ratio,
                                          Value input, Value groupRope,
                                          Value globalKV, Value keys,
                                          Value pending) {
  const ModelConfig &c = b.config;
  const Family &family = a.family;
  auto latentType = b.tensor({c.head_dim});
  Value wkv =
      b.bf16(family, "attn.compressor.wkv.weight", {c.head_dim, c.hidden_size});
  Value latent;
  if (ratio == 1) {
    latent = ProjectOp::create(b, latentType, input, wkv, /*rounded=*/false,
                               /*f64_accumulation=*/true);
  } else {
    Value kv = b.product(input, wkv, Accumulation::F64);
    Value gate = b.product(input,
                           b.bf16(family, "attn.compressor.wgate.weight",
                                  {c.head_dim, c.hidden_size}),
                           Accumulation::F64);
    auto pooled = CompressOp::create(b, latentType, pending.getType(), kv, gate,
                                     pending, a.rows.sequence, a.rows.position,
                                     a.rows.extents, ratio);
    latent = pooled.getLatent();
    pending = pooled.getPendingAfter();
  }
  latent = b.round(latent, "compressor.latent");
  latent = b.norm(
      latent, b.bf16(family, "attn.compressor.norm.weight", {1, c.head_dim}),
      "compressor.norm");

  Value key = b.linear(
      latent,
      b.bf16(family, "attn.indexer.wk.weight", {c.index_head_dim, c.head_dim}),
      "indexer.wk", Accumulation::F64);
  key = b.norm(
      key, b.bf16(family, "attn.indexer.k_norm.weight", {1, c.index_head_dim}),
      "indexer.k_norm");
  key = b.rotate(key, groupRope, c.index_head_dim, "indexer.k_rope");
  latent = b.rotate(latent, groupRope, c.head_dim, "compressor.rope");

  auto append = [&](Value rows, Value state, StringRef name, int64_t extent) {
    state = AppendOp::create(b, state.getType(), rows, state, a.rows.sequence,
                             a.rows.position);
    Value values = LoadOp::create(b, b.tensor({extent}), state, a.rows.sequence,
                                  a.rows.position);
    probe(a, values, name, ratio);
    return state;
  };
  keys = append(key, keys, "attn.index_key", c.index_head_dim);
  globalKV = append(latent, globalKV, "attn.kv_global", c.head_dim);
  SmallVector<Value> states{globalKV, keys};
  if (pending)
    states.push_back(pending);
  return states;
}

IndexerOp LayerBuilder::select(const Attention &a, const LayerKind &kind,
                               Value input, Value lowRank, Value keys,
                               Value candidates) {
  const ModelConfig &c = b.config;
  Value query =
      b.linear(lowRank,
               b.fp8(a.family, "attn.indexer.wq_b",
                     c.index_n_heads * c.index_head_dim, c.q_lora_rank),
               "indexer.wq_b");
  query = b.rotate(query, a.rope, c.index_head_dim, "indexer.q_rope");
  query = b.quantize(query, b.indexFormat(), "indexer.q");
  Value weights = b.linear(input,
                           b.bf16(a.family, "attn.indexer.weights_proj.weight",
                                  {c.index_n_heads, c.hidden_size}),
                           "indexer.weights_proj", Accumulation::F64);
  double scale = 1 / std::sqrt(double(c.index_head_dim * c.index_n_heads));
  weights =
      b.round(ScaleOp::create(b, weights.getType(), weights, b.f32Attr(scale)),
              "indexer.weights");
  Type kept;
  if (kind.keepsCandidates)
    kept = b.tensor({c.candidate_topk_blocks}, b.getI32Type());
  int64_t blockSize =
      kind.keepsCandidates || candidates ? c.candidate_block_size : 0;
  return IndexerOp::create(b, b.tensor({c.index_topk}, b.getI32Type()), kept,
                           query, weights, keys, a.rows.sequence,
                           a.rows.position, candidates, blockSize);
}

} // namespace dsflash
