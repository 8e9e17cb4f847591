//===- Timeline.h - What ran when, on which thread --------------*- C++ -*-===//
//
// Collects spans of time and writes them in the trace-event format, which
// Perfetto and chrome://tracing open.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_TIMELINE_H
#define DSFLASH_RUNTIME_TIMELINE_H

#include "dsflash/Support/Status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace dsflash {

class Timeline {
public:
  using Clock = std::chrono::steady_clock;

  /// A timeline of `threads` threads; its time begins now.
  explicit Timeline(int threads)
      : start(Clock::now()), spans(size_t(threads)) {}

  /// A span of one thread. `name` and `countName` must live as long as this;
  /// a count without a name is not written. Threads may add at once, each to
  /// its own row.
  void add(int thread, const char *name, Clock::time_point begin,
           Clock::time_point end, const char *countName = nullptr,
           int64_t count = 0) {
    spans[size_t(thread)].push_back({name, countName, count, begin, end});
  }

  /// Writes a JSON object with "traceEvents", times in microseconds.
  Status write(const std::string &path) const;

private:
  struct Span {
    const char *name;
    const char *countName;
    int64_t count;
    Clock::time_point begin, end;
  };

  Clock::time_point start;
  std::vector<std::vector<Span>> spans;
};

/// The span of a block of code on the calling thread, row 0. `timeline` may be
/// null.
class TimelineScope {
public:
  TimelineScope(Timeline *timeline, const char *name,
                const char *countName = nullptr, int64_t count = 0)
      : timeline(timeline), name(name), countName(countName), count(count) {
    if (timeline)
      begin = Timeline::Clock::now();
  }
  TimelineScope(const TimelineScope &) = delete;
  TimelineScope &operator=(const TimelineScope &) = delete;
  ~TimelineScope() {
    if (timeline)
      timeline->add(0, name, begin, Timeline::Clock::now(), countName, count);
  }

private:
  Timeline *timeline;
  const char *name, *countName;
  int64_t count;
  Timeline::Clock::time_point begin;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_TIMELINE_H
