//===- LaunchTimes.h - Where the time of a run goes -------------*- C++ -*-===//

#ifndef DSFLASH_LIB_BENCH_LAUNCHTIMES_H
#define DSFLASH_LIB_BENCH_LAUNCHTIMES_H

#include "KernelNames.h"
#include "dsflash/Bench/KernelBench.h"
#include "dsflash/Runtime/ThreadPool.h"

#include <map>
#include <vector>

namespace dsflash {

/// Sums up the launches of a part of the run, from its making to its end.
class LaunchTimes {
public:
  explicit LaunchTimes(ThreadPool &pool);
  LaunchTimes(const LaunchTimes &) = delete;
  LaunchTimes &operator=(const LaunchTimes &) = delete;
  ~LaunchTimes() { pool.setRunObserver({}); }

  /// One of `repeats` equal parts, slowest kernel first.
  std::vector<KernelTime> kernels(const char *phase, int64_t repeats,
                                  KernelNames &names) const;

private:
  struct Total {
    int64_t count = 0;
    double seconds = 0;
  };

  ThreadPool &pool;
  std::map<dsf_task, Total> totals;
};

} // namespace dsflash

#endif // DSFLASH_LIB_BENCH_LAUNCHTIMES_H
