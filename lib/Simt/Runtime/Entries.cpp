//===- Entries.cpp - Threads and warps for translated code ----------------===//

#include "Entries.h"

#include "Block.h"

#include <chrono>
#include <cstring>

namespace dsflash::simt {

namespace {

using Context = ThreadContext;

uint64_t clockNow() {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
}

void undefinedValue(Context *who, uint32_t site, uint32_t isUndefined,
                    const char *what) {
  if (isUndefined && who->block->launch.options.checks)
    who->block->launch.fault(who, who->block->site(site), "undefined register",
                             std::string(what) +
                                 " was computed from a register that nothing "
                                 "has written");
}

void trap(Context *who, uint32_t site) {
  who->block->launch.fault(who, who->block->site(site), "trap",
                           "the kernel gave up");
  who->block->stop();
}

void exitThread(Context *who) { who->block->leave(*who); }

void backwardBranch(Context *who, uint32_t site) {
  if (++who->backwardBranches <= who->block->launch.options.maxBackwardBranches)
    return;
  who->block->launch.fault(who, who->block->site(site), "endless loop",
                           std::to_string(who->backwardBranches) +
                               " backward branches in one thread");
  who->block->stop();
}

uint8_t *access(Context *who, uint32_t site, uint64_t address) {
  return who->block->checker->access(*who, site, address);
}

void fence(Context *who) { who->block->checker->fence(); }

uint32_t isSpace(Context *who, uint64_t address, uint32_t space) {
  Block &block = *who->block;
  bool shared = address - reinterpret_cast<uint64_t>(block.shared()) <
                block.sharedBytes();
  bool local = block.onStack(address);
  switch (ptx::Space(space)) {
  case ptx::Space::Shared:
    return shared;
  case ptx::Space::Local:
    return local;
  case ptx::Space::Global:
    return !shared && !local;
  default:
    return false;
  }
}

uint32_t atomicAdd16(uint16_t *where, uint32_t operand, uint32_t isBfloat,
                     uint32_t lanes) {
  Format format = isBfloat ? Format::BF16 : Format::F16;
  uint32_t old = 0;
  for (uint32_t i = 0; i < lanes; ++i) {
    uint16_t before = __atomic_load_n(where + i, __ATOMIC_SEQ_CST), after;
    do {
      double sum = addToOdd(decode(before, format),
                            decode(uint16_t(operand >> (16 * i)), format));
      after = uint16_t(encode(sum, format, Rounding::Nearest, 0));
    } while (!__atomic_compare_exchange_n(where + i, &before, after, false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    old |= uint32_t(before) << (16 * i);
  }
  return old;
}

//===- Barriers -----------------------------------------------------------===//

void barrier(Context *who, uint32_t site, uint32_t number, uint32_t count,
             uint32_t aligned) {
  who->block->barrier(*who, site, number, count, aligned);
}

void barrierArrive(Context *who, uint32_t site, uint32_t number,
                   uint32_t count) {
  who->block->arrive(*who, site, number, count);
}

// how: 0 popc, 1 and, 2 or.
uint32_t barrierReduce(Context *who, uint32_t site, uint32_t number,
                       uint32_t count, uint32_t predicate, uint32_t how) {
  uint32_t members = 0;
  uint32_t sum =
      who->block->barrierSum(*who, site, number, count, predicate, members);
  return how == 0 ? sum : how == 1 ? sum == members : sum != 0;
}

void warpBarrier(Context *who, uint32_t site, uint32_t mask) {
  Block &block = *who->block;
  block.together(*who, site, mask, nullptr, [&](Lanes &lanes) {
    if (!block.checker)
      return;
    uint32_t members = 0;
    for (uint32_t i = 0; i < kWarpSize; ++i)
      members |= lanes[i] ? uint32_t(1) << i : 0;
    block.checker->synchronizeWarp(who->warp, members);
  });
}

//===- Warp exchanges -----------------------------------------------------===//

struct Shuffle {
  uint32_t value, amount, control, mode;
  uint64_t result;
};

// PTX ISA, shfl.sync: control is the segment mask << 8 | clamp.
uint64_t shuffle(Context *who, uint32_t site, uint32_t mask, uint32_t value,
                 uint32_t amount, uint32_t control, uint32_t mode) {
  Shuffle own{value, amount, control, mode, 0};
  Block &block = *who->block;
  block.together(*who, site, mask, &own, [&](Lanes &lanes) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      if (!lanes[lane])
        continue;
      auto &shuffle = *static_cast<Shuffle *>(lanes[lane]->operands);
      uint32_t clamp = shuffle.control & 31;
      uint32_t segment = shuffle.control >> 8 & 31;
      uint32_t last = (lane & segment) | (clamp & ~segment & 31);
      uint32_t first = lane & segment;
      uint32_t step = shuffle.amount & 31;
      uint32_t from = 0;
      bool inside = false;
      switch (shuffle.mode) {
      case 0: // up
        inside = int32_t(lane) - int32_t(step) >= int32_t(last);
        from = lane - step;
        break;
      case 1: // down
        from = lane + step;
        inside = from <= last;
        break;
      case 2: // bfly
        from = lane ^ step;
        inside = from <= last;
        break;
      default: // idx
        from = first | (step & ~segment);
        inside = from <= last;
        break;
      }
      if (!inside)
        from = lane;
      if (!lanes[from]) {
        if (block.launch.options.checks)
          block.launch.fault(&lanes[lane]->context, block.site(site),
                             "inactive lane",
                             "a value comes from lane " + std::to_string(from) +
                                 ", which takes no part");
        from = lane;
      }
      shuffle.result = static_cast<Shuffle *>(lanes[from]->operands)->value |
                       uint64_t(inside) << 32;
    }
  });
  return own.result;
}

struct Exchange {
  uint64_t value;
  uint32_t result;
};

// Runs `combine` over the operands of all lanes; it fills their results.
template <typename Combine>
uint32_t exchange(Context *who, uint32_t site, uint32_t mask, uint64_t value,
                  Combine combine) {
  Exchange own{value, 0};
  who->block->together(*who, site, mask, &own, [&](Lanes &lanes) {
    for (Thread *lane : lanes)
      if (lane)
        static_cast<Exchange *>(lane->operands)->result =
            combine(lanes, static_cast<Exchange *>(lane->operands)->value);
  });
  return own.result;
}

uint64_t valueOf(const Thread *lane) {
  return static_cast<const Exchange *>(lane->operands)->value;
}

uint32_t ballot(Context *who, uint32_t site, uint32_t mask, uint32_t value) {
  return exchange(who, site, mask, value, [](Lanes &lanes, uint64_t) {
    uint32_t result = 0;
    for (uint32_t i = 0; i < kWarpSize; ++i)
      if (lanes[i] && valueOf(lanes[i]))
        result |= uint32_t(1) << i;
    return result;
  });
}

uint32_t match(Context *who, uint32_t site, uint32_t mask, uint64_t value,
               uint32_t all) {
  return exchange(who, site, mask, value, [all](Lanes &lanes, uint64_t own) {
    uint32_t same = 0, members = 0;
    for (uint32_t i = 0; i < kWarpSize; ++i) {
      if (!lanes[i])
        continue;
      members |= uint32_t(1) << i;
      if (valueOf(lanes[i]) == own)
        same |= uint32_t(1) << i;
    }
    return all && same != members ? 0 : same;
  });
}

// how: add, min, max, and, or, xor.
uint32_t reduce(Context *who, uint32_t site, uint32_t mask, uint32_t value,
                uint32_t how, uint32_t isSigned) {
  return exchange(who, site, mask, value, [=](Lanes &lanes, uint64_t) {
    uint32_t result = 0;
    bool first = true;
    for (Thread *lane : lanes) {
      if (!lane)
        continue;
      auto next = uint32_t(valueOf(lane));
      bool less = isSigned ? int32_t(next) < int32_t(result) : next < result;
      if (first)
        result = next;
      else if (how == 0)
        result += next;
      else if (how == 1 || how == 2)
        result = less == (how == 1) ? next : result;
      else
        result = how == 3   ? result & next
                 : how == 4 ? result | next
                            : result ^ next;
      first = false;
    }
    return result;
  });
}

uint32_t activeMask(Context *who) { return who->block->liveLanes(who->warp); }

} // namespace

#define SYMBOL(name, function) {name, reinterpret_cast<void *>(function)}
const RuntimeSymbol kThreadSymbols[] = {
    SYMBOL("simt_clock", clockNow),
    SYMBOL("simt_undefined", undefinedValue),
    SYMBOL("simt_trap", trap),
    SYMBOL("simt_exit", exitThread),
    SYMBOL("simt_backward_branch", backwardBranch),
    SYMBOL("simt_access", access),
    SYMBOL("simt_fence", fence),
    SYMBOL("simt_is_space", isSpace),
    SYMBOL("simt_atomic_add16", atomicAdd16),
    SYMBOL("simt_barrier", barrier),
    SYMBOL("simt_barrier_arrive", barrierArrive),
    SYMBOL("simt_barrier_reduce", barrierReduce),
    SYMBOL("simt_warp_barrier", warpBarrier),
    SYMBOL("simt_shuffle", shuffle),
    SYMBOL("simt_ballot", ballot),
    SYMBOL("simt_match", match),
    SYMBOL("simt_reduce", reduce),
    SYMBOL("simt_active_mask", activeMask),
};
#undef SYMBOL
const unsigned kThreadSymbolCount =
    sizeof(kThreadSymbols) / sizeof(RuntimeSymbol);

} // namespace dsflash::simt
