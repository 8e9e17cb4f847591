//===- Memory.cpp - Allocations of a device -------------------------------===//

#include "Memory.h"

#include <cstdio>
#include <cstdlib>

namespace dsflash::simt {

static std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

Memory::~Memory() {
  for (auto &[begin, range] : ranges)
    std::free(range.owned);
}

Result<uint64_t> Memory::allocate(size_t bytes, std::string name,
                                  bool writable) {
  // A gap behind each, so that an index past the end meets nothing.
  constexpr size_t alignment = 256;
  if (bytes > SIZE_MAX / 2)
    return Status::error(name, "out of device memory");
  size_t total = (bytes + 2 * alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(alignment, total);
  if (!memory)
    return Status::error(
        name, "out of device memory: " + std::to_string(bytes) + " bytes");
  uint64_t address = reinterpret_cast<uint64_t>(memory);
  Range range;
  range.begin = address;
  range.bytes = bytes;
  range.writable = writable;
  range.name = std::move(name);
  range.owned = memory;
  ranges.emplace(address, std::move(range));
  return address;
}

Status Memory::release(uint64_t address) {
  auto found = ranges.find(address);
  if (found == ranges.end())
    return Status::error(hex(address), "is no allocation");
  std::free(found->second.owned);
  ranges.erase(found);
  last = nullptr;
  return {};
}

Status Memory::map(uint64_t address, size_t bytes, bool writable,
                   std::string name) {
  auto next = ranges.lower_bound(address);
  bool overlaps = next != ranges.end() && next->first - address < bytes;
  if (next != ranges.begin()) {
    const Range &before = std::prev(next)->second;
    overlaps |= address - before.begin < before.bytes;
  }
  if (overlaps || (next != ranges.end() && next->first == address))
    return Status::error(name, "overlaps another range of device memory");
  Range range;
  range.begin = address;
  range.bytes = bytes;
  range.writable = writable;
  range.name = std::move(name);
  ranges.emplace(address, std::move(range));
  return {};
}

const Range *Memory::below(uint64_t address) const {
  auto next = ranges.upper_bound(address);
  return next == ranges.begin() ? nullptr : &std::prev(next)->second;
}

Range *Memory::find(uint64_t address) {
  if (last && last->contains(address, 1))
    return last;
  auto *range = const_cast<Range *>(below(address));
  if (!range || !range->contains(address, 1))
    return nullptr;
  return last = range;
}

Status Memory::check(uint64_t address, size_t bytes) {
  const Range *range = below(address);
  if (range && (range->contains(address, bytes) ||
                (bytes == 0 && address - range->begin <= range->bytes)))
    return {};
  return Status::error(hex(address),
                       std::to_string(bytes) + " bytes are in no allocation");
}

} // namespace dsflash::simt
