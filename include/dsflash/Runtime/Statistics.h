//===- Statistics.h - What a run took ---------------------------*- C++ -*-===//

#ifndef DSFLASH_RUNTIME_STATISTICS_H
#define DSFLASH_RUNTIME_STATISTICS_H

#include "dsflash/Runtime/Drafting.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace dsflash {

/// Counts and times of a run, over all its sequences.
struct Statistics {
  /// Of all prompts, whether computed or reused.
  int64_t promptTokens = 0;
  /// Positions that were taken from an earlier session or from another
  /// sequence with the same beginning instead of being computed.
  int64_t reusedTokens = 0;
  int64_t generatedTokens = 0;
  double loadSeconds = 0;
  /// Until all prompts were read.
  double promptSeconds = 0;
  /// From the first decode step on. In a batch some generate while others still
  /// read, so that both times may overlap.
  double generateSeconds = 0;
  /// From the start of the prompt.
  double timeToFirstToken = 0;
  StepCounts steps;
  double kvBytesPerToken = 0;
  int64_t kvBytes = 0;
  int64_t peakMemoryBytes = 0;
  int64_t weightBytesRead = 0;

  /// Tokens that a decode step gained on average; 0 without a step.
  double tokensPerStep() const;
  double promptTokensPerSecond() const;
  /// Of the decode steps alone.
  double generateTokensPerSecond() const;

  /// By the keys that scripts rely on.
  nlohmann::json json() const;
  /// One line for people.
  std::string line() const;
};

/// Largest resident memory of this process so far, in bytes.
int64_t peakMemoryBytes();

} // namespace dsflash

#endif // DSFLASH_RUNTIME_STATISTICS_H
