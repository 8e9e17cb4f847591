//===- Options.h - Command line of dsflash-bench ----------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_DSFLASHBENCH_OPTIONS_H
#define DSFLASH_TOOLS_DSFLASHBENCH_OPTIONS_H

#include "dsflash/Bench/Comparison.h"
#include "dsflash/Bench/CompileBench.h"
#include "dsflash/Bench/ContextBench.h"
#include "dsflash/Bench/EngramBench.h"
#include "dsflash/Bench/KernelBench.h"
#include "dsflash/Bench/ModelBench.h"
#include "dsflash/Bench/RandomCheckpoint.h"

#include <optional>
#include <string>

namespace dsflash::bench {

enum class Command {
  MakeCheckpoint,
  Limits,
  Model,
  Kernels,
  Compile,
  Compare,
  Engram
};

struct Options {
  Command command = Command::MakeCheckpoint;

  std::string checkpoint;
  std::string config;
  RandomCheckpointOptions random;

  int threads = 0;
  std::string jsonFile;
  ModelBenchOptions model;
  KernelBenchOptions kernels;
  CompileBenchOptions compile;
  ComparisonOptions comparison;
  EngramBenchOptions engram;
};

/// Reads the command line. Returns nothing when the process is to end with
/// `exitCode`: after --help or --version (0), after wrong usage (2), which has
/// been reported.
std::optional<Options> parseOptions(int argc, char **argv, int &exitCode);

} // namespace dsflash::bench

#endif // DSFLASH_TOOLS_DSFLASHBENCH_OPTIONS_H
