//===- Launch.cpp - One launch of a kernel --------------------------------===//

#include "Launch.h"

#include "Block.h"

#include <algorithm>
#include <thread>

namespace dsflash::simt {

// More would not help to find the cause.
static constexpr size_t kMaxFaults = 32;

std::string Launch::where(const Site &site) const {
  const ptx::Location &location = site.instruction->location;
  std::string text = kernel.name;
  if (site.function != &kernel)
    text += " in " + site.function->name;
  text += ":" + std::to_string(location.line);
  auto file = module.files.find(location.file);
  if (file != module.files.end() && location.sourceLine)
    text += " (" + file->second + ":" + std::to_string(location.sourceLine) +
            ":" + std::to_string(location.sourceColumn) + ")";
  return text;
}

void Launch::fault(const ThreadContext *who, const Site &site,
                   const std::string &kind, const std::string &why) {
  std::lock_guard<std::mutex> lock(mutex);
  if (known.size() >= kMaxFaults ||
      !known.insert({site.instruction, kind}).second)
    return;
  auto triple = [](const uint32_t *value) {
    return "(" + std::to_string(value[0]) + ", " + std::to_string(value[1]) +
           ", " + std::to_string(value[2]) + ")";
  };
  std::string text = kind + ": " + why;
  if (who)
    text += "; thread " + triple(who->tid) + " of block " + triple(who->ctaid);
  faults.add(where(site), text);
}

Status Launch::takeFaults() { return std::move(faults); }

static uint64_t orderedIndex(const Launch &launch,
                             const std::vector<uint64_t> &shuffled,
                             uint64_t position, uint64_t total) {
  switch (launch.options.order) {
  case Order::Forward:
    return position;
  case Order::Reverse:
    return total - 1 - position;
  case Order::Random:
    return shuffled[position];
  }
  return position;
}

void runLaunch(Launch &launch) {
  uint64_t total = launch.grid.count();
  std::vector<uint64_t> shuffled;
  if (launch.options.order == Order::Random) {
    shuffled.resize(total);
    for (uint64_t i = 0; i < total; ++i)
      shuffled[i] = i;
    std::shuffle(shuffled.begin(), shuffled.end(),
                 std::mt19937_64(launch.options.seed));
  }
  std::atomic<uint64_t> next{0};
  std::atomic<bool> outOfMemory{false};
  auto work = [&] {
    Block block(launch);
    if (!block.prepare()) {
      outOfMemory = true;
      return;
    }
    for (uint64_t i; !launch.stopped && (i = next++) < total;)
      block.run(orderedIndex(launch, shuffled, i, total));
  };
  unsigned threads = launch.options.threads;
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  if (launch.options.checks || launch.options.counters)
    threads = 1;
  // A host thread costs as much as a few thousand threads of a kernel.
  if (total * launch.block.count() < 4096)
    threads = 1;
  threads = unsigned(std::min<uint64_t>(threads, total));
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
  if (outOfMemory)
    launch.outOfMemory = true;
}

} // namespace dsflash::simt
