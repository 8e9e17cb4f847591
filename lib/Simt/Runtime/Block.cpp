//===- Block.cpp - The threads of a block and their waits -----------------===//

#include "Block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dsflash::simt {

static thread_local Block *running = nullptr;

Block::Block(Launch &launch) : launch(launch) {
  count = uint32_t(launch.block.count());
  threads.resize(launch.info.needsFibers ? count : 1);
  if (launch.options.checks || launch.options.counters)
    checker = std::make_unique<Checker>(*this);
}

bool Block::prepare() {
  // Frames of the kernel, and room for the runtime behind its calls.
  size_t bytes = (launch.info.frameBytes * 2 + (64 << 10) + 4095) / 4096 * 4096;
  size_t shared = (size_t(sharedBytes()) + 1024) / 1024 * 1024;
  sharedMemory.reset(static_cast<uint8_t *>(std::aligned_alloc(1024, shared)));
  return sharedMemory && stacks.allocate(threads.size(), bytes) &&
         (!checker || checker->prepare());
}

void Block::place(ThreadContext &context, uint32_t thread) {
  const Dim3 &extent = launch.block;
  context.index = thread;
  context.lane = thread % kWarpSize;
  context.warp = thread / kWarpSize;
  context.tid[0] = thread % extent.x;
  context.tid[1] = thread / extent.x % extent.y;
  context.tid[2] = thread / extent.x / extent.y;
  context.ctaid[0] = id.x;
  context.ctaid[1] = id.y;
  context.ctaid[2] = id.z;
  context.backwardBranches = 0;
}

// Whole warps in the order of the launch, and the lanes of each too.
void Block::makeOrder(uint64_t index) {
  uint32_t warps = (count + kWarpSize - 1) / kWarpSize;
  std::vector<uint32_t> sequence(warps), lanes(kWarpSize);
  for (uint32_t i = 0; i < warps; ++i)
    sequence[i] = i;
  for (uint32_t i = 0; i < kWarpSize; ++i)
    lanes[i] = i;
  std::mt19937_64 random(launch.options.seed * 0x9e3779b97f4a7c15 + index);
  if (launch.options.order == Order::Reverse) {
    std::reverse(sequence.begin(), sequence.end());
    std::reverse(lanes.begin(), lanes.end());
  } else if (launch.options.order == Order::Random) {
    std::shuffle(sequence.begin(), sequence.end(), random);
  }
  order.clear();
  for (uint32_t warp : sequence) {
    if (launch.options.order == Order::Random)
      std::shuffle(lanes.begin(), lanes.end(), random);
    for (uint32_t lane : lanes)
      if (warp * kWarpSize + lane < count)
        order.push_back(warp * kWarpSize + lane);
  }
}

void Block::run(uint64_t index) {
  running = this;
  id.x = uint32_t(index % launch.grid.x);
  id.y = uint32_t(index / launch.grid.x % launch.grid.y);
  id.z = uint32_t(index / launch.grid.x / launch.grid.y);
  if (order.empty() || launch.options.order == Order::Random)
    makeOrder(index);
  for (Thread &thread : threads) {
    ThreadContext &context = thread.context;
    context.shared = shared();
    context.block = this;
    context.executed = launch.executed.data();
    const Dim3 *from[] = {&launch.block, &launch.grid};
    uint32_t *to[] = {context.ntid, context.nctaid};
    for (int i = 0; i < 2; ++i) {
      to[i][0] = from[i]->x;
      to[i][1] = from[i]->y;
      to[i][2] = from[i]->z;
    }
    context.dynamicShared = launch.dynamicShared;
    context.totalShared = sharedBytes();
  }
  live = count;
  groups.assign((count + kWarpSize - 1) / kWarpSize, {});
  barriers.assign(kBarriers + 1, {});
  // What a block before left behind must not pass for a value.
  std::memset(shared(), 0xff, sharedBytes());
  async.startBlock();
  if (checker)
    checker->startBlock(uint32_t(index));
  at = 0;
  if (!launch.info.needsFibers) {
    threads[0].stack = stacks.start(0, enter);
    dsflashSimtSwitch(&main, threads[0].stack);
  } else {
    for (uint32_t i = 0; i < count; ++i) {
      place(threads[i].context, i);
      threads[i].state = Thread::State::Ready;
      threads[i].stack = stacks.start(i, enter);
    }
    dsflashSimtSwitch(&main, threads[order[0]].stack);
  }
  if (checker)
    checker->finishBlock();
}

// First function of every fiber.
void Block::enter() {
  Block &block = *running;
  if (!block.launch.info.needsFibers) {
    block.runPlain();
    void *ignored;
    dsflashSimtSwitch(&ignored, block.main);
  }
  Thread &thread = block.threads[block.order[block.at]];
  block.launch.code(&thread.context, block.launch.parameters.data());
  block.leave(thread.context);
}

void Block::runPlain() {
  ThreadContext &context = threads[0].context;
  for (uint32_t thread : order) {
    place(context, thread);
    launch.code(&context, launch.parameters.data());
    async.threadEnds(context);
  }
}

void Block::leave(ThreadContext &who) {
  async.threadEnds(who);
  thread(who).state = Thread::State::Done;
  --live;
  ++changes;
  if (live)
    releaseWithoutCount();
  switchAway();
  std::abort(); // a thread that is done never runs again
}

void Block::stop() {
  launch.stopped = true;
  void *ignored;
  dsflashSimtSwitch(&ignored, main);
  std::abort();
}

uint32_t Block::liveLanes(uint32_t warp) const {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < kWarpSize && warp * kWarpSize + i < count; ++i)
    if (threads[warp * kWarpSize + i].state != Thread::State::Done)
      mask |= uint32_t(1) << i;
  return mask;
}

void Block::wait(Thread &thread, Thread::State state, uint32_t site) {
  thread.state = state;
  thread.site = site;
  switchAway();
}

// The next ready thread behind the running one.
bool Block::pick() {
  size_t size = order.size();
  for (size_t step = 1; step <= size; ++step) {
    size_t next = at + step < size ? at + step : at + step - size;
    Thread &thread = threads[order[next]];
    if (thread.state != Thread::State::Ready &&
        !(thread.state == Thread::State::Polling && thread.seen != changes))
      continue;
    thread.state = Thread::State::Ready;
    at = next;
    return true;
  }
  return false;
}

void Block::switchAway() {
  Thread &from = threads[order[at]];
  if (!pick()) {
    if (live)
      reportDeadlock();
    dsflashSimtSwitch(&from.stack, main);
    return;
  }
  Thread &to = threads[order[at]];
  if (&to != &from)
    dsflashSimtSwitch(&from.stack, to.stack);
}

void Block::poll(ThreadContext &who, uint32_t site) {
  Thread &self = thread(who);
  self.seen = changes;
  wait(self, Thread::State::Polling, site);
}

void Block::reportDeadlock() {
  launch.stopped = true;
  std::map<std::string, uint32_t> waiting;
  const Thread *first = nullptr;
  for (const Thread &thread : threads) {
    if (thread.state == Thread::State::Done)
      continue;
    if (!first)
      first = &thread;
    const ptx::Instruction &instruction = *site(thread.site).instruction;
    ++waiting["line " + std::to_string(instruction.location.line) + " (" +
              instruction.opcode + ")"];
  }
  std::string list;
  for (const auto &[where, number] : waiting)
    list += (list.empty() ? "" : ", ") + std::to_string(number) +
            (number == 1 ? " thread waits at " : " threads wait at ") + where;
  uint32_t done = count - live;
  if (done)
    list += ", " + std::to_string(done) + " have ended";
  launch.fault(&first->context, site(first->site), "deadlock", list);
}

//===- Warps --------------------------------------------------------------===//

bool Block::gather(ThreadContext &who, uint32_t at, uint32_t mask,
                   void *operands, Lanes &lanes) {
  Thread &self = thread(who);
  uint32_t first = who.warp * kWarpSize;
  uint32_t bit = uint32_t(1) << who.lane;
  if (!(mask & bit)) {
    launch.fault(&who, site(at), "mask",
                 "the lane is not in its own member mask");
    mask |= bit;
  }
  if (count - first < kWarpSize)
    mask &= (uint32_t(1) << (count - first)) - 1;
  self.operands = operands;
  self.mask = mask;
  std::vector<Group> &waiting = groups[who.warp];
  auto group = std::find_if(waiting.begin(), waiting.end(), [&](Group &group) {
    return group.site == at && group.mask == mask;
  });
  if (group == waiting.end())
    group = waiting.insert(waiting.end(), {at, mask, 0});
  group->arrived |= bit;
  if (group->arrived != mask) {
    wait(self, Thread::State::Warp, at);
    return false;
  }
  *group = waiting.back();
  waiting.pop_back();
  for (uint32_t i = 0; i < kWarpSize; ++i)
    lanes[i] = mask >> i & 1 ? &threads[first + i] : nullptr;
  return true;
}

//===- Barriers -----------------------------------------------------------===//

bool Block::join(ThreadContext &who, uint32_t at, uint32_t number,
                 uint32_t expected, uint32_t value, bool aligned, bool waits) {
  const ptx::Instruction *instruction = site(at).instruction;
  bool exists = number < kBarriers || (number == kClusterBarrier &&
                                       instruction->parts[1] == "cluster");
  if (!exists || expected % kWarpSize || expected > 1024) {
    launch.fault(&who, site(at), "barrier",
                 "no barrier " + std::to_string(number) + " of " +
                     std::to_string(expected) + " threads");
    stop();
  }
  BarrierState &state = barriers[number];
  if (!state.arrived) {
    state.first = instruction;
    state.firstSite = at;
  } else if (aligned && state.first != instruction && !expected) {
    launch.fault(&who, site(at), "divergent barrier",
                 "other threads of the block wait for barrier " +
                     std::to_string(number) + " at line " +
                     std::to_string(state.first->location.line));
  }
  ++state.arrived;
  state.sum += value;
  Thread &self = thread(who);
  self.barrier = number;
  if (!waits)
    state.members.push_back(who.index);
  uint32_t needed = expected ? expected : live;
  if (state.arrived < needed) {
    if (waits) {
      self.mask = expected;
      wait(self, Thread::State::Barrier, at);
    }
    return false;
  }
  if (waits)
    state.members.push_back(who.index);
  release(number);
  return true;
}

void Block::release(uint32_t number) {
  BarrierState &state = barriers[number];
  std::vector<uint32_t> members;
  if (checker)
    members = state.members;
  for (Thread &thread : threads)
    if (thread.state == Thread::State::Barrier && thread.barrier == number) {
      thread.state = Thread::State::Ready;
      if (checker)
        members.push_back(thread.context.index);
    }
  if (checker)
    checker->synchronize(members);
  state.lastSum = state.sum;
  state.lastArrived = state.arrived;
  state.arrived = state.sum = 0;
  state.members.clear();
}

// A thread that ends is waited for no longer.
void Block::releaseWithoutCount() {
  for (uint32_t i = 0; i < barriers.size(); ++i) {
    bool whole = false;
    if (!barriers[i].arrived)
      continue;
    for (const Thread &thread : threads)
      whole |= thread.state == Thread::State::Barrier && thread.barrier == i &&
               thread.mask == 0;
    if (whole && barriers[i].arrived >= live)
      release(i);
  }
}

void Block::barrier(ThreadContext &who, uint32_t at, uint32_t number,
                    uint32_t expected, bool aligned) {
  join(who, at, number, expected, 0, aligned, /*waits=*/true);
}

void Block::arrive(ThreadContext &who, uint32_t at, uint32_t number,
                   uint32_t expected) {
  join(who, at, number, expected, 0, /*aligned=*/true, /*waits=*/false);
}

uint32_t Block::barrierSum(ThreadContext &who, uint32_t at, uint32_t number,
                           uint32_t expected, uint32_t value,
                           uint32_t &members) {
  join(who, at, number, expected, value, /*aligned=*/true, /*waits=*/true);
  members = barriers[number].lastArrived;
  return barriers[number].lastSum;
}

} // namespace dsflash::simt
