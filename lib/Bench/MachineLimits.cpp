//===- MachineLimits.cpp - What this machine can do at best ---------------===//

#include "dsflash/Bench/MachineLimits.h"
#include "Format.h"
#include "LoadedModel.h"
#include "MachineLoops.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <sched.h>
#include <sys/mman.h>
#include <thread>
#include <vector>

using namespace dsflash;

namespace {

constexpr double kSeconds = 0.5;
constexpr size_t kBufferBytes = size_t(256) << 20;
constexpr size_t kWindowBytes = size_t(8) << 20;

/// Lets threads go on when all have come. Threads spin, because a window is
/// shorter than a sleep.
class Barrier {
public:
  explicit Barrier(int threads) : threads(threads) {}

  void wait() {
    int round = rounds;
    if (++arrived == threads) {
      arrived = 0;
      ++rounds;
      return;
    }
    for (int spins = 0; rounds == round; ++spins)
      if (spins > kSpins)
        std::this_thread::yield();
  }

private:
  static constexpr int kSpins = 100000;
  const int threads;
  std::atomic<int> arrived{0};
  std::atomic<int> rounds{0};
};

/// Keeps the calling thread on the core of that number, of those that this
/// process may use.
void stayOnCore(int number) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0)
    return;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &cores) && number-- == 0) {
      CPU_ZERO(&cores);
      CPU_SET(core, &cores);
      sched_setaffinity(0, sizeof cores, &cores);
      return;
    }
}

/// Seconds of a window in which every thread does work(thread, window): of many
/// the one that only a tenth is faster than, which no other program disturbed.
double undisturbedWindow(int threads,
                         const std::function<void(int, size_t)> &work) {
  struct Span {
    double begin, end;
  };
  Barrier barrier(threads);
  std::atomic<bool> goOn{true};
  Stopwatch watch;
  std::vector<Span> spans(size_t(threads), Span{});
  std::vector<double> seconds;
  auto runThread = [&](int thread) {
    stayOnCore(thread);
    for (size_t window = 0;; ++window) {
      if (thread == 0)
        goOn = watch.seconds() < kSeconds;
      barrier.wait();
      if (!goOn)
        return;
      Span &span = spans[size_t(thread)];
      span.begin = watch.seconds();
      work(thread, window);
      span.end = watch.seconds();
      barrier.wait();
      // The others wait for this one before they begin the next window.
      if (thread != 0)
        continue;
      Span whole = spans[0];
      for (const Span &other : spans)
        whole = {std::min(whole.begin, other.begin),
                 std::max(whole.end, other.end)};
      seconds.push_back(whole.end - whole.begin);
    }
  };
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; ++thread)
    workers.emplace_back(runThread, thread);
  for (std::thread &worker : workers)
    worker.join();
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 10];
}

/// Whole pages that the system gives back at once.
struct PagesFree {
  void operator()(char *pages) const { munmap(pages, kBufferBytes); }
};
using Pages = std::unique_ptr<char, PagesFree>;

Pages makePages() {
  void *pages = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return nullptr;
  madvise(pages, kBufferBytes, MADV_HUGEPAGE);
  std::memset(pages, 1, kBufferBytes);
  return Pages(static_cast<char *>(pages));
}

double memoryRate(int threads) {
  std::vector<Pages> buffers;
  for (int thread = 0; thread < threads; ++thread) {
    buffers.push_back(makePages());
    if (!buffers.back())
      return 0;
  }
  std::atomic<uint64_t> sink{0};
  double seconds = undisturbedWindow(threads, [&](int thread, size_t window) {
    constexpr size_t kWindows = kBufferBytes / kWindowBytes;
    sink ^= readStreams(buffers[size_t(thread)].get() +
                            window % kWindows * kWindowBytes,
                        kWindowBytes);
  });
  return double(kWindowBytes) * threads / seconds;
}

std::optional<double> multiplyRate(int threads, const MultiplyLoop &loop) {
  if (!loop.run)
    return std::nullopt;
  std::atomic<float> sink{0};
  double seconds =
      undisturbedWindow(threads, [&](int, size_t) { sink = loop.run(); });
  return loop.operations * threads / seconds;
}

} // namespace

MachineLimits dsflash::measureLimits(int threads) {
  int cores = availableCores();
  MachineLimits limits;
  limits.threads = threads <= 0 ? cores : std::min(threads, cores);
  limits.memory = memoryRate(limits.threads);
  limits.fp32 = *multiplyRate(limits.threads, fp32Loop());
  limits.bf16 = multiplyRate(limits.threads, bf16Loop());
  limits.int8 = multiplyRate(limits.threads, int8Loop());
  return limits;
}

nlohmann::json MachineLimits::json() const {
  auto giga = [](std::optional<double> rate) {
    return rate ? nlohmann::json(*rate / 1e9) : nlohmann::json();
  };
  return {{"memory_gb_s", giga(memory)},
          {"fp32_gflop_s", giga(fp32)},
          {"bf16_gflop_s", giga(bf16)},
          {"int8_gop_s", giga(int8)},
          {"threads", threads}};
}

std::string MachineLimits::table() const {
  std::string text = "limits with " + std::to_string(threads) +
                     (threads == 1 ? " thread\n" : " threads\n");
  auto add = [&](const char *name, std::optional<double> rate,
                 const char *unit) {
    if (rate)
      appendFormat(text, "  %-14s %9.1f %s\n", name, *rate / 1e9, unit);
    else
      appendFormat(text, "  %-14s no instruction\n", name);
  };
  add("memory read", memory, "GB/s");
  add("fp32", fp32, "GFLOP/s");
  add("bf16", bf16, "GFLOP/s");
  add("int8", int8, "GOP/s");
  return text;
}
