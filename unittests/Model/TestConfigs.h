//===- TestConfigs.h - Configs for the tests of the model library -*- C++ -*-=//

#ifndef DSFLASH_UNITTESTS_MODEL_TESTCONFIGS_H
#define DSFLASH_UNITTESTS_MODEL_TESTCONFIGS_H

#include "dsflash/Model/ModelConfig.h"

#include <stdexcept>

namespace dsflash::test {

/// The published config.
inline const char *const kPublishedConfig =
    DSFLASH_SOURCE_DIR "/models/deepseek-v4.1-flash/config.json";

/// A small model with every part but vision.
inline nlohmann::json smallConfig() {
  return nlohmann::json::parse(R"({
    "architectures": ["DeepseekV41ForCausalLM"],
    "model_type": "deepseek_v41",
    "dtype": "bfloat16",
    "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2,
    "image_token_id": 264,
    "quantization_config": {
      "quant_method": "fp8", "activation_scheme": "dynamic",
      "weight_block_size": [32, 32], "scale_fmt": "ue8m0",
      "expert_dtype": "fp4"
    },
    "text_config": {
      "model_type": "deepseek_v41_text",
      "vocab_size": 288, "hidden_size": 128, "moe_intermediate_size": 64,
      "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 64,
      "qk_rope_head_dim": 16, "q_lora_rank": 64, "o_lora_rank": 32,
      "o_groups": 2, "hidden_act": "silu", "swiglu_limit": 10.0,
      "rms_norm_eps": 1e-20, "max_position_embeddings": 4096,
      "rope_theta": 10000, "compress_rope_theta": 160000,
      "rope_scaling": {
        "rope_type": "yarn", "factor": 16, "beta_fast": 32, "beta_slow": 1,
        "original_max_position_embeddings": 256
      },
      "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2,
      "scoring_func": "sqrtsoftplus", "topk_method": "noaux_tc",
      "norm_topk_prob": true, "routed_scaling_factor": 1.5,
      "sliding_window": 8, "index_n_heads": 4, "index_head_dim": 32,
      "index_topk": 6, "hc_mult": 4, "hc_sinkhorn_iters": 20, "hc_eps": 1e-06,
      "num_hidden_layers": 8, "compress_ratios": [0, 2, 2, 2, 1, 1, 1, 1, 0, 0],
      "kv_source_layer_ids": [1, 3, 4], "index_source_layer_ids": [1, 3, 4, 6],
      "candidate_source_layer_id": 4, "candidate_topk_blocks": 3,
      "candidate_block_size": 4,
      "engram_layer_ids": [1, 3], "engram_max_ngram_size": 4,
      "engram_vocab_size": 64, "engram_n_heads": 2, "engram_head_dim": 32,
      "engram_pad_token_id": 2, "engram_compressed_vocab_size": 259,
      "engram_num_embeddings": [462, 630],
      "num_nextn_predict_layers": 2, "dspark_block_size": 5,
      "dspark_noise_token_id": 259, "dspark_target_layer_ids": [5, 6, 7],
      "dspark_markov_rank": 32, "dspark_n_routed_experts": 4,
      "dspark_num_experts_per_tok": 2
    }
  })");
}

/// The config of a document that must be valid.
inline ModelConfig validConfig(const nlohmann::json &document) {
  Result<ModelConfig> config = parseModelConfig(document, "config.json");
  if (!config.ok())
    throw std::runtime_error(config.status().str());
  return *config;
}

} // namespace dsflash::test

#endif // DSFLASH_UNITTESTS_MODEL_TESTCONFIGS_H
