//===- Memory.h - Allocations of a device -----------------------*- C++ -*-===//

#ifndef DSFLASH_SIMT_MEMORY_H
#define DSFLASH_SIMT_MEMORY_H

#include "Shadow.h"

#include "dsflash/Support/Status.h"

#include <map>
#include <memory>
#include <string>

namespace dsflash::simt {

/// Memory that kernels may use.
struct Range {
  uint64_t begin = 0, bytes = 0;
  bool writable = true;
  std::string name;
  void *owned = nullptr; ///< to be freed
  /// Who used which word last; made when a launch with checks first touches
  /// it.
  ShadowWords words;

  bool contains(uint64_t address, uint64_t count) const {
    return address - begin < bytes && count <= bytes - (address - begin);
  }
};

class Memory {
public:
  Memory() = default;
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  Result<uint64_t> allocate(size_t bytes, std::string name, bool writable);
  Status release(uint64_t address);
  Status map(uint64_t address, size_t bytes, bool writable, std::string name);

  /// The range in which an address lies, or null.
  Range *find(uint64_t address);
  /// The last range that begins at or below an address, or null.
  const Range *below(uint64_t address) const;
  /// Null status if the bytes lie in one range.
  Status check(uint64_t address, size_t bytes);

private:
  std::map<uint64_t, Range> ranges;
  Range *last = nullptr;
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_MEMORY_H
