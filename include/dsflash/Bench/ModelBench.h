//===- ModelBench.h - Speed of a compiled model -----------------*- C++ -*-===//
//
// A token cannot be made faster than its weights can be read, and a prompt not
// faster than it can be multiplied: speed is told as a part of these limits.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_BENCH_MODELBENCH_H
#define DSFLASH_BENCH_MODELBENCH_H

#include "dsflash/Bench/MachineLimits.h"
#include "dsflash/Model/ModelConfig.h"
#include "dsflash/Runtime/ModelRunner.h"
#include "dsflash/Support/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dsflash {

struct ModelBenchOptions {
  std::string model;
  /// Checkpoint folder; empty: where the model was compiled.
  std::string weights;
  /// As dsflash-run has it.
  std::string device = "cpu";
  /// Tokens before the measured ones.
  std::vector<int64_t> contexts = {0};
  /// How many sequences generate side by side, to be compared with one.
  std::vector<int64_t> sequences;
  int64_t promptTokens = 512;
  /// How the prompt is read, one measurement each.
  std::vector<Prefill> prefills = {Prefill::Full};
  int64_t generate = 16;
  /// Measure steps alone, behind contexts that are not read (ContextBench.h).
  bool pretends = false;
  /// What dsflash-compile --report wrote of this model; may be empty.
  std::string report;
  /// 0: one a core.
  int threads = 0;
};

/// What one token needs, drafts left out.
struct TokenWork {
  /// Weights that a generated token reads, as stored: all but lookup tables,
  /// of the routed experts the chosen ones.
  double weightBytes = 0;
  /// Multiply-adds of a prompt token; its logits are not made.
  double promptProducts = 0;
};

TokenWork tokenWork(const ModelConfig &config);

struct ModelBench {
  struct Speed {
    int64_t context = 0;
    /// Tokens a second; of generation by the median step.
    double prompt = 0;
    double generate = 0;
    Prefill prefill = Prefill::Full;
  };
  /// Sequences that share their calls.
  struct Batch {
    int64_t context = 0;
    int64_t sequences = 0;
    double generate = 0; ///< tokens a second, of all together
    double gain = 0;     ///< that of one sequence is 1
  };
  /// Resident memory of the process that no file backs, and what the model says
  /// it needs, in bytes.
  struct Memory {
    int64_t anonymous = 0;
    int64_t workspace = 0;
    int64_t session = 0;
  };

  TokenWork work;
  MachineLimits limits;
  std::vector<Speed> speeds;
  std::vector<Batch> batches;
  Memory memory;
  /// From before the model is opened to the first token behind a prompt of
  /// eight.
  double firstTokenSeconds = 0;

  /// Parts of the limits: two operations a product of the fp32 rate, and weight
  /// bytes of the memory rate. Nothing for a prompt that some layers skip.
  std::optional<double> promptFraction(const Speed &speed) const;
  double generateFraction(const Speed &speed) const;
  /// The time of a prompt as a part of that of a full prefill behind the same
  /// context; nothing if that was not measured.
  std::optional<double> partOfFull(const Speed &speed) const;

  /// By the keys that scripts rely on; `fraction` is that of generation.
  nlohmann::json json() const;
  std::string table() const;
};

/// Opens a model and measures it without drafts, behind a prompt of up to 512
/// tokens that brings the weights into memory. Errors: a model that
/// cannot be opened, no config.json beside its weights, more tokens than the
/// model has positions, phases wanted of a model without, a failure of compiled
/// code.
Result<ModelBench> benchModel(const ModelBenchOptions &options);

} // namespace dsflash

#endif // DSFLASH_BENCH_MODELBENCH_H
