//===- ModelConfig.cpp - The text model's config --------------------------===//

#include "dsflash/Model/ModelConfig.h"
#include "ConfigReader.h"
#include "dsflash/Model/Engram.h"

#include <algorithm>

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
constexpr int64_t kMaxExpertsOfAllLayers = 1 << 20;
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
constexpr int64_t kQuantGroup = 32;

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
// Consistency
//===----------------------------------------------------------------------===//

namespace {

/// Whether all hold; unlike &&, all of them are evaluated.
bool all(std::initializer_list<bool> conditions) {
  return std::find(conditions.begin(), conditions.end(), false) ==
         conditions.end();
}

/// Checks what the fields say together. A check is left out when one of its
/// fields could not be read, because that fault was already reported.
class ConsistencyChecks {
public:
  /// `prefix` is the path of the text config in the document.
  ConsistencyChecks(ModelConfig &config, const json &document,
                    std::string prefix, ConfigFaults &faults)
      : c(config), document(document), prefix(std::move(prefix)),
        faults(faults) {}

  void run() {
    checkWidths();
    checkTokenIds();
    checkExperts();
    checkRopeScaling();
    checkLayerPlan();
    checkCandidates();
    checkEngram();
    checkDrafts();
    checkVision();
  }

private:
  ModelConfig &c;
  const json &document;
  std::string prefix;
  ConfigFaults &faults;

  /// Token ids may stand beside the text config.
  std::string pathOf(const std::string &key) const {
    static const std::set<std::string> kTokenIds = {
        "bos_token_id", "eos_token_id", "pad_token_id", "image_token_id"};
    bool beside = kTokenIds.count(key) && document.contains(key);
    return (beside ? "" : prefix) + "/" + key;
  }
  void fault(const std::string &key, const std::string &why) {
    faults.add(pathOf(key), why);
  }
  bool known(std::initializer_list<const char *> keys) const {
    return std::none_of(keys.begin(), keys.end(), [&](const char *key) {
      return faults.isUnknown(pathOf(key));
    });
  }

  void checkMultiple(const char *key, int64_t value, const char *what) {
    if (known({key}) && value % kQuantGroup != 0)
      fault(key, std::string(what) + " " + std::to_string(value) +
                     " is not a multiple of " + std::to_string(kQuantGroup) +
                     ", the quantization group");
  }
  void checkAtMost(const char *key, int64_t value, const char *limitKey,
                   int64_t limit) {
    if (known({key, limitKey}) && value > limit)
      fault(key, std::to_string(value) + " is more than " + limitKey + " " +
                     std::to_string(limit));
  }
  void checkTokenId(const char *key, int64_t value) {
    if (known({key, "vocab_size"}) && value >= c.vocab_size)
      fault(key, std::to_string(value) + " is not below vocab_size " +
                     std::to_string(c.vocab_size));
  }
  /// A field whose default says "absent" but which another key demands.
  bool checkGiven(const char *key, bool given, const char *because) {
    if (known({key}) && !given)
      fault(key, std::string("missing or too small, ") + because + " needs it");
    return known({key}) && given;
  }

  /// Layer ids must ascend and be those of backbone layers.
  bool checkLayerIds(const char *key, const std::vector<int64_t> &ids) {
    if (!known({key, "num_hidden_layers"}))
      return false;
    bool ok = true;
    auto faultAt = [&](size_t i, const std::string &why) {
      fault(key + ("/" + std::to_string(i)), why);
      ok = false;
    };
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= c.num_hidden_layers)
        faultAt(i, "layer " + std::to_string(ids[i]) + " is not one of the " +
                       std::to_string(c.num_hidden_layers) +
                       " backbone layers");
      if (i > 0 && ids[i] <= ids[i - 1])
        faultAt(i, "layer " + std::to_string(ids[i]) + " does not come after " +
                       std::to_string(ids[i - 1]));
    }
    return ok;
  }

  void checkWidths() {
    checkMultiple("hidden_size", c.hidden_size, "width");
    checkMultiple("q_lora_rank", c.q_lora_rank, "width");
    checkMultiple("moe_intermediate_size", c.moe_intermediate_size, "width");
    checkMultiple("head_dim", c.head_dim, "width");
    checkMultiple("index_head_dim", c.index_head_dim, "width");
    if (known({"o_groups"}))
      checkMultiple("o_lora_rank", c.o_groups * c.o_lora_rank,
                    "o_groups * o_lora_rank =");
    if (known({"num_attention_heads", "o_groups"}) &&
        c.num_attention_heads % c.o_groups != 0)
      fault("o_groups", std::to_string(c.num_attention_heads) +
                            " heads do not divide into " +
                            std::to_string(c.o_groups) + " groups");
    if (known({"qk_rope_head_dim"}) && c.qk_rope_head_dim % 2 != 0)
      fault("qk_rope_head_dim",
            std::to_string(c.qk_rope_head_dim) + " is odd, RoPE rotates pairs");
    checkAtMost("qk_rope_head_dim", c.qk_rope_head_dim, "head_dim", c.head_dim);
    checkAtMost("qk_rope_head_dim", c.qk_rope_head_dim, "index_head_dim",
                c.index_head_dim);
  }

  void checkTokenIds() {
    checkTokenId("bos_token_id", c.bos_token_id);
    checkTokenId("eos_token_id", c.eos_token_id);
    checkTokenId("pad_token_id", c.pad_token_id);
    if (c.image_token_id)
      checkTokenId("image_token_id", *c.image_token_id);
  }

  void checkExperts() {
    checkAtMost("num_experts_per_tok", c.num_experts_per_tok,
                "n_routed_experts", c.n_routed_experts);
    if (known({"n_routed_experts", "num_hidden_layers"}) &&
        c.n_routed_experts * c.num_hidden_layers > kMaxExpertsOfAllLayers)
      fault("n_routed_experts",
            std::to_string(c.n_routed_experts) + " experts in " +
                std::to_string(c.num_hidden_layers) + " layers, more than " +
                std::to_string(kMaxExpertsOfAllLayers) + " in all");
  }

  void checkRopeScaling() {
    if (c.rope_scaling &&
        known({"rope_scaling/beta_fast", "rope_scaling/beta_slow"}) &&
        c.rope_scaling->beta_fast < c.rope_scaling->beta_slow)
      fault("rope_scaling/beta_fast", "is below beta_slow");
  }

  void checkLayerPlan() {
    bool sourcesOk = all(
        {checkLayerIds("kv_source_layer_ids", c.kv_source_layer_ids),
         checkLayerIds("index_source_layer_ids", c.index_source_layer_ids)});
    if (!checkRatioList() || !sourcesOk)
      return;
    checkSourceRatios("kv_source_layer_ids", c.kv_source_layer_ids);
    checkSourceRatios("index_source_layer_ids", c.index_source_layer_ids);
    for (size_t i = 0; i < c.kv_source_layer_ids.size(); ++i)
      if (!c.isIndexSource(c.kv_source_layer_ids[i]))
        fault("kv_source_layer_ids/" + std::to_string(i),
              "layer " + std::to_string(c.kv_source_layer_ids[i]) +
                  " is not in index_source_layer_ids");
    for (int64_t layer = 0; layer < c.num_hidden_layers; ++layer)
      checkReader(layer);
  }

  bool checkRatioList() {
    if (!known({"compress_ratios", "num_hidden_layers",
                "num_nextn_predict_layers"}))
      return false;
    int64_t length = c.compress_ratios.size();
    int64_t withDrafts = c.num_hidden_layers + c.num_nextn_predict_layers;
    if (length != c.num_hidden_layers && length != withDrafts) {
      fault("compress_ratios",
            std::to_string(length) + " ratios for " +
                std::to_string(c.num_hidden_layers) + " layers and " +
                std::to_string(c.num_nextn_predict_layers) + " draft layers");
      return false;
    }
    for (int64_t layer = c.num_hidden_layers; layer < length; ++layer)
      if (c.compress_ratios[layer] != 0)
        fault("compress_ratios/" + std::to_string(layer),
              "draft layer has ratio " +
                  std::to_string(c.compress_ratios[layer]) +
                  ", only 0 is supported");
    return true;
  }

  void checkSourceRatios(const char *key, const std::vector<int64_t> &ids) {
    for (size_t i = 0; i < ids.size(); ++i)
      if (c.compress_ratios[ids[i]] == 0)
        fault(key + ("/" + std::to_string(i)),
              "layer " + std::to_string(ids[i]) +
                  " has ratio 0, a source needs 1 or 2");
  }

  /// A layer with a global branch reads from the nearest KV source.
  void checkReader(int64_t layer) {
    int64_t ratio = c.compress_ratios[layer];
    if (ratio == 0)
      return;
    std::string key = "compress_ratios/" + std::to_string(layer);
    int64_t source = c.kvSource(layer);
    if (source < 0)
      fault(key, "layer has ratio " + std::to_string(ratio) +
                     " but no KV source at or before it");
    else if (c.compress_ratios[source] != ratio)
      fault(key, "layer has ratio " + std::to_string(ratio) +
                     ", its KV source, layer " + std::to_string(source) +
                     ", has " + std::to_string(c.compress_ratios[source]));
  }

  void checkCandidates() {
    constexpr const char *kSource = "candidate_source_layer_id";
    if (!known({kSource}) || c.candidate_source_layer_id < 0)
      return;
    bool sizesGiven = all({checkGiven("candidate_topk_blocks",
                                      c.candidate_topk_blocks > 0, kSource),
                           checkGiven("candidate_block_size",
                                      c.candidate_block_size > 0, kSource)});
    // The newest block may hold a single reachable position.
    int64_t fewest = c.candidate_topk_blocks * c.candidate_block_size -
                     (c.candidate_block_size - 1);
    if (sizesGiven && known({"index_topk"}) && fewest < c.index_topk)
      fault("candidate_topk_blocks", "the blocks may hold only " +
                                         std::to_string(fewest) +
                                         " positions, fewer than index_topk " +
                                         std::to_string(c.index_topk));
    if (!known({"index_source_layer_ids"}))
      return;
    if (!c.isIndexSource(c.candidate_source_layer_id))
      return fault(kSource, "layer " +
                                std::to_string(c.candidate_source_layer_id) +
                                " is not in index_source_layer_ids");
    checkCandidateReaders();
  }

  /// Candidates are positions in the source's keys.
  void checkCandidateReaders() {
    int64_t ratios = c.compress_ratios.size();
    if (!known({"compress_ratios"}) || c.candidate_source_layer_id >= ratios)
      return;
    int64_t ratio = c.compress_ratios[c.candidate_source_layer_id];
    for (size_t i = 0; i < c.index_source_layer_ids.size(); ++i) {
      int64_t layer = c.index_source_layer_ids[i];
      if (layer > c.candidate_source_layer_id && layer < ratios &&
          c.compress_ratios[layer] != ratio)
        fault("index_source_layer_ids/" + std::to_string(i),
              "layer " + std::to_string(layer) + " has ratio " +
                  std::to_string(c.compress_ratios[layer]) +
                  ", the candidates come from ratio " + std::to_string(ratio));
    }
  }

  void checkEngram() {
    bool layersOk = checkLayerIds("engram_layer_ids", c.engram_layer_ids);
    if (c.engram_layer_ids.empty()) {
      if (known({"engram_num_embeddings"}) && !c.engram_num_embeddings.empty())
        fault("engram_num_embeddings", "given without engram_layer_ids");
      return;
    }
    constexpr const char *kLayers = "engram_layer_ids";
    checkMultiple("engram_head_dim", c.engram_head_dim, "width");
    checkTokenId("engram_pad_token_id", c.engram_pad_token_id);
    bool given =
        all({checkGiven("engram_max_ngram_size", c.engram_max_ngram_size > 1,
                        kLayers),
             checkGiven("engram_n_heads", c.engram_n_heads > 0, kLayers),
             checkGiven("engram_head_dim", c.engram_head_dim > 0, kLayers),
             checkGiven("engram_vocab_size", c.engram_vocab_size > 1, kLayers),
             checkGiven("engram_compressed_vocab_size",
                        c.engram_compressed_vocab_size > 0, kLayers)});
    checkAtMost("engram_compressed_vocab_size", c.engram_compressed_vocab_size,
                "vocab_size", c.vocab_size);
    if (given && layersOk && known({"engram_num_embeddings"}))
      deriveTableRows();
  }

  /// The rows of a table are the sum of its primes.
  void deriveTableRows() {
    std::vector<int64_t> rows;
    for (const EngramHash &hash : engramHashes(c))
      rows.push_back(hash.tableRows());
    if (c.engram_num_embeddings.empty())
      c.engram_num_embeddings = rows;
    if (c.engram_num_embeddings.size() != rows.size())
      return fault("engram_num_embeddings",
                   std::to_string(c.engram_num_embeddings.size()) +
                       " tables for " + std::to_string(rows.size()) +
                       " engram_layer_ids");
    for (size_t i = 0; i < rows.size(); ++i)
      if (c.engram_num_embeddings[i] != rows[i])
        fault("engram_num_embeddings/" + std::to_string(i),
              std::to_string(c.engram_num_embeddings[i]) +
                  " rows, the primes of the table add up to " +
                  std::to_string(rows[i]));
  }

  void checkDrafts() {
    constexpr const char *kBlock = "dspark_block_size";
    if (!known({kBlock}) || c.dspark_block_size == 0)
      return;
    checkGiven("num_nextn_predict_layers", c.num_nextn_predict_layers > 0,
               kBlock);
    checkGiven("dspark_markov_rank", c.dspark_markov_rank > 0, kBlock);
    checkTokenId("dspark_noise_token_id", c.dspark_noise_token_id);
    checkLayerIds("dspark_target_layer_ids", c.dspark_target_layer_ids);
    checkGiven("dspark_target_layer_ids", !c.dspark_target_layer_ids.empty(),
               kBlock);
    if (known({"dspark_n_routed_experts", "n_routed_experts",
               "num_experts_per_tok"})) {
      int64_t layer = c.num_hidden_layers;
      checkAtMost("dspark_num_experts_per_tok", c.expertsPerToken(layer),
                  "dspark_n_routed_experts", c.experts(layer));
    }
  }

  void checkVision() {
    if (!c.vision || faults.isUnknown("/vision_config/hidden_size") ||
        faults.isUnknown("/vision_config/num_attention_heads"))
      return;
    // RoPE turns a head's features in pairs, half of them by row and half by
    // column.
    int64_t width = c.vision->hidden_size,
            heads = c.vision->num_attention_heads;
    if (width % heads != 0 || width / heads % 4 != 0)
      faults.add("/vision_config/num_attention_heads",
                 "a head of " + std::to_string(width) + " / " +
                     std::to_string(heads) +
                     " features is not a multiple of 4");
  }
};

} // namespace

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
  ConsistencyChecks(config, document, prefix, faults).run();
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

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

const char *dsflash::layerModeName(LayerMode mode) {
  constexpr const char *kNames[] = {"window", "full", "reindex", "reuse"};
  return kNames[size_t(mode)];
}

static bool contains(const std::vector<int64_t> &ids, int64_t layer) {
  return std::find(ids.begin(), ids.end(), layer) != ids.end();
}

/// The last of the ascending ids at or before the layer, or -1.
static int64_t nearest(const std::vector<int64_t> &ids, int64_t layer) {
  auto after = std::upper_bound(ids.begin(), ids.end(), layer);
  return after == ids.begin() ? -1 : *std::prev(after);
}

LayerMode ModelConfig::mode(int64_t layer) const {
  if (ratio(layer) == 0)
    return LayerMode::Window;
  if (isKvSource(layer))
    return LayerMode::Full;
  return isIndexSource(layer) ? LayerMode::Reindex : LayerMode::Reuse;
}

bool ModelConfig::isKvSource(int64_t layer) const {
  return contains(kv_source_layer_ids, layer);
}

bool ModelConfig::isIndexSource(int64_t layer) const {
  return contains(index_source_layer_ids, layer);
}

int64_t ModelConfig::kvSource(int64_t layer) const {
  return ratio(layer) == 0 ? -1 : nearest(kv_source_layer_ids, layer);
}

int64_t ModelConfig::indexSource(int64_t layer) const {
  return ratio(layer) == 0 ? -1 : nearest(index_source_layer_ids, layer);
}

int64_t ModelConfig::encoderLayers() const {
  for (int64_t source : kv_source_layer_ids)
    if (ratio(source) == 1)
      return source;
  return num_hidden_layers;
}

int64_t ModelConfig::engramSlot(int64_t layer) const {
  auto found =
      std::find(engram_layer_ids.begin(), engram_layer_ids.end(), layer);
  return found == engram_layer_ids.end() ? -1
                                         : found - engram_layer_ids.begin();
}

int64_t ModelConfig::experts(int64_t layer) const {
  return isDraft(layer) && dspark_n_routed_experts ? dspark_n_routed_experts
                                                   : n_routed_experts;
}

int64_t ModelConfig::expertsPerToken(int64_t layer) const {
  return isDraft(layer) && dspark_num_experts_per_tok
             ? dspark_num_experts_per_tok
             : num_experts_per_tok;
}
