//===- ModelConfig.h - The text model's config ------------------*- C++ -*-===//
//
// A checked `config.json` as a plain struct. Fields carry the names of the
// file; a config that loads is consistent, so nobody after it checks again.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_MODEL_MODELCONFIG_H
#define DSFLASH_MODEL_MODELCONFIG_H

#include "dsflash/Support/Json.h"
#include "dsflash/Support/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

/// What a layer's attention does beside its window (SPEC section 1).
enum class LayerMode {
  Window,  ///< ratio 0: nothing
  Full,    ///< owns compressor, global KV and index keys, and selects
  Reindex, ///< its source's KV and keys, own selection
  Reuse    ///< its source's KV, the selection of the nearest index source
};

/// "window", "full", "reindex" or "reuse".
const char *layerModeName(LayerMode mode);

/// YaRN, applied to layers with a compress ratio above 0.
struct RopeScaling {
  double factor = 1;
  double beta_fast = 32;
  double beta_slow = 1;
  int64_t original_max_position_embeddings = 0;
};

/// The vision half. It is read so that its tensors are known.
struct VisionConfig {
  int64_t num_hidden_layers = 0;
  int64_t hidden_size = 0;
  int64_t num_attention_heads = 0;
  int64_t intermediate_size = 0;
  int64_t patch_size = 0;
  double rope_theta = 10000;
  int64_t downsample_ratio = 0;
  int64_t max_image_tokens = 0;
  int64_t min_pixels = 0;
  std::optional<double> max_wh_ratio;
};

/// All parameters of the text model. Layers are numbered with the backbone
/// first: layer num_hidden_layers + s is draft layer s.
struct ModelConfig {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t max_position_embeddings = 0;
  double rms_norm_eps = 0;

  int64_t num_attention_heads = 0;
  int64_t head_dim = 0;
  int64_t qk_rope_head_dim = 0;
  int64_t q_lora_rank = 0;
  int64_t o_lora_rank = 0;
  int64_t o_groups = 0;
  int64_t sliding_window = 0;

  double rope_theta = 0;
  double compress_rope_theta = 0;
  std::optional<RopeScaling> rope_scaling;

  /// One per backbone layer (0, 1 or 2) and one 0 per draft layer.
  std::vector<int64_t> compress_ratios;
  std::vector<int64_t> kv_source_layer_ids;
  std::vector<int64_t> index_source_layer_ids;
  int64_t index_n_heads = 0;
  int64_t index_head_dim = 0;
  int64_t index_topk = 0;
  /// -1: no candidates, every index source scores its full range.
  int64_t candidate_source_layer_id = -1;
  int64_t candidate_topk_blocks = 0;
  int64_t candidate_block_size = 0;

  int64_t moe_intermediate_size = 0;
  int64_t n_routed_experts = 0;
  int64_t num_experts_per_tok = 0;
  bool norm_topk_prob = true;
  double routed_scaling_factor = 1;
  double gate_temp = 1;
  /// 0: no clamp.
  double swiglu_limit = 0;

  int64_t hc_mult = 0;
  int64_t hc_sinkhorn_iters = 0;
  double hc_eps = 0;

  std::vector<int64_t> engram_layer_ids;
  /// Rows of each Engram layer's table: the sum of its primes.
  std::vector<int64_t> engram_num_embeddings;
  int64_t engram_max_ngram_size = 1;
  int64_t engram_n_heads = 0;
  int64_t engram_head_dim = 0;
  /// Where the search for primes starts.
  int64_t engram_vocab_size = 0;
  int64_t engram_pad_token_id = 2;
  int64_t engram_compressed_vocab_size = 0;

  int64_t num_nextn_predict_layers = 0;
  /// 0: the draft layers are not used.
  int64_t dspark_block_size = 0;
  int64_t dspark_noise_token_id = 0;
  std::vector<int64_t> dspark_target_layer_ids;
  int64_t dspark_markov_rank = 0;
  /// 0 in both: as in the backbone.
  int64_t dspark_n_routed_experts = 0;
  int64_t dspark_num_experts_per_tok = 0;

  int64_t bos_token_id = 0;
  int64_t eos_token_id = 1;
  int64_t pad_token_id = 2;
  std::optional<int64_t> image_token_id;

  std::optional<VisionConfig> vision;

  bool hasVision() const { return vision.has_value(); }

  /// Number of draft layers in use.
  int64_t draftLayers() const {
    return dspark_block_size ? num_nextn_predict_layers : 0;
  }
  /// Backbone and draft layers.
  int64_t allLayers() const { return num_hidden_layers + draftLayers(); }
  bool isDraft(int64_t layer) const { return layer >= num_hidden_layers; }

  /// 0, 1 or 2; 0 for draft layers.
  int64_t ratio(int64_t layer) const {
    return isDraft(layer) ? 0 : compress_ratios[layer];
  }
  LayerMode mode(int64_t layer) const;
  bool isKvSource(int64_t layer) const;
  bool isIndexSource(int64_t layer) const;
  /// The nearest KV source at or before the layer; -1 if its ratio is 0.
  int64_t kvSource(int64_t layer) const;
  /// The nearest index source at or before the layer; -1 if its ratio is 0.
  int64_t indexSource(int64_t layer) const;
  /// Whether this index source chooses only inside the candidate blocks.
  bool readsCandidates(int64_t layer) const {
    return candidate_source_layer_id >= 0 &&
           layer > candidate_source_layer_id && isIndexSource(layer);
  }
  /// Number of layers before the first KV source of ratio 1, where the
  /// decoder starts (CED); all backbone layers if there is none.
  int64_t encoderLayers() const;
  bool hasEngram(int64_t layer) const { return engramSlot(layer) >= 0; }
  /// Position of the layer in engram_layer_ids, or -1.
  int64_t engramSlot(int64_t layer) const;
  /// Rows that one position reads from one table.
  int64_t engramColumns() const {
    return (engram_max_ngram_size - 1) * engram_n_heads;
  }
  /// Routed experts of a layer, and how many of them a token takes.
  int64_t experts(int64_t layer) const;
  int64_t expertsPerToken(int64_t layer) const;
  /// Width of one group's slice of the attention output, which wo_a reads.
  int64_t outputGroupSize() const {
    return num_attention_heads * head_dim / o_groups;
  }

  /// Canonical flat JSON text, equal bytes for equal configs; parsing it gives
  /// the same config back.
  std::string toJson() const;
};

bool operator==(const ModelConfig &a, const ModelConfig &b);

/// Reads a Hugging Face config (text_config, vision_config,
/// quantization_config) or a flat text config. The status lists everything
/// that is wrong as "where: /json/path: why": unknown keys, wrong types,
/// impossible sizes, plans that contradict themselves (SPEC section 1).
Result<ModelConfig> parseModelConfig(const nlohmann::json &document,
                                     std::string_view where);
Result<ModelConfig> loadModelConfig(const std::string &path);

} // namespace dsflash

#endif // DSFLASH_MODEL_MODELCONFIG_H
