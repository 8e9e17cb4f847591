//===- Comparison.h - Two compiled variants side by side --------*- C++ -*-===//
//
// What a change of the compiler costs or gives: both variants run in turns, so
// that a busy machine slows both, and the same tokens pass both, so that every
// difference between their values is seen where it comes into being.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_BENCH_COMPARISON_H
#define DSFLASH_BENCH_COMPARISON_H

#include "dsflash/Support/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dsflash {

struct ComparisonOptions {
  /// The folders of A and B.
  std::array<std::string, 2> models;
  /// Checkpoint folder of both; empty: where each was compiled.
  std::string weights;
  /// A JSON list of token ids, the prompt; empty: random ones.
  std::string tokens;
  /// So many random ones.
  int64_t promptTokens = 64;
  /// Tokens to generate behind the prompt in each round.
  int64_t generate = 16;
  /// Times that both are run.
  int64_t rounds = 5;
  /// 0: one a core.
  int threads = 0;
};

/// How far values are apart. NMSE: the sum of (a - b)^2, by that of a^2.
struct ValueDifference {
  double squares = 0;
  double reference = 0;

  void add(const float *a, const float *b, int64_t count);
  double nmse() const;
};

/// Ids that A chose and B did not, row by row; -1 is no choice.
struct ChoiceDifference {
  int64_t flipped = 0;
  int64_t total = 0;

  void add(const int64_t *a, const int64_t *b, int64_t count);
};

/// Between the distributions that logits give: sum of p_A (log p_A - log p_B),
/// in nats, the mean over positions.
struct LogitDifference {
  ValueDifference values;
  double divergence = 0;
  int64_t positions = 0;
  /// Positions whose best tokens differ.
  int64_t flipped = 0;

  void add(const float *a, const float *b, int64_t vocab);
  double kl() const { return positions ? divergence / double(positions) : 0; }
};

struct Comparison {
  struct Variant {
    std::string path;
    /// Medians of all rounds.
    double promptSeconds = 0;
    double stepSeconds = 0;
    /// Kernels that a decode step launches.
    int64_t launches = 0;
    int64_t codeBytes = 0;
    int64_t workspaceBytes = 0;
    int64_t sessionBytes = 0;
    /// That a generated token reads; nothing without a config.json beside the
    /// weights.
    std::optional<double> weightBytes;
    /// Operations of the IR behind each stage.
    std::map<std::string, int64_t> operations;
  };
  /// Time of B by that of A in the same round.
  struct Ratio {
    double median = 0, least = 0, most = 0;
  };
  /// Observation points of one layer, by their names without "layers.L.".
  struct Layer {
    std::map<std::string, ValueDifference> values;
    std::map<std::string, ChoiceDifference> choices;
    /// What the head makes of the stream on entry to the layer.
    LogitDifference lens;
  };

  std::array<Variant, 2> variants;
  int64_t promptTokens = 0;
  Ratio prompt, step;
  /// Of all positions of the prompt.
  LogitDifference end;
  /// Observation points outside of layers ("head.stream").
  Layer head;
  std::map<int64_t, Layer> layers;
  /// Why there are no layers; empty if there are.
  std::string noLayers;

  nlohmann::json json() const;
  std::string table() const;
};

/// Runs A and B, without drafts. Values of layers are compared where both have
/// observation points. Errors: a model that cannot be opened, different
/// vocabularies, ids that are none, more tokens than a model has positions, a
/// failure of compiled code.
Result<Comparison> compareModels(const ComparisonOptions &options);

} // namespace dsflash

#endif // DSFLASH_BENCH_COMPARISON_H
