//===- MachineLimits.h - What this machine can do at best -------*- C++ -*-===//
//
// The two limits that every kernel is judged by: how fast memory can be read
// and how fast numbers can be multiplied.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_BENCH_MACHINELIMITS_H
#define DSFLASH_BENCH_MACHINELIMITS_H

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace dsflash {

/// Rates of all threads together, per second. A multiply-add counts as two
/// operations.
struct MachineLimits {
  int threads = 0;
  /// Bytes from main memory, four streams a thread.
  double memory = 0;
  double fp32 = 0;
  /// Nothing if the processor has no such instruction.
  std::optional<double> bf16;
  std::optional<double> int8;

  /// By the keys that scripts rely on, in units of 10^9.
  nlohmann::json json() const;
  std::string table() const;
};

/// Measures for two seconds, in many short windows in which all threads do the
/// same at once; the fastest tenth counts, so that other programs lower speeds
/// but not limits. 0 threads: one a core; never more than that. Reads 256 MiB
/// of its own memory a thread.
MachineLimits measureLimits(int threads);

} // namespace dsflash

#endif // DSFLASH_BENCH_MACHINELIMITS_H
