//===- Async.h - Asynchronous copies and mbarriers --------------*- C++ -*-===//
//
// A copy happens at the latest moment that the program allows: when its wait
// ends. Until then its destination holds ones, so that a missing wait shows in
// results too.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SIMT_ASYNC_H
#define DSFLASH_SIMT_ASYNC_H

#include "Checker.h"

#include <map>

namespace dsflash::simt {

/// A copy of `bytes` of which the first `sourceBytes` come from `source` and
/// the rest is zero.
struct AsyncCopy {
  ThreadContext *who = nullptr;
  uint32_t site = 0;
  bool toGlobal = false;
  uint64_t shared = 0, global = 0;
  unsigned bytes = 0, sourceBytes = 0;
};

/// Groups of copies of one thread, the open one last.
struct CopyGroups {
  std::vector<AsyncCopy> open;
  std::vector<std::vector<AsyncCopy>> committed;
};

/// PTX ISA 9.7.13.15. A phase ends when all arrivals and all announced bytes
/// have come.
struct Mbarrier {
  uint32_t expected = 0, pending = 0;
  int64_t bytes = 0;
  uint64_t phase = 0;
  Clock arriving, done; ///< what the arrived threads knew, of this phase and
                        ///< of all before
  std::vector<AsyncCopy> copies;
};

class AsyncState {
public:
  explicit AsyncState(Block &block) : block(block) {}
  void startBlock();
  void threadEnds(ThreadContext &who);

  void issue(AsyncCopy copy);
  void commit(ThreadContext &who, bool bulk);
  /// Ends all but the last `remaining` groups; `all`: the open one too.
  void wait(ThreadContext &who, bool bulk, uint32_t remaining, bool all);

  /// Null, with a fault, if there is no mbarrier at the address.
  Mbarrier *mbarrier(ThreadContext &who, uint32_t site, uint64_t address);
  void createMbarrier(ThreadContext &who, uint32_t site, uint64_t address,
                      uint32_t count);
  void destroyMbarrier(uint64_t address) { mbarriers.erase(address); }
  void arrive(ThreadContext &who, Mbarrier &barrier, uint32_t count);
  void announce(Mbarrier &barrier, int64_t bytes);
  void issueTo(Mbarrier &barrier, AsyncCopy copy);
  /// Ends the copies that the mbarrier waits for.
  void deliver(Mbarrier &barrier);

private:
  CopyGroups &groupsOf(const ThreadContext &who, bool bulk);
  bool begin(const AsyncCopy &copy);
  void perform(const AsyncCopy &copy);
  void endPhase(Mbarrier &barrier);

  Block &block;
  std::vector<CopyGroups> groups[2]; ///< by thread; plain, bulk; empty at first
  std::map<uint64_t, Mbarrier> mbarriers; ///< by offset
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_ASYNC_H
