//===- Rope.cpp - Rotary frequencies --------------------------------------===//

#include "dsflash/Model/Rope.h"

#include <algorithm>
#include <cmath>

using namespace dsflash;

/// The dimension that completes `turns` turns over the original context.
static double yarnDimension(const RopeScaling &yarn, double dim, double base,
                            double turns) {
  constexpr double kPi = 3.14159265358979323846;
  return dim *
         std::log(yarn.original_max_position_embeddings / (turns * 2 * kPi)) /
         (2 * std::log(base));
}

std::vector<float> dsflash::ropeFrequencies(const ModelConfig &config,
                                            bool compressed) {
  int64_t dim = config.qk_rope_head_dim;
  double base = compressed ? config.compress_rope_theta : config.rope_theta;
  std::vector<float> frequencies(dim / 2);
  for (int64_t i = 0; i < dim / 2; ++i)
    frequencies[i] = 1.0f / std::pow(float(base), float(2 * i) / float(dim));
  if (!compressed || !config.rope_scaling)
    return frequencies;

  const RopeScaling &yarn = *config.rope_scaling;
  double low =
      std::max(std::floor(yarnDimension(yarn, dim, base, yarn.beta_fast)), 0.0);
  double high =
      std::min(std::ceil(yarnDimension(yarn, dim, base, yarn.beta_slow)),
               double(dim - 1));
  float span = float(std::max(high - low, 1e-3));
  for (int64_t i = 0; i < dim / 2; ++i) {
    float ramp = std::clamp((float(i) - float(low)) / span, 0.0f, 1.0f);
    float keep = 1.0f - ramp;
    frequencies[i] = frequencies[i] / float(yarn.factor) * (1.0f - keep) +
                     frequencies[i] * keep;
  }
  return frequencies;
}
