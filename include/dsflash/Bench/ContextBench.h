//===- ContextBench.h - Steps behind long contexts --------------*- C++ -*-===//
//
// How a session and a decode step grow with the tokens before them. A context
// is not read: rows of a short prompt are repeated in the state, which costs
// what rows of a real one do.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_BENCH_CONTEXTBENCH_H
#define DSFLASH_BENCH_CONTEXTBENCH_H

#include "dsflash/Bench/ModelBench.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace dsflash {

struct ContextBench {
  struct Step {
    /// Tokens with that of the last step.
    int64_t tokens = 0;
    /// Memory behind the session's address range, and its rows in use.
    int64_t sessionBytes = 0, rowBytes = 0;
    /// Of the median step; in it, by its mean, of the indexers that score all
    /// keys and of those that score candidates.
    double seconds = 0, scanSeconds = 0, candidateSeconds = 0;
    /// Index keys in the candidate blocks that its Reindex layers were given;
    /// none without the observation points "attn.candidates".
    std::optional<int64_t> candidateKeys;
    /// The compiler's row for so many tokens; null if it has none.
    nlohmann::json work;
  };
  std::vector<Step> steps;
  /// What the compiler reported of the growth of operations; may be null.
  nlohmann::json growth;

  nlohmann::json json() const;
  std::string table() const;
};

/// Measures the last steps of each of the options' contexts. Errors: as of
/// benchModel; a report without contexts, a context that is too short for the
/// steps and the prompt that is repeated.
Result<ContextBench> benchContexts(const ModelBenchOptions &options);

} // namespace dsflash

#endif // DSFLASH_BENCH_CONTEXTBENCH_H
