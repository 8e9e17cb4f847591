//===- ThreadPool.h - Workers for compiled code -----------------*- C++ -*-===//
//
// A decode step is a few hundred short parallel pieces of work, so workers
// spin for a moment between them before they sleep.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_THREADPOOL_H
#define DSFLASH_RUNTIME_THREADPOOL_H

#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Runtime/Timeline.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dsflash {

/// Cores that this process may use.
int availableCores();

/// A fixed set of workers that serves one caller at a time.
class ThreadPool {
public:
  /// `threads` counts the calling thread; 0 asks for one a core, and more than
  /// there are cores become that many.
  explicit ThreadPool(int threads = 0);
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;
  ~ThreadPool();

  /// Records the pieces of work of each thread from now on; null ends it. The
  /// timeline needs threads() rows.
  void setTimeline(Timeline *timeline) { recorder = timeline; }

  /// Called behind each run with its task and its time in seconds; empty ends
  /// it.
  using RunObserver = std::function<void(dsf_task task, double seconds)>;
  void setRunObserver(RunObserver function) { observer = std::move(function); }

  int threads() const { return int(workers.size()) + 1; }

  /// Runs task over [0, count) in contiguous disjoint pieces and returns when
  /// all are done. From inside a task it runs on the calling thread.
  void run(dsf_task task, void *context, int64_t count);

private:
  void runInPieces(dsf_task task, void *context, int64_t count);
  void workerLoop(int thread);
  /// Runs pieces of the job of that epoch until none is left.
  void work(int thread, uint32_t epoch);
  void runPiece(int thread, dsf_task task, void *context, int64_t begin,
                int64_t end);
  void waitForJob(uint32_t lastEpoch);
  uint32_t epoch() const { return uint32_t(ticket.load() >> 32); }

  std::vector<std::thread> workers;
  Timeline *recorder = nullptr;
  RunObserver observer;

  // Job number in the upper half, unclaimed pieces in the lower. Who lowers the
  // lower half has claimed a piece; the fields below stay as they are until all
  // pieces of the job are done.
  std::atomic<uint64_t> ticket{0};
  dsf_task jobTask = nullptr;
  void *jobContext = nullptr;
  int64_t jobCount = 0;
  uint32_t jobPieces = 0;
  std::atomic<uint32_t> unfinished{0};

  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<int> sleepers{0};
  std::atomic<bool> stopping{false};
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_THREADPOOL_H
