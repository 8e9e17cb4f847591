//===- ConfigChecks.cpp - What the fields of a config say together --------===//

#include "ConfigChecks.h"
#include "dsflash/Model/Engram.h"

#include <algorithm>

using namespace dsflash;
using nlohmann::json;

constexpr int64_t kMaxExpertsOfAllLayers = 1 << 20;

namespace {

/// Whether all hold; unlike &&, all of them are evaluated.
bool all(std::initializer_list<bool> conditions) {
  return std::find(conditions.begin(), conditions.end(), false) ==
         conditions.end();
}

class ConsistencyChecks {
public:
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

void dsflash::checkConsistency(ModelConfig &config, const json &document,
                               std::string prefix, ConfigFaults &faults) {
  ConsistencyChecks(config, document, std::move(prefix), faults).run();
}
