//===- Counting.cpp - Requests, sectors and banks -------------------------===//

#include "Counting.h"

#include <algorithm>
#include <set>

namespace dsflash::simt {

const char *instructionClassName(InstructionClass kind) {
  static constexpr const char *names[kInstructionClasses] = {
      "integer", "float",  "special", "convert", "move",
      "control", "memory", "warp",    "barrier", "tensor"};
  return names[size_t(kind)];
}

void CounterState::add(Streams &streams, const ThreadContext &who,
                       uint32_t site, uint64_t address, unsigned bytes) {
  Stream &stream = streams[uint64_t(who.warp) << 32 | site];
  uint32_t number = stream.made[who.lane]++;
  if (number >= stream.requests.size())
    stream.requests.resize(number + 1);
  Request &request = stream.requests[number];
  request.addresses[who.lane] = address;
  request.lanes |= uint32_t(1) << who.lane;
  request.bytes = bytes;
}

void CounterState::globalAccess(const ThreadContext &who, uint32_t site,
                                Access kind, uint64_t address, unsigned bytes) {
  if (kind != Access::Write)
    counters.globalReadBytes += bytes;
  if (kind != Access::Read)
    counters.globalWrittenBytes += bytes;
  add(global, who, site, address, bytes);
}

void CounterState::sharedAccess(const ThreadContext &who, uint32_t site,
                                uint64_t offset, unsigned bytes) {
  add(shared, who, site, offset, bytes);
}

void CounterState::uniqueBytes(ShadowWord &word, Access kind, uint8_t mask) {
  auto count = [&](unsigned shift, uint64_t &total) {
    uint8_t fresh = uint8_t(mask & ~(word.counted >> shift));
    total += unsigned(__builtin_popcount(fresh));
    word.counted |= uint8_t(fresh << shift);
  };
  if (kind != Access::Write)
    count(0, counters.uniqueReadBytes);
  if (kind != Access::Read)
    count(4, counters.uniqueWrittenBytes);
}

void CounterState::countGlobal(const Request &request) {
  std::set<uint64_t> sectors, starts;
  for (uint32_t i = 0; i < kWarpSize; ++i) {
    if (!(request.lanes >> i & 1))
      continue;
    uint64_t first = request.addresses[i];
    starts.insert(first);
    for (uint64_t sector = first / 32;
         sector <= (first + request.bytes - 1) / 32; ++sector)
      sectors.insert(sector);
  }
  ++counters.globalRequests;
  counters.globalSectors += sectors.size();
  counters.idealSectors += (starts.size() * request.bytes + 31) / 32;
}

// 32 banks of 4 bytes. Lanes that read the same word share a pass. Accesses of
// 64 bits are made by half warps, of 128 bits by 8 lanes at a time.
void CounterState::countShared(const Request &request) {
  uint32_t group = request.bytes <= 4 ? 32 : request.bytes == 8 ? 16 : 8;
  ++counters.sharedRequests;
  for (uint32_t begin = 0; begin < kWarpSize; begin += group) {
    std::array<std::set<uint64_t>, 32> banks;
    std::set<uint64_t> words;
    for (uint32_t i = begin; i < begin + group; ++i) {
      if (!(request.lanes >> i & 1))
        continue;
      uint64_t last = (request.addresses[i] + request.bytes - 1) / 4;
      for (uint64_t word = request.addresses[i] / 4; word <= last; ++word) {
        banks[word % 32].insert(word);
        words.insert(word);
      }
    }
    size_t passes = 0;
    for (const std::set<uint64_t> &bank : banks)
      passes = std::max(passes, bank.size());
    counters.sharedPasses += passes;
    counters.idealPasses += (words.size() + 31) / 32;
  }
}

void CounterState::finishBlock() {
  for (const auto &[key, stream] : global)
    for (const Request &request : stream.requests)
      countGlobal(request);
  for (const auto &[key, stream] : shared)
    for (const Request &request : stream.requests)
      countShared(request);
  global.clear();
  shared.clear();
}

void CounterState::finishLaunch(const KernelCodeInfo &info,
                                const std::vector<uint64_t> &executed) {
  for (size_t i = 0; i < info.basicBlocks.size(); ++i) {
    const KernelCodeInfo::Mix &mix = info.basicBlocks[i];
    for (size_t kind = 0; kind < kInstructionClasses; ++kind)
      counters.instructions[kind] += executed[i] * mix.instructions[kind];
    counters.tensorFlops += executed[i] * mix.tensorFlops;
  }
}

} // namespace dsflash::simt
