//===- Block.h - The threads of a block and their waits ---------*- C++ -*-===//
//
// A thread that must wait for others has a stack of its own, a fiber. One
// fiber runs until it waits; then the next ready one in the order of the
// launch does. A kernel without waits runs its threads one after the other on
// one stack.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SIMT_BLOCK_H
#define DSFLASH_SIMT_BLOCK_H

#include "Async.h"
#include "Checker.h"
#include "Fiber.h"
#include "Launch.h"

#include <array>
#include <cstdlib>
#include <random>

namespace dsflash::simt {

struct Thread {
  enum class State : uint8_t { Ready, Warp, Barrier, Polling, Done };
  ThreadContext context;
  void *stack = nullptr;
  State state = State::Ready;
  uint32_t site = 0; ///< where it waits
  uint32_t mask = 0;
  uint32_t barrier = 0;
  void *operands = nullptr; ///< of a warp instruction
  uint64_t seen = 0;        ///< progress when it polled
};

/// Lanes of one warp, null where there is none or it does not take part.
using Lanes = std::array<Thread *, kWarpSize>;

class Block {
public:
  explicit Block(Launch &launch);
  /// False: no memory.
  bool prepare();
  /// Runs block `index` of the grid; stops early if the launch is stopped.
  void run(uint64_t index);

  Launch &launch;
  std::unique_ptr<Checker> checker; ///< null: no checks, no counters
  AsyncState async{*this};

  // What translated code calls.
  void barrier(ThreadContext &who, uint32_t site, uint32_t number,
               uint32_t count, bool aligned);
  void arrive(ThreadContext &who, uint32_t site, uint32_t number,
              uint32_t count);
  /// Sum of the values that threads bring to a barrier.
  uint32_t barrierSum(ThreadContext &who, uint32_t site, uint32_t number,
                      uint32_t count, uint32_t value, uint32_t &members);
  /// Waits for all lanes of `mask` at this instruction; the last one does
  /// `action` for all.
  template <typename Action>
  void together(ThreadContext &who, uint32_t site, uint32_t mask,
                void *operands, Action action) {
    Lanes lanes;
    if (!gather(who, site, mask, operands, lanes))
      return;
    action(lanes);
    for (Thread *lane : lanes)
      if (lane && lane != &thread(who))
        lane->state = Thread::State::Ready;
  }
  /// Something that another thread may poll for has changed.
  void progress() { ++changes; }
  /// Lets others run; returns when something has changed.
  void poll(ThreadContext &who, uint32_t site);
  [[noreturn]] void leave(ThreadContext &who);
  [[noreturn]] void stop();
  uint32_t liveLanes(uint32_t warp) const;
  const Site &site(uint32_t index) const { return launch.info.sites[index]; }
  Thread &thread(const ThreadContext &who) { return threads[who.index]; }
  bool onStack(uint64_t address) const { return stacks.contains(address); }
  uint8_t *shared() { return sharedMemory.get(); }
  uint32_t sharedBytes() const {
    return launch.staticShared + launch.dynamicShared;
  }
  std::vector<Thread> threads;

private:
  struct BarrierState {
    uint32_t arrived = 0, sum = 0, lastSum = 0, lastArrived = 0;
    const ptx::Instruction *first = nullptr;
    uint32_t firstSite = 0;
    std::vector<uint32_t> members; ///< arrived and did not wait
  };
  struct Group {
    uint32_t site, mask, arrived;
  };
  struct FreeDeleter {
    void operator()(uint8_t *memory) const { std::free(memory); }
  };

  static void enter();
  void runPlain();
  void makeOrder(uint64_t index);
  void place(ThreadContext &context, uint32_t thread);
  void startClock();
  bool join(ThreadContext &who, uint32_t site, uint32_t number, uint32_t count,
            uint32_t value, bool aligned, bool waits);
  void release(uint32_t number);
  void releaseWithoutCount();
  bool gather(ThreadContext &who, uint32_t site, uint32_t mask, void *operands,
              Lanes &lanes);
  void wait(Thread &thread, Thread::State state, uint32_t site);
  void switchAway();
  bool pick();
  void reportDeadlock();

  FiberStacks stacks;
  std::unique_ptr<uint8_t, FreeDeleter> sharedMemory;
  std::vector<uint32_t> order;            ///< thread by position
  std::vector<std::vector<Group>> groups; ///< by warp
  std::vector<BarrierState> barriers;
  uint32_t count = 0, live = 0;
  size_t at = 0; ///< position of the running thread
  uint64_t changes = 0;
  void *main = nullptr;
  Dim3 id;
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_BLOCK_H
