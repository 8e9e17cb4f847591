//===- LaunchTimes.cpp - Where the time of a run goes ---------------------===//

#include "LaunchTimes.h"

#include <algorithm>

using namespace dsflash;

LaunchTimes::LaunchTimes(ThreadPool &pool) : pool(pool) {
  pool.setRunObserver([this](dsf_task task, double seconds) {
    Total &total = totals[task];
    ++total.count;
    total.seconds += seconds;
  });
}

std::vector<KernelTime> LaunchTimes::kernels(const char *phase, int64_t repeats,
                                             KernelNames &names) const {
  std::vector<KernelTime> result;
  for (const auto &[task, total] : totals) {
    KernelTime kernel;
    kernel.name = names.name(task);
    kernel.phase = phase;
    kernel.count = total.count / repeats;
    kernel.seconds = total.seconds / double(repeats);
    result.push_back(std::move(kernel));
  }
  std::sort(result.begin(), result.end(),
            [](const KernelTime &a, const KernelTime &b) {
              return a.seconds > b.seconds;
            });
  return result;
}
