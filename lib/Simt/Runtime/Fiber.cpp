//===- Fiber.cpp - Stacks to switch between -------------------------------===//

#include "Fiber.h"

#include <sys/mman.h>

#ifndef __x86_64__
#error "simt switches fibers on x86-64 only"
#endif

// Saves what the System V ABI lets a callee change.
asm(R"(.text
.globl dsflashSimtSwitch
.hidden dsflashSimtSwitch
.type dsflashSimtSwitch,@function
dsflashSimtSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size dsflashSimtSwitch,.-dsflashSimtSwitch
)");

namespace dsflash::simt {

FiberStacks::~FiberStacks() {
  if (memory)
    munmap(memory, total);
}

bool FiberStacks::allocate(size_t count, size_t bytes) {
  if (memory)
    munmap(memory, total);
  each = bytes;
  total = count * bytes;
  void *mapped = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  memory = mapped == MAP_FAILED ? nullptr : static_cast<uint8_t *>(mapped);
  if (!memory)
    total = 0;
  return memory;
}

void *FiberStacks::start(size_t index, void (*entry)()) const {
  void **top = reinterpret_cast<void **>(memory + (index + 1) * each);
  *--top = nullptr; // keeps the stack aligned at the call
  *--top = reinterpret_cast<void *>(entry);
  for (int saved = 0; saved < 6; ++saved)
    *--top = nullptr;
  return top;
}

} // namespace dsflash::simt
