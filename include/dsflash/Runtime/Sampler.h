//===- Sampler.h - Logits to a token ----------------------------*- C++ -*-===//

#ifndef DSFLASH_RUNTIME_SAMPLER_H
#define DSFLASH_RUNTIME_SAMPLER_H

#include "dsflash/Support/Status.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dsflash {

struct SamplingOptions {
  /// 0 always takes the best token.
  double temperature = 1.0;
  /// Smallest set of the best tokens whose probabilities reach this sum.
  double topP = 0.95;
  uint64_t seed = 0;
};

/// Error if no token can be drawn from the logits: a NaN, an infinity, or
/// nothing above minus infinity. `where` says whose logits they are.
Status checkLogits(const std::string &where, const float *logits,
                   int64_t vocab);

/// Best token; of equal ones the lowest id.
int32_t argmax(const float *logits, int64_t vocab);

/// Draws the tokens of one sequence. The same seed gives the same draws on
/// every machine. Logits must have passed checkLogits.
class Sampler {
public:
  explicit Sampler(const SamplingOptions &options)
      : options(options), random(options.seed) {}

  bool greedy() const { return options.temperature <= 0; }

  /// Draws a token, or takes the best one.
  int32_t sample(const float *logits, int64_t vocab);

  /// Probability [vocab] of each token after temperature and top-p.
  void distribution(const float *logits, int64_t vocab,
                    std::vector<float> &probabilities);
  /// A token in proportion to non-negative weights, of which one is positive.
  int32_t draw(const std::vector<float> &weights);
  /// Uniform in [0, 1).
  double uniform() { return double(random() >> 11) * 0x1p-53; }

private:
  /// Zeroes all but the smallest set of best tokens that reaches top-p.
  void cutTail(std::vector<float> &probabilities);

  SamplingOptions options;
  std::mt19937_64 random;
  std::vector<float> scratch;
  std::vector<int32_t> order;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_SAMPLER_H
