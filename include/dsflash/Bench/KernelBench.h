//===- KernelBench.h - Time of each kernel of a model -----------*- C++ -*-===//
//
// The launches of a real run are timed, so that caches hold what they hold in
// use. What a launch has to read and multiply comes from the compiler's report.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_BENCH_KERNELBENCH_H
#define DSFLASH_BENCH_KERNELBENCH_H

#include "dsflash/Bench/MachineLimits.h"
#include "dsflash/Support/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dsflash {

struct KernelBenchOptions {
  std::string model;
  /// Checkpoint folder; empty: where the model was compiled.
  std::string weights;
  /// What the compiler reported of this model; empty: times only.
  std::string report;
  /// As dsflash-run has it. "cpu": kernels are timed; else the device counts
  /// (DeviceBench.h).
  std::string device = "cpu";
  /// Decode steps to average over.
  int64_t generate = 16;
  /// How many sequences decode side by side. The report knows of one only.
  int64_t sequences = 1;
  /// 0: one a core.
  int threads = 0;
};

/// All launches of one kernel in one phase.
struct KernelTime {
  std::string name;
  /// "decode", one step behind the prompt, or "prefill", a prompt of 512
  /// tokens.
  std::string phase;
  int64_t count = 0;
  double seconds = 0;
  /// Bytes read and written, and operations; nothing if not reported.
  std::optional<double> bytes, operations;
};

struct KernelBench {
  MachineLimits limits;
  /// Slowest first, phase by phase.
  std::vector<KernelTime> kernels;

  /// By the keys that scripts rely on. The limit of a kernel is that of memory
  /// and fp32 in which it needs more time, `fraction` that time divided by the
  /// measured one; null where the work is not known.
  nlohmann::json json() const;
  std::string table() const;
};

/// Errors: a model that cannot be opened or is too short for the prompt, a
/// report that cannot be read, a failure of compiled code.
Result<KernelBench> benchKernels(const KernelBenchOptions &options);

} // namespace dsflash

#endif // DSFLASH_BENCH_KERNELBENCH_H
