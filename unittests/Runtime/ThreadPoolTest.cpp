//===- ThreadPoolTest.cpp -------------------------------------------------===//

#include "dsflash/Runtime/ThreadPool.h"

#include "gtest/gtest.h"

#include <chrono>
#include <set>
#include <thread>
#include <vector>

using namespace dsflash;

namespace {

struct Counts {
  std::vector<std::atomic<int>> touched;
  explicit Counts(size_t count) : touched(count) {}
};

void touch(void *context, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    ++static_cast<Counts *>(context)->touched[size_t(i)];
}

TEST(ThreadPool, NeverMoreThreadsThanCores) {
  EXPECT_EQ(ThreadPool(1000).threads(), availableCores());
  EXPECT_EQ(ThreadPool(0).threads(), availableCores());
  EXPECT_EQ(ThreadPool(1).threads(), 1);
}

TEST(ThreadPool, EveryItemOnce) {
  for (int threads : {1, 0}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 2, 3, 7, 8, 9, 1000}) {
      Counts counts{size_t(count)};
      pool.run(touch, &counts, count);
      for (const std::atomic<int> &touched : counts.touched)
        EXPECT_EQ(touched, 1);
    }
  }
}

TEST(ThreadPool, OneThreadCallsDirectly) {
  ThreadPool pool(1);
  std::thread::id here = std::this_thread::get_id(), there;
  pool.run(
      [](void *context, int64_t begin, int64_t end) {
        EXPECT_EQ(begin, 0);
        EXPECT_EQ(end, 10);
        *static_cast<std::thread::id *>(context) = std::this_thread::get_id();
      },
      &there, 10);
  EXPECT_EQ(here, there);
}

TEST(ThreadPool, TasksMayNest) {
  ThreadPool pool;
  struct Nest {
    ThreadPool &pool;
    Counts counts{100};
  } nest{pool};
  pool.run(
      [](void *context, int64_t begin, int64_t end) {
        auto *nest = static_cast<Nest *>(context);
        for (int64_t i = begin; i < end; ++i)
          nest->pool.run(touch, &nest->counts, 100);
      },
      &nest, 10);
  for (const std::atomic<int> &touched : nest.counts.touched)
    EXPECT_EQ(touched, 10);
}

// Back to back, large ones after small ones, and with pauses in which the
// workers fall asleep.
TEST(ThreadPool, ManyJobs) {
  ThreadPool pool;
  Counts counts(64);
  constexpr int jobs = 20000, naps = 20;
  for (int job = 0; job < jobs; ++job) {
    pool.run(touch, &counts, 2);
    pool.run(touch, &counts, 64);
  }
  for (int job = 0; job < naps; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool.run(touch, &counts, 64);
  }
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(counts.touched[i], jobs + naps + (i < 2 ? jobs : 0));
}

} // namespace
