//===- Fiber.h - Stacks to switch between -----------------------*- C++ -*-===//

#ifndef DSFLASH_SIMT_FIBER_H
#define DSFLASH_SIMT_FIBER_H

#include <cstddef>
#include <cstdint>

namespace dsflash::simt {

/// Stacks of one size, in one piece of memory that is touched where it is used.
class FiberStacks {
public:
  FiberStacks() = default;
  ~FiberStacks();
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;

  /// False: no memory. Stacks of an earlier call are gone.
  bool allocate(size_t count, size_t bytes);
  /// The stack pointer of a fiber that will call `entry`, which never returns.
  void *start(size_t index, void (*entry)()) const;
  bool contains(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(memory) < total;
  }

private:
  uint8_t *memory = nullptr;
  size_t total = 0, each = 0;
};

/// Goes on where `to` left off; returns when something switches to `*from`.
extern "C" void dsflashSimtSwitch(void **from, void *to);

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_FIBER_H
