//===- CompileBench.h - Time of the compiler --------------------*- C++ -*-===//
//
// The compiler runs as users run it, as a program: what it reports of its
// stages and passes, and how long a model takes whose code is in the cache.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_BENCH_COMPILEBENCH_H
#define DSFLASH_BENCH_COMPILEBENCH_H

#include "dsflash/Support/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsflash {

struct CompileBenchOptions {
  /// A checkpoint folder, or its config.json alone.
  std::string checkpoint;
  /// More options of dsflash-compile.
  std::vector<std::string> flags;
  /// Runs with an empty cache, and as many with a full one.
  int64_t repeat = 3;
};

struct CompileBench {
  struct Stage {
    std::string name;
    double seconds = 0;
    /// Of the module behind the stage; 0 where there is none.
    int64_t operations = 0;
  };
  struct Pass {
    std::string stage;
    std::string name;
    double seconds = 0;
  };

  /// Of the whole program from start to end: the medians of the runs, in
  /// seconds.
  double cold = 0;
  double cached = 0;
  /// Of the run whose time is `cold`.
  std::vector<Stage> stages;
  /// Slowest first.
  std::vector<Pass> passes;

  nlohmann::json json() const;
  std::string table() const;
};

/// Compiles a model with the dsflash-compile that lies beside this tool.
/// Errors: the compiler cannot be started or fails, which has said why.
Result<CompileBench> benchCompile(const CompileBenchOptions &options);

} // namespace dsflash

#endif // DSFLASH_BENCH_COMPILEBENCH_H
