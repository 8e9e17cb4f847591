//===- LayerPlan.cpp - What a config says of each layer -------------------===//

#include "dsflash/Model/ModelConfig.h"

#include <algorithm>

using namespace dsflash;

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
