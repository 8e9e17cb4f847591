//===- Async.cpp - Asynchronous copies and mbarriers ----------------------===//

#include "Block.h"
#include "Entries.h"

#include <cstring>

namespace dsflash::simt {

using ptx::Space;

void AsyncState::startBlock() {
  for (std::vector<CopyGroups> &list : groups)
    list.clear();
  mbarriers.clear();
}

CopyGroups &AsyncState::groupsOf(const ThreadContext &who, bool bulk) {
  std::vector<CopyGroups> &list = groups[bulk];
  if (list.empty())
    list.resize(block.launch.block.count());
  return list[who.index];
}

// Accesses of the copying thread in steps that a shadow word can note.
static bool checkBytes(Block &block, const AsyncCopy &copy, Space space,
                       Access kind, uint64_t address, unsigned bytes) {
  if (!block.checker)
    return true;
  unsigned step = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4;
  for (unsigned i = 0; i < bytes; i += step)
    if (block.checker->access(*copy.who, copy.site, space, kind, address + i,
                              step) == copy.who->nowhere)
      return false;
  return true;
}

// False: the copy is faulty and never happens.
bool AsyncState::begin(const AsyncCopy &copy) {
  if (copy.toGlobal)
    return true;
  if (!checkBytes(block, copy, Space::Global, Access::Read, copy.global,
                  copy.sourceBytes) ||
      !checkBytes(block, copy, Space::Shared, Access::Write, copy.shared,
                  copy.bytes))
    return false;
  std::memset(block.shared() + copy.shared, 0xff, copy.bytes);
  if (block.checker)
    block.checker->setPending(copy.shared, copy.bytes, true);
  return true;
}

void AsyncState::perform(const AsyncCopy &copy) {
  auto *global = reinterpret_cast<uint8_t *>(copy.global);
  uint8_t *shared = block.shared() + copy.shared;
  if (copy.toGlobal) {
    if (checkBytes(block, copy, Space::Shared, Access::Read, copy.shared,
                   copy.bytes) &&
        checkBytes(block, copy, Space::Global, Access::Write, copy.global,
                   copy.bytes))
      std::memcpy(global, shared, copy.bytes);
    return;
  }
  if (block.checker)
    block.checker->setPending(copy.shared, copy.bytes, false);
  if (block.checker)
    block.checker->arrived(*copy.who, copy.site, copy.shared, copy.bytes);
  std::memcpy(shared, global, copy.sourceBytes);
  std::memset(shared + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
}

void AsyncState::issue(AsyncCopy copy) {
  if (begin(copy))
    groupsOf(*copy.who, copy.toGlobal).open.push_back(copy);
}

void AsyncState::commit(ThreadContext &who, bool bulk) {
  CopyGroups &own = groupsOf(who, bulk);
  own.committed.push_back(std::move(own.open));
  own.open.clear();
}

void AsyncState::wait(ThreadContext &who, bool bulk, uint32_t remaining,
                      bool all) {
  CopyGroups &own = groupsOf(who, bulk);
  while (own.committed.size() > (all ? 0 : remaining)) {
    for (const AsyncCopy &copy : own.committed.front())
      perform(copy);
    own.committed.erase(own.committed.begin());
  }
  if (!all)
    return;
  for (const AsyncCopy &copy : own.open)
    perform(copy);
  own.open.clear();
}

// Nobody waits for what is still open; a store to global memory happens.
void AsyncState::threadEnds(ThreadContext &who) {
  if (!groups[true].empty())
    wait(who, /*bulk=*/true, 0, /*all=*/true);
  if (!groups[false].empty())
    groups[false][who.index] = {};
}

Mbarrier *AsyncState::mbarrier(ThreadContext &who, uint32_t site,
                               uint64_t address) {
  auto found = mbarriers.find(address);
  if (found != mbarriers.end())
    return &found->second;
  block.launch.fault(&who, block.site(site), "mbarrier",
                     "no mbarrier was initialised at " +
                         std::to_string(address) + " of shared memory");
  block.stop();
}

void AsyncState::createMbarrier(ThreadContext &who, uint32_t site,
                                uint64_t address, uint32_t count) {
  if (block.checker &&
      block.checker->access(who, site, Space::Shared, Access::Write, address,
                            8) == who.nowhere)
    return;
  Mbarrier &barrier = mbarriers[address];
  barrier = {};
  barrier.expected = barrier.pending = count;
}

void AsyncState::endPhase(Mbarrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.done = barrier.arriving;
  block.progress();
}

void AsyncState::arrive(ThreadContext &who, Mbarrier &barrier, uint32_t count) {
  if (block.checker)
    block.checker->publish(who, barrier.arriving);
  barrier.pending -= std::min(barrier.pending, count);
  endPhase(barrier);
}

void AsyncState::announce(Mbarrier &barrier, int64_t bytes) {
  barrier.bytes += bytes;
  endPhase(barrier);
}

void AsyncState::issueTo(Mbarrier &barrier, AsyncCopy copy) {
  if (begin(copy))
    barrier.copies.push_back(copy);
}

void AsyncState::deliver(Mbarrier &barrier) {
  std::vector<AsyncCopy> copies = std::move(barrier.copies);
  barrier.copies.clear();
  int64_t bytes = 0;
  for (const AsyncCopy &copy : copies) {
    perform(copy);
    bytes += copy.bytes;
    if (block.checker)
      block.checker->publish(*copy.who, barrier.arriving);
  }
  if (bytes)
    announce(barrier, -bytes);
}

//===- Functions of translated code ---------------------------------------===//

namespace {

void copyAsync(ThreadContext *who, uint32_t site, uint64_t shared,
               uint64_t global, uint32_t bytes, uint32_t sourceBytes) {
  who->block->async.issue(
      {who, site, false, shared, global, bytes, std::min(bytes, sourceBytes)});
}

void copyCommit(ThreadContext *who, uint32_t bulk) {
  who->block->async.commit(*who, bulk);
}

void copyWait(ThreadContext *who, uint32_t bulk, uint32_t remaining,
              uint32_t all) {
  who->block->async.wait(*who, bulk, remaining, all);
}

// cp.async.mbarrier.arrive: arrives when the copies before it have ended.
// Without .noinc the arrival was added first, so nothing remains.
void copyArrive(ThreadContext *who, uint32_t site, uint64_t address,
                uint32_t noIncrement) {
  AsyncState &async = who->block->async;
  async.wait(*who, false, 0, true);
  if (noIncrement)
    async.arrive(*who, *async.mbarrier(*who, site, address), 1);
}

void bulkLoad(ThreadContext *who, uint32_t site, uint64_t shared,
              uint64_t global, uint32_t bytes, uint64_t address) {
  AsyncState &async = who->block->async;
  async.issueTo(*async.mbarrier(*who, site, address),
                {who, site, false, shared, global, bytes, bytes});
}

void bulkStore(ThreadContext *who, uint32_t site, uint64_t global,
               uint64_t shared, uint32_t bytes) {
  who->block->async.issue({who, site, true, shared, global, bytes, bytes});
}

void mbarrierInit(ThreadContext *who, uint32_t site, uint64_t address,
                  uint32_t count) {
  who->block->async.createMbarrier(*who, site, address, count);
}

void mbarrierInval(ThreadContext *who, uint32_t site, uint64_t address) {
  who->block->async.mbarrier(*who, site, address);
  who->block->async.destroyMbarrier(address);
}

// Announces bytes, then arrives `count` times; `drop` lowers later phases too.
// The result names the phase.
uint64_t mbarrierArrive(ThreadContext *who, uint32_t site, uint64_t address,
                        uint32_t count, uint32_t bytes, uint32_t drop) {
  AsyncState &async = who->block->async;
  Mbarrier &barrier = *async.mbarrier(*who, site, address);
  uint64_t phase = barrier.phase;
  barrier.bytes += bytes;
  if (drop)
    barrier.expected -= std::min(barrier.expected, count);
  if (count)
    async.arrive(*who, barrier, count);
  return phase;
}

void mbarrierComplete(ThreadContext *who, uint32_t site, uint64_t address,
                      uint32_t bytes) {
  AsyncState &async = who->block->async;
  async.announce(*async.mbarrier(*who, site, address), -int64_t(bytes));
}

// Has the phase ended: the one of that name, or the one of that parity?
uint32_t mbarrierTest(ThreadContext *who, uint32_t site, uint64_t address,
                      uint64_t phase, uint32_t parity, uint32_t waits) {
  AsyncState &async = who->block->async;
  Mbarrier *barrier = async.mbarrier(*who, site, address);
  auto ended = [&] {
    return parity ? (barrier->phase & 1) != (phase & 1)
                  : barrier->phase != phase;
  };
  async.deliver(*barrier);
  if (!ended() && waits) {
    who->block->poll(*who, site);
    barrier = async.mbarrier(*who, site, address);
    async.deliver(*barrier);
  }
  if (!ended())
    return false;
  if (who->block->checker)
    who->block->checker->acquire(*who, barrier->done);
  return true;
}

} // namespace

#define SYMBOL(name, function) {name, reinterpret_cast<void *>(function)}
const RuntimeSymbol kAsyncSymbols[] = {
    SYMBOL("simt_copy_async", copyAsync),
    SYMBOL("simt_copy_commit", copyCommit),
    SYMBOL("simt_copy_wait", copyWait),
    SYMBOL("simt_copy_arrive", copyArrive),
    SYMBOL("simt_bulk_load", bulkLoad),
    SYMBOL("simt_bulk_store", bulkStore),
    SYMBOL("simt_mbarrier_init", mbarrierInit),
    SYMBOL("simt_mbarrier_inval", mbarrierInval),
    SYMBOL("simt_mbarrier_arrive", mbarrierArrive),
    SYMBOL("simt_mbarrier_complete", mbarrierComplete),
    SYMBOL("simt_mbarrier_test", mbarrierTest),
};
#undef SYMBOL
const unsigned kAsyncSymbolCount =
    sizeof(kAsyncSymbols) / sizeof(RuntimeSymbol);

} // namespace dsflash::simt
