//===- dsflash-bench.cpp - Measures this machine and compiled models ------===//

#include "Options.h"

#include "dsflash/Bench/RandomCheckpoint.h"

#include <cstdio>
#include <iostream>
#include <unistd.h>

using namespace dsflash;
using namespace dsflash::bench;

namespace {

int fail(const Status &status) {
  for (const std::string &fault : status.faults())
    std::cerr << "dsflash-bench: error: " << fault << "\n";
  return 1;
}

Status makeCheckpoint(const Options &options) {
  RandomCheckpointOptions random;
  random.seed = options.seed;
  if (isatty(STDERR_FILENO))
    random.progress = [](int64_t done, int64_t total) {
      std::fprintf(stderr, "\r%.1f of %.1f GB%s", double(done) / 1e9,
                   double(total) / 1e9, done == total ? "\n" : "");
    };
  return writeRandomCheckpoint(options.config, options.checkpoint, random);
}

Status runCommand(const Options &options) {
  switch (options.command) {
  case Command::MakeCheckpoint:
    return makeCheckpoint(options);
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
