//===- EngramBench.h - Speed of Engram tables on a disk ---------*- C++ -*-===//
//
// Rows of a cold file as the runtime reads them, beside plain reads at random
// places of the same file in the same run, and what a cold file costs a step.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_BENCH_ENGRAMBENCH_H
#define DSFLASH_BENCH_ENGRAMBENCH_H

#include "dsflash/Support/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace dsflash {

struct EngramBenchOptions {
  std::string model;
  /// Checkpoint folder; empty: where the model was compiled.
  std::string weights;
  /// The tables.
  std::string engramFile;
  /// Random tokens whose rows are read at once.
  int64_t promptTokens = 64;
  /// Pairs of steps with a cold and with a warm file.
  int64_t generate = 16;
  /// 0: one a core.
  int threads = 0;
};

struct EngramBench {
  int64_t reads = 0;    ///< of the prompt's rows
  double rowsRate = 0;  ///< reads a second of the runtime, cold
  double plainRate = 0; ///< reads a second at random places, cold
  double coldStep = 0;  ///< seconds of a decode step
  double warmStep = 0;

  /// 1 where the file stays in memory whatever is dropped.
  double fraction() const { return reads > 0 ? rowsRate / plainRate : 1; }
  /// Part of the speed of generation that a cold file takes.
  double loss() const { return 1 - warmStep / coldStep; }

  /// By the keys that scripts rely on.
  nlohmann::json json() const;
  std::string table() const;
};

/// Opens a model and measures it with the file dropped from the system's cache
/// again and again. Errors: a model or a file that cannot be opened, a model
/// without Engram, a failure of compiled code.
Result<EngramBench> benchEngram(const EngramBenchOptions &options);

} // namespace dsflash

#endif // DSFLASH_BENCH_ENGRAMBENCH_H
