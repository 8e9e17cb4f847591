//===- Checker.h - Finds faults of running kernels --------------*- C++ -*-===//
//
// Knows of every word who read and wrote it last, and of every thread what
// other threads did before it for certain. Two accesses of which one writes
// race unless a barrier, a warp barrier, an mbarrier or (between blocks) an
// atomic behind a fence lies between them.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SIMT_CHECKER_H
#define DSFLASH_SIMT_CHECKER_H

#include "Context.h"
#include "Shadow.h"

#include <set>
#include <unordered_map>

namespace dsflash::simt {

class Block;
struct Range;

/// What is known to lie before a thread: everything before `base`, in its own
/// warp everything before `warpBase`, and of each thread what lies before its
/// entry of `each` (if not empty). Times are those of Checker::now.
struct Clock {
  uint32_t base = 1, warpBase = 1;
  std::vector<uint32_t> each;

  bool covers(uint32_t self, uint32_t other, uint32_t time) const {
    return time < base ||
           (time < warpBase && self / kWarpSize == other / kWarpSize) ||
           (!each.empty() && time < each[other]);
  }
};

class Checker {
public:
  explicit Checker(Block &block) : block(block) {}
  bool prepare();
  void startBlock(uint32_t index);
  void finishBlock();

  /// Where an access really goes; a faulty one goes nowhere.
  uint8_t *access(ThreadContext &who, uint32_t siteIndex, uint64_t address);
  /// The same for parts of larger operations: `bytes` at the address.
  uint8_t *access(ThreadContext &who, uint32_t siteIndex, ptx::Space space,
                  Access kind, uint64_t address, unsigned bytes);

  /// These threads of the block met at a barrier.
  void synchronize(const std::vector<uint32_t> &members);
  void synchronizeWarp(uint32_t warp, uint32_t lanes);
  void fence() { fenced = true; }

  /// What a thread knows goes to `clock`, and back.
  void publish(const ThreadContext &who, Clock &clock);
  void acquire(const ThreadContext &who, const Clock &clock);

  /// An asynchronous copy of this thread has written shared memory.
  void arrived(ThreadContext &who, uint32_t site, uint64_t offset,
               unsigned bytes);
  /// An asynchronous copy will write these bytes of shared memory (or no
  /// longer will).
  void setPending(uint64_t offset, unsigned bytes, bool pending);

private:
  uint8_t *faulty(ThreadContext &who, unsigned bytes);
  uint8_t *accessShared(ThreadContext &who, uint32_t site, Access kind,
                        uint64_t offset, unsigned bytes);
  uint8_t *accessGlobal(ThreadContext &who, uint32_t site, Access kind,
                        uint64_t address, unsigned bytes);
  void note(ThreadContext &who, uint32_t site, Access kind, ShadowWord &word,
            uint8_t mask, const char *memory, uint64_t address);
  bool races(const Touch &earlier, const Touch &later) const;
  void acquireBlocks(uint64_t address);

  Block &block;
  ShadowWords sharedWords;
  std::vector<Clock> clocks;
  uint32_t run = 0; ///< of the block on this object
  uint32_t now = 1;
  uint32_t blockIndex = 0;
  bool fenced = false;
  /// Blocks that went through an atomic at an address behind a fence, and
  /// those that the running block has met so.
  std::unordered_map<uint64_t, std::set<uint32_t>> released;
  std::set<uint32_t> acquired;
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_CHECKER_H
