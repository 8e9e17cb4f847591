//===- Context.h - What translated code sees of its thread ------*- C++ -*-===//

#ifndef DSFLASH_SIMT_CONTEXT_H
#define DSFLASH_SIMT_CONTEXT_H

#include "../PTX/PTX.h"

namespace dsflash::simt {

class Block;

constexpr unsigned kWarpSize = 32;
/// Barriers of a block that programs name, and one that they cannot.
constexpr uint32_t kBarriers = 16, kClusterBarrier = kBarriers;

/// First argument of every translated function, which reads its fields by
/// their offsets.
struct ThreadContext {
  uint8_t *shared = nullptr;    ///< shared memory of the block
  uint64_t *executed = nullptr; ///< times that each basic block ran
  Block *block = nullptr;
  uint32_t tid[3] = {}, ntid[3] = {}, ctaid[3] = {}, nctaid[3] = {};
  uint32_t index = 0; ///< in the block
  uint32_t lane = 0, warp = 0;
  uint32_t dynamicShared = 0, totalShared = 0;
  uint64_t backwardBranches = 0;
  /// Where an access that was found faulty goes.
  alignas(16) uint8_t nowhere[64] = {};
};

/// A translated kernel.
using KernelCode = void (*)(ThreadContext *, const uint8_t *parameters);

/// What an instruction does to memory.
enum class Access { None, Read, Write, Atomic };

/// An instruction that translated code names to the runtime.
struct Site {
  const ptx::Function *function = nullptr;
  const ptx::Instruction *instruction = nullptr;
  ptx::Space space = ptx::Space::Generic;
  Access access = Access::None;
  unsigned bytes = 0;
};

/// What is fixed when a kernel was translated.
struct KernelCodeInfo {
  std::vector<Site> sites;
  /// Instructions of each class in each basic block, and floating-point
  /// operations of its tensor-core instructions.
  struct Mix {
    uint32_t instructions[kInstructionClasses] = {};
    uint64_t tensorFlops = 0;
  };
  std::vector<Mix> basicBlocks;
  /// Threads wait for each other and need stacks of their own.
  bool needsFibers = false;
  uint64_t frameBytes = 0; ///< of `.local` and `.param` along the deepest call
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_CONTEXT_H
