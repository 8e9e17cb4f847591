//===- Checker.cpp - Finds faults of running kernels ----------------------===//

#include "Block.h"
#include "Counting.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace dsflash::simt {

using ptx::Space;

static std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

static const char *accessName(Access kind) {
  return kind == Access::Read    ? "load"
         : kind == Access::Write ? "store"
                                 : "atomic";
}

bool Checker::prepare() { return sharedWords.create(block.sharedBytes()); }

void Checker::startBlock(uint32_t index) {
  ++run;
  now = 1;
  blockIndex = index;
  fenced = false;
  acquired.clear();
  clocks.assign(block.launch.block.count(), {});
}

void Checker::finishBlock() {
  if (block.launch.counters)
    block.launch.counters->finishBlock();
}

uint8_t *Checker::faulty(ThreadContext &who, unsigned bytes) {
  std::memset(who.nowhere, 0, std::min<size_t>(bytes, sizeof who.nowhere));
  return who.nowhere;
}

uint8_t *Checker::access(ThreadContext &who, uint32_t siteIndex,
                         uint64_t address) {
  const Site &site = block.site(siteIndex);
  return access(who, siteIndex, site.space, site.access, address, site.bytes);
}

uint8_t *Checker::access(ThreadContext &who, uint32_t siteIndex, Space space,
                         Access kind, uint64_t address, unsigned bytes) {
  uint64_t window = reinterpret_cast<uint64_t>(block.shared());
  if (space == Space::Generic && address - window < block.sharedBytes()) {
    space = Space::Shared;
    address -= window;
  }
  if (space == Space::Generic && block.onStack(address))
    return reinterpret_cast<uint8_t *>(address);
  return space == Space::Shared
             ? accessShared(who, siteIndex, kind, address, bytes)
             : accessGlobal(who, siteIndex, kind, address, bytes);
}

uint8_t *Checker::accessShared(ThreadContext &who, uint32_t siteIndex,
                               Access kind, uint64_t offset, unsigned bytes) {
  const Site &site = block.site(siteIndex);
  auto what = [&] {
    return std::string(accessName(kind)) + " of " + std::to_string(bytes) +
           " bytes at " + hex(offset);
  };
  uint64_t size = block.sharedBytes();
  if (offset > size || bytes > size - offset) {
    block.launch.fault(&who, site, "out-of-bounds shared",
                       what() + " of " + std::to_string(size) + " bytes");
    return faulty(who, bytes);
  }
  if (offset % bytes) {
    block.launch.fault(&who, site, "misaligned shared", what());
    return faulty(who, bytes);
  }
  if (block.launch.counters)
    block.launch.counters->sharedAccess(who, siteIndex, offset, bytes);
  if (!block.launch.options.checks)
    return block.shared() + offset;
  for (uint64_t at = offset; at < offset + bytes;) {
    uint64_t end = std::min<uint64_t>(offset + bytes, (at & ~uint64_t(3)) + 4);
    uint8_t mask = uint8_t(((1u << (end - at)) - 1) << (at & 3));
    ShadowWord &word = sharedWords[at / 4];
    if (word.run != run)
      word.restart(run);
    if (word.pending & mask)
      block.launch.fault(
          &who, site, "missing wait",
          what() +
              " of shared memory into which an asynchronous copy that was not "
              "waited for goes");
    else if (kind != Access::Write && (word.defined & mask) != mask)
      block.launch.fault(&who, site, "uninitialised shared",
                         what() + " of shared memory that nothing has written");
    if (kind != Access::Read)
      word.defined |= mask;
    note(who, siteIndex, kind, word, mask, "shared", offset);
    at = end;
  }
  return block.shared() + offset;
}

uint8_t *Checker::accessGlobal(ThreadContext &who, uint32_t siteIndex,
                               Access kind, uint64_t address, unsigned bytes) {
  const Site &site = block.site(siteIndex);
  auto what = [&] {
    return std::string(accessName(kind)) + " of " + std::to_string(bytes) +
           " bytes";
  };
  Range *range = block.launch.memory.find(address);
  if (!range || !range->contains(address, bytes)) {
    const Range *below = block.launch.memory.below(address);
    block.launch.fault(
        &who, site, "out-of-bounds global",
        what() + " at " + hex(address) +
            (below ? ", " + std::to_string(address - below->begin) +
                         " bytes from the start of '" + below->name + "' of " +
                         std::to_string(below->bytes) + " bytes"
                   : ", below every allocation"));
    return faulty(who, bytes);
  }
  if (address % bytes) {
    block.launch.fault(&who, site, "misaligned global",
                       what() + " at " + hex(address) + " in '" + range->name +
                           "'");
    return faulty(who, bytes);
  }
  if (kind != Access::Read && !range->writable) {
    block.launch.fault(&who, site, "read-only global",
                       what() + " in '" + range->name + "'");
    return faulty(who, bytes);
  }
  auto *real = reinterpret_cast<uint8_t *>(address);
  if (!range->words.exists() && !range->words.create(range->bytes + 4))
    return real; // no memory to remember in
  uint64_t origin = range->begin & ~uint64_t(3);
  uint32_t launchRun = block.launch.number;
  if (block.launch.counters)
    block.launch.counters->globalAccess(who, siteIndex, kind, address, bytes);
  if (kind == Access::Atomic && block.launch.options.checks)
    acquireBlocks(address);
  for (uint64_t at = address; at < address + bytes;) {
    uint64_t end = std::min<uint64_t>(address + bytes, (at & ~uint64_t(3)) + 4);
    uint8_t mask = uint8_t(((1u << (end - at)) - 1) << (at & 3));
    ShadowWord &word = range->words[(at - origin) / 4];
    if (word.run != launchRun)
      word.restart(launchRun);
    if (block.launch.counters)
      block.launch.counters->uniqueBytes(word, kind, mask);
    if (block.launch.options.checks)
      note(who, siteIndex, kind, word, mask, range->name.c_str(),
           at - range->begin);
    at = end;
  }
  return real;
}

bool Checker::races(const Touch &earlier, const Touch &later) const {
  if (!(earlier.bytes & later.bytes) || (earlier.atomic && later.atomic))
    return false;
  if (earlier.block != later.block)
    return !acquired.count(earlier.block);
  return earlier.thread != later.thread &&
         !clocks[later.thread].covers(later.thread, earlier.thread,
                                      earlier.time);
}

void Checker::note(ThreadContext &who, uint32_t siteIndex, Access kind,
                   ShadowWord &word, uint8_t mask, const char *memory,
                   uint64_t address) {
  Touch touch{blockIndex, now, uint16_t(who.index), mask,
              uint8_t(kind == Access::Atomic)};
  const Touch *other = nullptr;
  bool otherWrote = false;
  if (races(word.written, touch)) {
    other = &word.written;
    otherWrote = true;
  } else if (kind != Access::Read) {
    if (races(word.read, touch))
      other = &word.read;
    else if (races(word.readByOther, touch))
      other = &word.readByOther;
  }
  if (other) {
    std::string between =
        other->block != blockIndex
            ? "between blocks: block " + std::to_string(other->block)
        : other->thread / kWarpSize == who.warp
            ? "between lanes: thread " + std::to_string(other->thread)
            : "between warps: thread " + std::to_string(other->thread);
    std::string line;
    if (otherWrote)
      line = " at line " +
             std::to_string(
                 block.site(word.writtenSite).instruction->location.line);
    block.launch.fault(&who, block.site(siteIndex), "race",
                       between + (otherWrote ? " wrote" : " read") + line +
                           ", this " + accessName(kind) +
                           " is not ordered behind it, at " + hex(address) +
                           " of '" + memory + "'");
  }
  if (kind == Access::Read) {
    if (word.read.thread != touch.thread || word.read.block != touch.block)
      word.readByOther = word.read;
    word.read = touch;
    return;
  }
  // Bytes of the word that others wrote stay known until they are rewritten.
  if (word.written.block == touch.block &&
      word.written.thread == touch.thread &&
      word.written.atomic == touch.atomic)
    touch.bytes |= word.written.bytes;
  word.written = touch;
  word.writtenSite = siteIndex;
}

//===- Order between threads ----------------------------------------------===//

void Checker::synchronize(const std::vector<uint32_t> &members) {
  ++now;
  if (members.size() >= clocks.size()) {
    for (Clock &clock : clocks)
      clock = {now, now, {}};
    return;
  }
  // Each member learns what any of them knew, and what they did.
  uint32_t base = 1;
  std::vector<uint32_t> each(clocks.size(), 0);
  for (uint32_t member : members) {
    const Clock &clock = clocks[member];
    base = std::max(base, clock.base);
    for (uint32_t i = 0; i < each.size(); ++i) {
      if (!clock.each.empty())
        each[i] = std::max(each[i], clock.each[i]);
      if (i / kWarpSize == member / kWarpSize)
        each[i] = std::max(each[i], clock.warpBase);
    }
  }
  for (uint32_t member : members)
    each[member] = now;
  for (uint32_t member : members)
    clocks[member] = {base, clocks[member].warpBase, each};
}

void Checker::synchronizeWarp(uint32_t warp, uint32_t lanes) {
  uint32_t first = warp * kWarpSize;
  uint32_t size =
      std::min<uint32_t>(kWarpSize, uint32_t(clocks.size()) - first);
  uint32_t full = size < kWarpSize ? (uint32_t(1) << size) - 1 : ~uint32_t(0);
  bool simple = (lanes & full) == full;
  for (uint32_t i = 0; i < size && simple; ++i)
    simple = clocks[first + i].each.empty();
  if (!simple) {
    std::vector<uint32_t> members;
    for (uint32_t i = 0; i < size; ++i)
      if (lanes >> i & 1)
        members.push_back(first + i);
    synchronize(members);
    return;
  }
  ++now;
  uint32_t base = 1;
  for (uint32_t i = 0; i < size; ++i)
    base = std::max(base, clocks[first + i].base);
  for (uint32_t i = 0; i < size; ++i)
    clocks[first + i] = {base, now, {}};
}

void Checker::publish(const ThreadContext &who, Clock &clock) {
  const Clock &own = clocks[who.index];
  clock.base = std::max(clock.base, own.base);
  clock.each.resize(clocks.size(), 0);
  for (uint32_t i = 0; i < clock.each.size(); ++i) {
    if (!own.each.empty())
      clock.each[i] = std::max(clock.each[i], own.each[i]);
    if (i / kWarpSize == who.warp)
      clock.each[i] = std::max(clock.each[i], own.warpBase);
  }
  clock.each[who.index] = ++now;
}

void Checker::acquire(const ThreadContext &who, const Clock &clock) {
  Clock &own = clocks[who.index];
  own.base = std::max(own.base, clock.base);
  if (clock.each.empty())
    return;
  own.each.resize(clocks.size(), 0);
  for (uint32_t i = 0; i < own.each.size(); ++i)
    own.each[i] = std::max(own.each[i], clock.each[i]);
}

// An atomic hands over what its block knew at its last fence.
void Checker::acquireBlocks(uint64_t address) {
  std::set<uint32_t> &known = released[address];
  acquired.insert(known.begin(), known.end());
  if (fenced) {
    known.insert(blockIndex);
    known.insert(acquired.begin(), acquired.end());
  }
}

void Checker::arrived(ThreadContext &who, uint32_t site, uint64_t offset,
                      unsigned bytes) {
  for (uint64_t at = offset; at < offset + bytes; at += 4) {
    ShadowWord &word = sharedWords[at / 4];
    word.written = {blockIndex, now, uint16_t(who.index), 0xf, 0};
    word.writtenSite = site;
    word.defined = 0xf;
  }
}

void Checker::setPending(uint64_t offset, unsigned bytes, bool pending) {
  for (uint64_t at = offset; at < offset + bytes; ++at) {
    ShadowWord &word = sharedWords[at / 4];
    if (word.run != run)
      word.restart(run);
    uint8_t bit = uint8_t(1u << (at & 3));
    word.pending = pending ? word.pending | bit : word.pending & ~bit;
  }
}

} // namespace dsflash::simt
