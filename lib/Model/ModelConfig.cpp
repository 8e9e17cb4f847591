//===- ModelConfig.cpp - The text model's config --------------------------===//

#include "dsflash/Model/ModelConfig.h"
#include "ConfigChecks.h"
#include "ConfigReader.h"

using namespace dsflash;
using nlohmann::json;

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

// Largest sizes: far above any model, and small enough that no count of
// parameters or bytes overflows 63 bits.
constexpr int64_t kMaxWidth = 1 << 17;
constexpr int64_t kMaxTokens = 1 << 24;
constexpr int64_t kMaxLayers = 1 << 10;
constexpr int64_t kMaxHeads = 1 << 12;
constexpr int64_t kMaxHeadDim = 1 << 12;
constexpr int64_t kMaxExperts = 1 << 13;
constexpr int64_t kMaxStreams = 1 << 6;
constexpr int64_t kMaxRounds = 1 << 12;
/// The angle is a float32 product, so a position must be exact in float32.
constexpr int64_t kMaxPositions = 1 << 24;
constexpr int64_t kMaxRank = 1 << 16;
constexpr int64_t kMaxNgram = 8;
constexpr int64_t kMaxEngramHeads = 1 << 6;
constexpr int64_t kMaxEngramSearch = int64_t(1) << 31;
constexpr int64_t kMaxRows = int64_t(1) << 41;
constexpr int64_t kMaxDraftBlock = 1 << 8;
constexpr int64_t kMaxPixels = 1 << 30;

/// Keys of the Hugging Face library that say nothing about the computation.
constexpr const char *kHarmlessKeys[] = {
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "auto_map",
    "chunk_size_feed_forward",
    "dtype",
    "id2label",
    "initializer_range",
    "is_encoder_decoder",
    "label2id",
    "output_attentions",
    "output_hidden_states",
    "problem_type",
    "return_dict",
    "torch_dtype",
    "transformers_version",
    "use_cache",
};

template <typename Visitor, typename Scaling>
static void visitRopeScaling(Visitor &v, Scaling &s) {
  v.fixed("rope_type", "yarn", Need::Required);
  v.number("factor", s.factor, Sign::Positive);
  v.number("beta_fast", s.beta_fast, Sign::Positive);
  v.number("beta_slow", s.beta_slow, Sign::Positive);
  v.integer("original_max_position_embeddings",
            s.original_max_position_embeddings, 1, kMaxPositions);
}

template <typename Visitor, typename Vision>
static void visitVision(Visitor &v, Vision &c) {
  v.fixed("model_type", "deepseek_v41_vision");
  v.integer("num_hidden_layers", c.num_hidden_layers, 1, kMaxLayers);
  v.integer("hidden_size", c.hidden_size, 1, kMaxWidth);
  v.integer("num_attention_heads", c.num_attention_heads, 1, kMaxHeads);
  v.integer("intermediate_size", c.intermediate_size, 1, kMaxWidth);
  v.integer("patch_size", c.patch_size, 1, kMaxHeads);
  v.number("rope_theta", c.rope_theta, Sign::Positive, Need::Optional);
  v.integer("downsample_ratio", c.downsample_ratio, 1, kMaxStreams);
  v.integer("max_image_tokens", c.max_image_tokens, 1, kMaxTokens);
  v.integer("min_pixels", c.min_pixels, 0, kMaxPixels);
  v.number("max_wh_ratio", c.max_wh_ratio, Sign::Positive);
}

template <typename Visitor> static void visitQuantization(Visitor &v) {
  v.fixed("quant_method", "fp8", Need::Required);
  v.fixed("activation_scheme", "dynamic");
  v.fixed("weight_block_size", {kQuantGroup, kQuantGroup}, Need::Required);
  v.fixed("scale_fmt", "ue8m0", Need::Required);
  v.fixed("expert_dtype", "fp4", Need::Required);
}

/// Token ids stand beside text_config, inside it, or both.
template <typename Visitor, typename Config>
static void visitTokenIds(Visitor &v, Config &c) {
  v.integer("bos_token_id", c.bos_token_id, 0, kMaxTokens, Need::Optional);
  v.integer("eos_token_id", c.eos_token_id, 0, kMaxTokens, Need::Optional);
  v.integer("pad_token_id", c.pad_token_id, 0, kMaxTokens, Need::Optional);
  v.integer("image_token_id", c.image_token_id, 0, kMaxTokens);
}

template <typename Visitor, typename Config>
static void visitText(Visitor &v, Config &c) {
  v.integer("vocab_size", c.vocab_size, 1, kMaxTokens);
  v.integer("hidden_size", c.hidden_size, 1, kMaxWidth);
  v.integer("num_hidden_layers", c.num_hidden_layers, 1, kMaxLayers);
  v.integer("max_position_embeddings", c.max_position_embeddings, 1,
            kMaxPositions);
  v.number("rms_norm_eps", c.rms_norm_eps, Sign::Positive);
  v.fixed("hidden_act", "silu");
  v.fixed("tie_word_embeddings", false);

  v.integer("num_attention_heads", c.num_attention_heads, 1, kMaxHeads);
  v.fixed("num_key_value_heads", 1);
  v.fixed("attention_bias", false);
  v.integer("head_dim", c.head_dim, 1, kMaxHeadDim);
  v.integer("qk_rope_head_dim", c.qk_rope_head_dim, 2, kMaxHeadDim);
  v.integer("q_lora_rank", c.q_lora_rank, 1, kMaxRank);
  v.integer("o_lora_rank", c.o_lora_rank, 1, kMaxRank);
  v.integer("o_groups", c.o_groups, 1, kMaxHeads);
  v.integer("sliding_window", c.sliding_window, 1, kMaxPositions);

  v.number("rope_theta", c.rope_theta, Sign::Positive);
  v.number("compress_rope_theta", c.compress_rope_theta, Sign::Positive);
  v.object("rope_scaling", c.rope_scaling,
           [](auto &inner, auto &s) { visitRopeScaling(inner, s); });

  v.integers("compress_ratios", c.compress_ratios, 0, 2);
  v.integers("kv_source_layer_ids", c.kv_source_layer_ids, 0, kMaxLayers);
  v.integers("index_source_layer_ids", c.index_source_layer_ids, 0, kMaxLayers);
  v.integer("index_n_heads", c.index_n_heads, 1, kMaxHeads);
  v.integer("index_head_dim", c.index_head_dim, 1, kMaxHeadDim);
  v.integer("index_topk", c.index_topk, 1, kMaxPositions);
  v.integer("candidate_source_layer_id", c.candidate_source_layer_id, -1,
            kMaxLayers, Need::Optional);
  v.integer("candidate_topk_blocks", c.candidate_topk_blocks, 0, kMaxPositions,
            Need::Optional);
  v.integer("candidate_block_size", c.candidate_block_size, 0, kMaxPositions,
            Need::Optional);

  v.integer("moe_intermediate_size", c.moe_intermediate_size, 1, kMaxWidth);
  v.integer("n_routed_experts", c.n_routed_experts, 1, kMaxExperts);
  v.fixed("n_shared_experts", 1, Need::Required);
  v.integer("num_experts_per_tok", c.num_experts_per_tok, 1, kMaxExperts);
  v.fixed("scoring_func", "sqrtsoftplus", Need::Required);
  v.fixed("topk_method", "noaux_tc");
  v.flag("norm_topk_prob", c.norm_topk_prob, Need::Optional);
  v.number("routed_scaling_factor", c.routed_scaling_factor, Sign::Positive);
  v.number("gate_temp", c.gate_temp, Sign::Positive, Need::Optional);
  v.number("swiglu_limit", c.swiglu_limit, Sign::NonNegative);

  v.integer("hc_mult", c.hc_mult, 1, kMaxStreams);
  v.integer("hc_sinkhorn_iters", c.hc_sinkhorn_iters, 1, kMaxRounds);
  v.number("hc_eps", c.hc_eps, Sign::NonNegative);

  v.integers("engram_layer_ids", c.engram_layer_ids, 0, kMaxLayers,
             Need::Optional);
  v.integers("engram_num_embeddings", c.engram_num_embeddings, 1, kMaxRows,
             Need::Optional);
  v.integer("engram_max_ngram_size", c.engram_max_ngram_size, 1, kMaxNgram,
            Need::Optional);
  v.integer("engram_n_heads", c.engram_n_heads, 0, kMaxEngramHeads,
            Need::Optional);
  v.integer("engram_head_dim", c.engram_head_dim, 0, kMaxHeadDim,
            Need::Optional);
  v.integer("engram_vocab_size", c.engram_vocab_size, 0, kMaxEngramSearch,
            Need::Optional);
  v.integer("engram_pad_token_id", c.engram_pad_token_id, 0, kMaxTokens,
            Need::Optional);
  v.integer("engram_compressed_vocab_size", c.engram_compressed_vocab_size, 0,
            kMaxTokens, Need::Optional);

  v.integer("num_nextn_predict_layers", c.num_nextn_predict_layers, 0,
            kMaxLayers, Need::Optional);
  v.integer("dspark_block_size", c.dspark_block_size, 0, kMaxDraftBlock,
            Need::Optional);
  v.integer("dspark_noise_token_id", c.dspark_noise_token_id, 0, kMaxTokens,
            Need::Optional);
  v.integers("dspark_target_layer_ids", c.dspark_target_layer_ids, 0,
             kMaxLayers, Need::Optional);
  v.integer("dspark_markov_rank", c.dspark_markov_rank, 0, kMaxRank,
            Need::Optional);
  v.integer("dspark_n_routed_experts", c.dspark_n_routed_experts, 0,
            kMaxExperts, Need::Optional);
  v.integer("dspark_num_experts_per_tok", c.dspark_num_experts_per_tok, 0,
            kMaxExperts, Need::Optional);
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

static void ignoreHarmlessKeys(ConfigReader &reader) {
  for (const char *key : kHarmlessKeys)
    reader.ignore(key);
}

static void readObjects(ConfigReader &reader, ConfigFaults &faults,
                        ModelConfig &config) {
  if (const json *quantization = reader.object("quantization_config")) {
    ConfigReader inner(*quantization, "/quantization_config", faults);
    visitQuantization(inner);
    inner.finish();
  }
  reader.object("vision_config", config.vision, [](auto &inner, auto &vision) {
    ignoreHarmlessKeys(inner);
    visitVision(inner, vision);
  });
}

static void readText(ConfigReader &reader, ModelConfig &config) {
  ignoreHarmlessKeys(reader);
  visitText(reader, config);
  visitTokenIds(reader, config);
}

Result<ModelConfig> dsflash::parseModelConfig(const json &document,
                                              std::string_view where) {
  ConfigFaults faults{std::string(where)};
  ModelConfig config;
  std::string prefix;
  if (!document.is_object()) {
    faults.add("", "expected an object");
    return faults.result();
  }
  ConfigReader top(document, "", faults);
  if (document.contains("text_config")) {
    prefix = "/text_config";
    const json *text = top.object("text_config", Need::Required);
    if (!text)
      return faults.result();
    ConfigReader reader(*text, prefix, faults);
    reader.fixed("model_type", "deepseek_v41_text");
    readText(reader, config);
    reader.finish();
    top.fixed("model_type", "deepseek_v41");
    top.fixed("tie_word_embeddings", false);
    ignoreHarmlessKeys(top);
    visitTokenIds(top, config);
  } else {
    bool isWhole = document.contains("model_type") &&
                   document["model_type"] == "deepseek_v41";
    top.fixed("model_type", isWhole ? "deepseek_v41" : "deepseek_v41_text");
    readText(top, config);
  }
  readObjects(top, faults, config);
  top.finish();
  checkConsistency(config, document, prefix, faults);
  if (!faults.result().ok())
    return faults.result();
  return config;
}

Result<ModelConfig> dsflash::loadModelConfig(const std::string &path) {
  Result<json> document = readJsonFile(path);
  if (!document)
    return document.status();
  return parseModelConfig(*document, path);
}

std::string ModelConfig::toJson() const {
  ConfigWriter writer;
  writer.fixed("model_type", "deepseek_v41_text");
  visitText(writer, *this);
  visitTokenIds(writer, *this);
  ConfigWriter quantization;
  visitQuantization(quantization);
  writer.result["quantization_config"] = std::move(quantization.result);
  writer.object("vision_config", vision,
                [](auto &inner, auto &v) { visitVision(inner, v); });
  return writer.result.dump(2) + "\n";
}

bool dsflash::operator==(const ModelConfig &a, const ModelConfig &b) {
  return a.toJson() == b.toJson();
}
