//===- ModelConfigTest.cpp - Reading, checking and writing configs --------===//

#include "dsflash/Model/ModelConfig.h"
#include "TestConfigs.h"

#include <gtest/gtest.h>

using namespace dsflash;
using nlohmann::json;

namespace {

std::vector<std::string> faultsOf(const json &document) {
  return parseModelConfig(document, "config.json").status().faults();
}

/// A change to the small config and the one fault that it must give.
struct BrokenConfig {
  const char *pointer;
  json value;
  const char *fault;
};

void expectFault(const BrokenConfig &broken) {
  json document = test::smallConfig();
  document[json::json_pointer(broken.pointer)] = broken.value;
  std::string expected = std::string("config.json: ") + broken.fault;
  std::vector<std::string> faults = faultsOf(document);
  ASSERT_EQ(faults.size(), 1u) << broken.pointer << " = " << broken.value
                               << ": " << testing::PrintToString(faults);
  EXPECT_EQ(faults[0], expected);
}

json flatConfig() {
  json document = test::smallConfig();
  json text = document["text_config"];
  text["quantization_config"] = document["quantization_config"];
  return text;
}

TEST(ModelConfig, PublishedModel) {
  auto config = loadModelConfig(test::kPublishedConfig);
  ASSERT_TRUE(config.ok()) << config.status().str();
  EXPECT_EQ(config->vocab_size, 129280);
  EXPECT_EQ(config->hidden_size, 5120);
  EXPECT_EQ(config->num_hidden_layers, 40);
  EXPECT_EQ(config->rms_norm_eps, 1e-20);
  EXPECT_EQ(config->rope_scaling->original_max_position_embeddings, 65536);
  EXPECT_EQ(config->draftLayers(), 3);
  EXPECT_EQ(config->allLayers(), 43);
  EXPECT_EQ(config->encoderLayers(), 20);
  EXPECT_EQ(config->outputGroupSize(), 4096);
  EXPECT_EQ(config->engramColumns(), 24);
  EXPECT_EQ(config->experts(39), 384);
  EXPECT_EQ(config->experts(40), 128);
  EXPECT_EQ(config->expertsPerToken(39), 6);
  EXPECT_EQ(config->expertsPerToken(42), 3);
  EXPECT_EQ(config->image_token_id, 129264);
  ASSERT_TRUE(config->hasVision());
  EXPECT_EQ(config->vision->hidden_size, 1024);
  EXPECT_FALSE(config->vision->max_wh_ratio.has_value());
}

// The layer plan table of SPEC section 1.
TEST(ModelConfig, PublishedLayerPlan) {
  auto config = loadModelConfig(test::kPublishedConfig);
  ASSERT_TRUE(config.ok()) << config.status().str();
  for (int64_t layer = 0; layer < 43; ++layer) {
    LayerMode expected = LayerMode::Reuse;
    if (layer < 2 || layer >= 40)
      expected = LayerMode::Window;
    else if (layer == 2 || layer == 8 || layer == 14 || layer == 20)
      expected = LayerMode::Full;
    else if (layer == 24 || layer == 28 || layer == 32 || layer == 36)
      expected = LayerMode::Reindex;
    EXPECT_EQ(config->mode(layer), expected) << layer;
    EXPECT_EQ(config->hasEngram(layer), layer == 1 || layer == 14) << layer;
    EXPECT_EQ(config->readsCandidates(layer), expected == LayerMode::Reindex)
        << layer;
  }
  EXPECT_EQ(config->kvSource(1), -1);
  EXPECT_EQ(config->kvSource(7), 2);
  EXPECT_EQ(config->kvSource(8), 8);
  EXPECT_EQ(config->kvSource(39), 20);
  EXPECT_EQ(config->kvSource(40), -1);
  EXPECT_EQ(config->indexSource(23), 20);
  EXPECT_EQ(config->indexSource(24), 24);
  EXPECT_EQ(config->indexSource(39), 36);
  EXPECT_EQ(config->engramSlot(14), 1);
  EXPECT_EQ(config->engramSlot(15), -1);
  EXPECT_STREQ(layerModeName(config->mode(24)), "reindex");
}

TEST(ModelConfig, FlatLayoutReadsTheSame) {
  ModelConfig flat = test::validConfig(flatConfig());
  ModelConfig nested = test::validConfig(test::smallConfig());
  nested.image_token_id.reset();
  EXPECT_EQ(flat, nested);
}

TEST(ModelConfig, Defaults) {
  json document = test::smallConfig();
  json &text = document["text_config"];
  for (auto it = text.begin(); it != text.end();) {
    bool optional = it.key().rfind("engram_", 0) == 0 ||
                    it.key().rfind("dspark_", 0) == 0 ||
                    it.key().rfind("candidate_", 0) == 0 ||
                    it.key() == "num_nextn_predict_layers" ||
                    it.key() == "norm_topk_prob" || it.key() == "rope_scaling";
    it = optional ? text.erase(it) : std::next(it);
  }
  text["compress_ratios"] = {0, 2, 2, 2, 1, 1, 1, 1};
  ModelConfig config = test::validConfig(document);
  EXPECT_EQ(config.gate_temp, 1.0);
  EXPECT_TRUE(config.norm_topk_prob);
  EXPECT_EQ(config.candidate_source_layer_id, -1);
  EXPECT_EQ(config.draftLayers(), 0);
  EXPECT_FALSE(config.hasVision());
  EXPECT_FALSE(config.rope_scaling.has_value());
  EXPECT_FALSE(config.readsCandidates(6));
  EXPECT_EQ(test::validConfig(json::parse(config.toJson())), config);
}

TEST(ModelConfig, JsonTextRoundTrips) {
  auto published = loadModelConfig(test::kPublishedConfig);
  ASSERT_TRUE(published.ok()) << published.status().str();
  for (const ModelConfig &config :
       {*published, test::validConfig(test::smallConfig())}) {
    auto document = parseJson(config.toJson(), "text");
    ASSERT_TRUE(document.ok()) << document.status().str();
    auto again = parseModelConfig(*document, "text");
    ASSERT_TRUE(again.ok()) << again.status().str();
    EXPECT_EQ(*again, config);
    EXPECT_EQ(again->toJson(), config.toJson());
  }
}

TEST(ModelConfig, TableRowsAreDerived) {
  json document = test::smallConfig();
  document["text_config"].erase("engram_num_embeddings");
  EXPECT_EQ(test::validConfig(document).engram_num_embeddings,
            (std::vector<int64_t>{462, 630}));
}

TEST(ModelConfig, MissingEngramConstantsAreNamed) {
  json document = test::smallConfig();
  for (const char *key :
       {"engram_max_ngram_size", "engram_n_heads", "engram_head_dim",
        "engram_vocab_size", "engram_compressed_vocab_size",
        "engram_num_embeddings"})
    document["text_config"].erase(key);
  std::vector<std::string> faults = faultsOf(document);
  ASSERT_EQ(faults.size(), 5u) << testing::PrintToString(faults);
  EXPECT_EQ(faults[4],
            "config.json: /text_config/engram_compressed_vocab_size: missing "
            "or too small, engram_layer_ids needs it");
}

TEST(ModelConfig, LayerPlanFaults) {
  const BrokenConfig cases[] = {
      {"/text_config/compress_ratios/2", -1,
       "/text_config/compress_ratios/2: -1 is not in 0 .. 2"},
      {"/text_config/compress_ratios/2", 3,
       "/text_config/compress_ratios/2: 3 is not in 0 .. 2"},
      {"/text_config/compress_ratios",
       {0, 2, 2},
       "/text_config/compress_ratios: 3 ratios for 8 layers and 2 draft "
       "layers"},
      {"/text_config/compress_ratios/9", 1,
       "/text_config/compress_ratios/9: draft layer has ratio 1, only 0 is "
       "supported"},
      {"/text_config/compress_ratios/0", 2,
       "/text_config/compress_ratios/0: layer has ratio 2 but no KV source at "
       "or before it"},
      {"/text_config/compress_ratios/2", 1,
       "/text_config/compress_ratios/2: layer has ratio 1, its KV source, "
       "layer 1, has 2"},
      {"/text_config/kv_source_layer_ids/2", 8,
       "/text_config/kv_source_layer_ids/2: layer 8 is not one of the 8 "
       "backbone layers"},
      {"/text_config/kv_source_layer_ids/1", -3,
       "/text_config/kv_source_layer_ids/1: -3 is not in 0 .. 1024"},
      {"/text_config/index_source_layer_ids",
       {1, 4, 3, 6},
       "/text_config/index_source_layer_ids/2: layer 3 does not come after 4"},
      {"/text_config/index_source_layer_ids",
       {1, 4, 6},
       "/text_config/kv_source_layer_ids/1: layer 3 is not in "
       "index_source_layer_ids"},
      {"/text_config/index_source_layer_ids",
       {0, 1, 3, 4, 6},
       "/text_config/index_source_layer_ids/0: layer 0 has ratio 0, a source "
       "needs 1 or 2"},
      {"/text_config/candidate_source_layer_id", 5,
       "/text_config/candidate_source_layer_id: layer 5 is not in "
       "index_source_layer_ids"},
      {"/text_config/candidate_topk_blocks", 2,
       "/text_config/candidate_topk_blocks: the blocks may hold only 5 "
       "positions, fewer than index_topk 6"},
      {"/text_config/candidate_topk_blocks", 0,
       "/text_config/candidate_topk_blocks: missing or too small, "
       "candidate_source_layer_id needs it"},
  };
  for (const BrokenConfig &broken : cases)
    expectFault(broken);
}

TEST(ModelConfig, CandidateReadersHaveTheSourcesRatio) {
  json document = test::smallConfig();
  document["text_config"]["candidate_source_layer_id"] = 3;
  std::vector<std::string> faults = faultsOf(document);
  ASSERT_EQ(faults.size(), 2u) << testing::PrintToString(faults);
  EXPECT_EQ(faults[0], "config.json: /text_config/index_source_layer_ids/2: "
                       "layer 4 has ratio 1, the candidates come from ratio 2");
}

TEST(ModelConfig, SizeFaults) {
  const BrokenConfig cases[] = {
      {"/text_config/hidden_size", 129,
       "/text_config/hidden_size: width 129 is not a multiple of 32, the "
       "quantization group"},
      {"/text_config/hidden_size", 10000000000,
       "/text_config/hidden_size: 10000000000 is not in 1 .. 131072"},
      {"/text_config/hidden_size", 18446744073709551615u,
       "/text_config/hidden_size: 18446744073709551615 is not in 1 .. 131072"},
      {"/text_config/hidden_size", 0,
       "/text_config/hidden_size: 0 is not in 1 .. 131072"},
      {"/text_config/hidden_size", -128,
       "/text_config/hidden_size: -128 is not in 1 .. 131072"},
      {"/text_config/hidden_size", 128.5,
       "/text_config/hidden_size: expected an integer, got 128.5"},
      {"/text_config/hidden_size", "128",
       "/text_config/hidden_size: expected an integer, got \"128\""},
      {"/text_config/hidden_size", nullptr,
       "/text_config/hidden_size: expected an integer, got null"},
      {"/text_config/q_lora_rank", 48,
       "/text_config/q_lora_rank: width 48 is not a multiple of 32, the "
       "quantization group"},
      {"/text_config/o_lora_rank", 24,
       "/text_config/o_lora_rank: o_groups * o_lora_rank = 48 is not a "
       "multiple of 32, the quantization group"},
      {"/text_config/moe_intermediate_size", 80,
       "/text_config/moe_intermediate_size: width 80 is not a multiple of 32, "
       "the quantization group"},
      {"/text_config/head_dim", 80,
       "/text_config/head_dim: width 80 is not a multiple of 32, the "
       "quantization group"},
      {"/text_config/index_head_dim", 48,
       "/text_config/index_head_dim: width 48 is not a multiple of 32, the "
       "quantization group"},
      {"/text_config/o_groups", 3,
       "/text_config/o_groups: 4 heads do not divide into 3 groups"},
      {"/text_config/qk_rope_head_dim", 15,
       "/text_config/qk_rope_head_dim: 15 is odd, RoPE rotates pairs"},
      {"/text_config/qk_rope_head_dim", 48,
       "/text_config/qk_rope_head_dim: 48 is more than index_head_dim 32"},
      {"/text_config/num_experts_per_tok", 9,
       "/text_config/num_experts_per_tok: 9 is more than n_routed_experts 8"},
      {"/text_config/max_position_embeddings", 100000000,
       "/text_config/max_position_embeddings: 100000000 is not in 1 .. "
       "16777216"},
      {"/text_config/sliding_window", 0,
       "/text_config/sliding_window: 0 is not in 1 .. 16777216"},
      {"/text_config/rms_norm_eps", 0,
       "/text_config/rms_norm_eps: 0 is not a positive float32"},
      {"/text_config/rms_norm_eps", 1e-60,
       "/text_config/rms_norm_eps: 1e-60 is not a positive float32"},
      {"/text_config/swiglu_limit", -1,
       "/text_config/swiglu_limit: -1 is not a float32 of at least 0"},
      {"/text_config/gate_temp", "warm",
       "/text_config/gate_temp: expected a number, got \"warm\""},
      {"/text_config/norm_topk_prob", 1,
       "/text_config/norm_topk_prob: expected true or false, got 1"},
      {"/eos_token_id", 288, "/eos_token_id: 288 is not below vocab_size 288"},
      {"/image_token_id", 300,
       "/image_token_id: 300 is not below vocab_size 288"},
      {"/text_config/rope_scaling/beta_slow", 64,
       "/text_config/rope_scaling/beta_fast: is below beta_slow"},
      {"/text_config/rope_scaling/factor", 0,
       "/text_config/rope_scaling/factor: 0 is not a positive float32"},
  };
  for (const BrokenConfig &broken : cases)
    expectFault(broken);
}

TEST(ModelConfig, StructureFaults) {
  const BrokenConfig cases[] = {
      {"/text_config/compress_ratios", 2,
       "/text_config/compress_ratios: expected a list of integers, got 2"},
      {"/text_config/kv_source_layer_ids", 4,
       "/text_config/kv_source_layer_ids: expected a list of integers, got 4"},
      {"/text_config/kv_source_layer_ids/0",
       {1},
       "/text_config/kv_source_layer_ids/0: expected an integer, got [1]"},
      {"/text_config/rope_scaling", 16,
       "/text_config/rope_scaling: expected an object, got 16"},
      {"/text_config", 3, "/text_config: expected an object, got 3"},
      {"/text_config", nullptr, "/text_config: expected an object, got null"},
      {"/text_config/q_head_norm", true,
       "/text_config/q_head_norm: unknown key"},
      {"/hidden_size", 128, "/hidden_size: unknown key"},
      {"/text_config/a~1b", 1, "/text_config/a~1b: unknown key"},
      {"/text_config/rope_scaling/mscale", 1,
       "/text_config/rope_scaling/mscale: unknown key"},
      {"/text_config/scoring_func", "softmax",
       "/text_config/scoring_func: only \"sqrtsoftplus\" is supported, got "
       "\"softmax\""},
      {"/text_config/hidden_act", "gelu",
       "/text_config/hidden_act: only \"silu\" is supported, got \"gelu\""},
      {"/text_config/n_shared_experts", 2,
       "/text_config/n_shared_experts: only 1 is supported, got 2"},
      {"/text_config/num_key_value_heads", 4,
       "/text_config/num_key_value_heads: only 1 is supported, got 4"},
      {"/text_config/tie_word_embeddings", true,
       "/text_config/tie_word_embeddings: only false is supported, got true"},
      {"/text_config/attention_bias", true,
       "/text_config/attention_bias: only false is supported, got true"},
      {"/text_config/rope_scaling/rope_type", "linear",
       "/text_config/rope_scaling/rope_type: only \"yarn\" is supported, got "
       "\"linear\""},
      {"/model_type", "llama",
       "/model_type: only \"deepseek_v41\" is supported, got \"llama\""},
      {"/quantization_config/quant_method", "awq",
       "/quantization_config/quant_method: only \"fp8\" is supported, got "
       "\"awq\""},
      {"/quantization_config/weight_block_size",
       {128, 128},
       "/quantization_config/weight_block_size: only [32,32] is supported, "
       "got [128,128]"},
      {"/quantization_config/scale_fmt", "float",
       "/quantization_config/scale_fmt: only \"ue8m0\" is supported, got "
       "\"float\""},
      {"/quantization_config/expert_dtype", "fp8",
       "/quantization_config/expert_dtype: only \"fp4\" is supported, got "
       "\"fp8\""},
  };
  for (const BrokenConfig &broken : cases)
    expectFault(broken);
  EXPECT_EQ(faultsOf(json::array()),
            std::vector<std::string>{"config.json: /: expected an object"});
}

TEST(ModelConfig, EngramFaults) {
  const BrokenConfig cases[] = {
      {"/text_config/engram_layer_ids/1", 8,
       "/text_config/engram_layer_ids/1: layer 8 is not one of the 8 backbone "
       "layers"},
      {"/text_config/engram_layer_ids",
       {1, 1},
       "/text_config/engram_layer_ids/1: layer 1 does not come after 1"},
      {"/text_config/engram_num_embeddings/1", 631,
       "/text_config/engram_num_embeddings/1: 631 rows, the primes of the "
       "table add up to 630"},
      {"/text_config/engram_num_embeddings",
       {462},
       "/text_config/engram_num_embeddings: 1 tables for 2 engram_layer_ids"},
      {"/text_config/engram_head_dim", 48,
       "/text_config/engram_head_dim: width 48 is not a multiple of 32, the "
       "quantization group"},
      {"/text_config/engram_pad_token_id", 288,
       "/text_config/engram_pad_token_id: 288 is not below vocab_size 288"},
      {"/text_config/engram_compressed_vocab_size", 289,
       "/text_config/engram_compressed_vocab_size: 289 is more than "
       "vocab_size 288"},
      {"/text_config/engram_layer_ids", json::array(),
       "/text_config/engram_num_embeddings: given without engram_layer_ids"},
  };
  for (const BrokenConfig &broken : cases)
    expectFault(broken);
}

TEST(ModelConfig, DraftFaults) {
  const BrokenConfig cases[] = {
      {"/text_config/dspark_noise_token_id", 288,
       "/text_config/dspark_noise_token_id: 288 is not below vocab_size 288"},
      {"/text_config/dspark_target_layer_ids/2", 8,
       "/text_config/dspark_target_layer_ids/2: layer 8 is not one of the 8 "
       "backbone layers"},
      {"/text_config/dspark_target_layer_ids",
       {7, 5},
       "/text_config/dspark_target_layer_ids/1: layer 5 does not come after "
       "7"},
      {"/text_config/dspark_target_layer_ids", json::array(),
       "/text_config/dspark_target_layer_ids: missing or too small, "
       "dspark_block_size needs it"},
      {"/text_config/dspark_markov_rank", 0,
       "/text_config/dspark_markov_rank: missing or too small, "
       "dspark_block_size needs it"},
      {"/text_config/dspark_num_experts_per_tok", 5,
       "/text_config/dspark_num_experts_per_tok: 5 is more than "
       "dspark_n_routed_experts 4"},
  };
  for (const BrokenConfig &broken : cases)
    expectFault(broken);
}

TEST(ModelConfig, AllFaultsInOneGo) {
  json document = test::smallConfig();
  json &text = document["text_config"];
  text["hidden_size"] = -1;
  text["surprise"] = 1;
  text["compress_ratios"][3] = 7;
  text.erase("hc_mult");
  document["quantization_config"].erase("expert_dtype");
  EXPECT_EQ(faultsOf(document),
            (std::vector<std::string>{
                "config.json: /text_config/hidden_size: -1 is not in 1 .. "
                "131072",
                "config.json: /text_config/compress_ratios/3: 7 is not in 0 "
                ".. 2",
                "config.json: /text_config/hc_mult: missing",
                "config.json: /text_config/surprise: unknown key",
                "config.json: /quantization_config/expert_dtype: missing"}));
}

TEST(ModelConfig, MisplacedKeyDoesNotHideAFault) {
  json document = test::smallConfig();
  document["o_groups"] = 2;
  document["text_config"]["o_groups"] = 0;
  EXPECT_EQ(faultsOf(document),
            (std::vector<std::string>{
                "config.json: /text_config/o_groups: 0 is not in 1 .. 4096",
                "config.json: /o_groups: unknown key"}));
}

TEST(ModelConfig, VisionFaults) {
  json document = test::smallConfig();
  document["vision_config"] = {
      {"num_hidden_layers", 2},   {"hidden_size", 64},
      {"num_attention_heads", 3}, {"intermediate_size", 96},
      {"patch_size", 14},         {"downsample_ratio", 3},
      {"max_image_tokens", 24},   {"min_pixels", 13000},
      {"max_wh_ratio", nullptr}};
  EXPECT_EQ(faultsOf(document),
            (std::vector<std::string>{
                "config.json: /vision_config/num_attention_heads: a head of "
                "64 / 3 features is not a multiple of 4"}));
  document["vision_config"]["num_attention_heads"] = 2;
  document["vision_config"]["max_wh_ratio"] = 4;
  EXPECT_EQ(test::validConfig(document).vision->max_wh_ratio, 4.0);
}

TEST(ModelConfig, LoadNamesTheFile) {
  EXPECT_EQ(loadModelConfig("/no/such/config.json").status().str(),
            "/no/such/config.json: cannot open: No such file or directory");
}

} // namespace
