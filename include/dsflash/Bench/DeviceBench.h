//===- DeviceBench.h - What kernels do on a device that counts --*- C++ -*-===//
//
// One decode step behind other tokens, on a device that counts what its
// kernels touch. Counts do not depend on the machine, so they stand beside what
// the compiler reported and the time that a GPU needs at least.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_BENCH_DEVICEBENCH_H
#define DSFLASH_BENCH_DEVICEBENCH_H

#include "dsflash/Bench/KernelBench.h"

#include <nlohmann/json.hpp>

namespace dsflash {

/// All launches of one kernel in a decode step.
struct DeviceKernel {
  std::string name;
  int64_t threads = 0;     ///< of a block
  int64_t sharedBytes = 0; ///< of a block, that the launch asks for
  /// Of the device, summed over the launches (docs/Simt.md).
  nlohmann::json counters;
  /// Of the compiler's report; null without one.
  nlohmann::json report;

  /// Bytes of global memory that it touched, each once a launch.
  double uniqueBytes() const;
  /// Those over the bytes that it must move; nothing without a report.
  std::optional<double> uniqueRatio() const;
  /// Bytes that its threads asked for, over those that it touched.
  double requestRatio() const;
  /// The same by the formula of the kernel's tile (docs/Nvptx.md); nothing
  /// without a report or a formula.
  std::optional<double> formulaRatio() const;
  /// 32-byte sectors of its requests, over the least number.
  double sectorRatio() const;
  /// Passes of the shared memory's banks, over the least number; 1 without.
  double bankRatio() const;
  /// Part of its floating-point operations that tensor cores did; nothing
  /// where some did and there is no report of all.
  std::optional<double> tensorShare() const;
  /// Resident warps over those that a multiprocessor has room for, from
  /// registers and shared memory; nothing without a report.
  std::optional<double> occupancy() const;
  /// Seconds that an H200 needs at least for its bytes and operations.
  double rooflineSeconds() const;
};

struct DeviceBench {
  std::vector<DeviceKernel> kernels; ///< longest roofline time first

  nlohmann::json json() const;
  std::string table() const;
};

/// `options.report` and `options.weights` may be empty. Errors: as of
/// benchKernels, and a device that does not count.
Result<DeviceBench> benchDevice(const KernelBenchOptions &options);

} // namespace dsflash

#endif // DSFLASH_BENCH_DEVICEBENCH_H
