//===- dsflash-bench.cpp - Measures this machine and compiled models ------===//

#include "Options.h"

#include "dsflash/Bench/DeviceBench.h"
#include "dsflash/Support/OutputFile.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>
#include <unistd.h>

using namespace dsflash;
using namespace dsflash::bench;
using nlohmann::json;

namespace {

int fail(const Status &status) {
  for (const std::string &fault : status.faults())
    std::cerr << "dsflash-bench: error: " << fault << "\n";
  return 1;
}

Status makeCheckpoint(Options &options) {
  if (isatty(STDERR_FILENO))
    options.random.progress = [](int64_t done, int64_t total) {
      std::fprintf(stderr, "\r%.1f of %.1f GB%s", double(done) / 1e9,
                   double(total) / 1e9, done == total ? "\n" : "");
    };
  return writeRandomCheckpoint(options.config, options.checkpoint,
                               options.random);
}

/// Prints the table, and writes the JSON where it was asked for.
Status report(const Options &options, const std::string &table,
              const json &results) {
  std::cout << table << std::flush;
  return options.jsonFile.empty()
             ? Status()
             : writeTextFile(options.jsonFile, results.dump(2) + "\n");
}

Status runCommand(Options &options) {
  switch (options.command) {
  case Command::MakeCheckpoint:
    return makeCheckpoint(options);
  case Command::Limits: {
    MachineLimits limits = measureLimits(options.threads);
    return report(options, limits.table(), {{"limits", limits.json()}});
  }
  case Command::Model: {
    options.model.threads = options.threads;
    if (options.model.pretends) {
      Result<ContextBench> bench = benchContexts(options.model);
      return bench ? report(options, bench->table(), bench->json())
                   : bench.status();
    }
    Result<ModelBench> bench = benchModel(options.model);
    if (!bench)
      return bench.status();
    return report(options, bench->table(), bench->json());
  }
  case Command::Engram: {
    options.engram.threads = options.threads;
    Result<EngramBench> bench = benchEngram(options.engram);
    if (!bench)
      return bench.status();
    return report(options, bench->table(), bench->json());
  }
  case Command::Kernels: {
    options.kernels.threads = options.threads;
    if (options.kernels.device != "cpu") {
      Result<DeviceBench> bench = benchDevice(options.kernels);
      if (!bench)
        return bench.status();
      return report(options, bench->table(), bench->json());
    }
    Result<KernelBench> bench = benchKernels(options.kernels);
    if (!bench)
      return bench.status();
    return report(options, bench->table(), bench->json());
  }
  case Command::Compile: {
    Result<CompileBench> bench = benchCompile(options.compile);
    if (!bench)
      return bench.status();
    return report(options, bench->table(), bench->json());
  }
  case Command::Compare: {
    options.comparison.threads = options.threads;
    Result<Comparison> comparison = compareModels(options.comparison);
    if (!comparison)
      return comparison.status();
    return report(options, comparison->table(), comparison->json());
  }
  }
  return Status();
}

} // namespace

int main(int argc, char **argv) {
  int exitCode = 0;
  std::optional<Options> options = parseOptions(argc, argv, exitCode);
  if (!options)
    return exitCode;
  Status status = runCommand(*options);
  return status.ok() ? 0 : fail(status);
}
