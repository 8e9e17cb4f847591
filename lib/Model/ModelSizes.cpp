//===- ModelSizes.cpp - Parameters and cache bytes of a model -------------===//

#include "dsflash/Model/Checkpoint.h"

#include <cstdlib>

using namespace dsflash;

/// Backbone layer of a weight, or -1 if it belongs to none.
static int64_t layerOf(const std::string &name) {
  constexpr std::string_view kPrefix = "layers.";
  return name.compare(0, kPrefix.size(), kPrefix) == 0
             ? std::strtoll(name.c_str() + kPrefix.size(), nullptr, 10)
             : -1;
}

/// Elements that one token multiplies with: all, but of routed experts only
/// the chosen ones and of tables that are looked up nothing.
static int64_t activeElements(const ModelConfig &config,
                              const WeightInfo &weight, int64_t layer) {
  if (weight.format == WeightFormat::FP8Row || weight.name == "embed.weight")
    return 0;
  if (weight.format != WeightFormat::FP4)
    return weight.elements();
  return weight.elements() * config.expertsPerToken(layer) /
         config.experts(layer);
}

/// Bytes of one global row and its index key: FP4 values, one FP8 scale for 16
/// of a row and for 32 of a key.
static int64_t globalRowBytes(const ModelConfig &config) {
  return config.head_dim / 2 + config.head_dim / 16 +
         config.index_head_dim / 2 + config.index_head_dim / 32;
}

ModelSizes dsflash::modelSizes(const ModelConfig &config) {
  ModelSizes sizes;
  for (const WeightInfo &weight : weightPlan(config)) {
    int64_t *const counts[] = {&sizes.backbone, &sizes.engram, &sizes.draft,
                               &sizes.vision};
    *counts[size_t(weight.part)] += weight.elements();
    if (weight.part != ModelPart::Backbone && weight.part != ModelPart::Engram)
      continue;
    int64_t layer = layerOf(weight.name);
    int64_t active = activeElements(config, weight, layer);
    sizes.activeDecode += active;
    if (layer >= 0 && layer < config.encoderLayers())
      sizes.activePrefill += active;
  }
  for (int64_t source : config.kv_source_layer_ids)
    sizes.kvBytesPerToken +=
        double(globalRowBytes(config)) / config.ratio(source);
  return sizes;
}
