//===- ThreadPool.cpp - Workers for compiled code -------------------------===//

#include "dsflash/Runtime/ThreadPool.h"

#include <algorithm>
#include <sched.h>
#include <utility>

using namespace dsflash;

namespace {

/// About a tenth of a millisecond: longer than the serial work between two
/// kernels, short enough to leave the core to others.
constexpr int kSpins = 2000;
/// Pieces a thread, so that one that starts late leaves its share to others.
constexpr int64_t kPiecesPerThread = 4;

thread_local bool insideTask = false;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

} // namespace

int dsflash::availableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0)
    return std::max(1, CPU_COUNT(&cores));
  return std::max(1, int(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  int cores = availableCores();
  threads = threads <= 0 ? cores : std::min(threads, cores);
  for (int i = 1; i < threads; ++i)
    workers.emplace_back([this, i] { workerLoop(i); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::runPiece(int thread, dsf_task task, void *context,
                          int64_t begin, int64_t end) {
  auto started =
      recorder ? Timeline::Clock::now() : Timeline::Clock::time_point();
  bool outer = std::exchange(insideTask, true);
  task(context, begin, end);
  insideTask = outer;
  if (recorder)
    recorder->add(thread, "piece", started, Timeline::Clock::now(), "items",
                  end - begin);
}

void ThreadPool::run(dsf_task task, void *context, int64_t count) {
  if (count <= 0)
    return;
  if (insideTask)
    return task(context, 0, count);
  if (!observer)
    return runInPieces(task, context, count);
  auto start = Timeline::Clock::now();
  runInPieces(task, context, count);
  observer(
      task,
      std::chrono::duration<double>(Timeline::Clock::now() - start).count());
}

void ThreadPool::runInPieces(dsf_task task, void *context, int64_t count) {
  if (workers.empty() || count == 1)
    return runPiece(0, task, context, 0, count);

  auto pieces =
      uint32_t(std::min<int64_t>(count, kPiecesPerThread * threads()));
  jobTask = task;
  jobContext = context;
  jobCount = count;
  jobPieces = pieces;
  unfinished = pieces;
  uint32_t job = epoch() + 1;
  ticket = uint64_t(job) << 32 | pieces;
  if (sleepers > 0) {
    std::lock_guard<std::mutex> lock(mutex);
    wake.notify_all();
  }
  work(0, job);
  for (int spins = 0; unfinished > 0; ++spins) {
    if (spins < kSpins)
      pause();
    else
      std::this_thread::yield();
  }
}

void ThreadPool::work(int thread, uint32_t job) {
  uint64_t seen = ticket;
  while (uint32_t(seen >> 32) == job && uint32_t(seen) > 0) {
    if (!ticket.compare_exchange_weak(seen, seen - 1))
      continue;
    int64_t count = jobCount, pieces = jobPieces;
    int64_t piece = pieces - uint32_t(seen);
    auto bound = [&](int64_t i) {
      return count / pieces * i + std::min(i, count % pieces);
    };
    runPiece(thread, jobTask, jobContext, bound(piece), bound(piece + 1));
    --unfinished;
    seen = ticket;
  }
}

void ThreadPool::waitForJob(uint32_t lastEpoch) {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (epoch() != lastEpoch || stopping)
      return;
    pause();
  }
  std::unique_lock<std::mutex> lock(mutex);
  ++sleepers;
  wake.wait(lock, [&] { return epoch() != lastEpoch || stopping; });
  --sleepers;
}

void ThreadPool::workerLoop(int thread) {
  uint32_t lastEpoch = 0;
  while (true) {
    waitForJob(lastEpoch);
    if (stopping)
      return;
    lastEpoch = epoch();
    work(thread, lastEpoch);
  }
}
