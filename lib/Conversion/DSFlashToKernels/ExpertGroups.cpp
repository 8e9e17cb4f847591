//===- ExpertGroups.cpp - Slots in the order of their experts -------------===//
//
// A counting sort that leaves the slots of an expert in their order. On a
// device a block of threads does it: each thread has an expert, looks at all
// slots for it, a tile of them at a time, and counts them first, then puts
// them behind those of the experts before.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "RowAccess.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

namespace {
/// ins: experts [n, choices]; outs: order [n, choices], offsets [experts + 1].
class GroupEmitter {
public:
  GroupEmitter(KernelBuilder &b, ValueRange ins, ValueRange outs)
      : b(b), chosen(flatten(ins[0])), order(flatten(outs[0])),
        offsets(outs[1]), slots(memref::DimOp::create(b, chosen, 0)),
        experts(getFeatures(offsets) - 1) {}

  void emitByOne();
  void emitByBlock();

  static int64_t getSharedBytes(int64_t threads) {
    return 2 * threads * sizeof(int32_t);
  }

private:
  Value flatten(Value matrix) {
    return memref::CollapseShapeOp::create(
        b, matrix, SmallVector<ReassociationIndices>{{0, 1}});
  }

  Value forOwnSlots(Value expert, Value initial,
                    function_ref<void(Value slot, Value carried)> body);
  Value addBefore(Value count);

  KernelBuilder &b;
  Value chosen, order, offsets, slots;
  int64_t experts;
  Value counts, tile; // of a block, an element for each thread
};
} // namespace

void GroupEmitter::emitByOne() {
  Value cursors = b.scratch({experts}, b.getI32Type());
  auto postIncrement = [&](Value counter) {
    Value old = b.load(cursors, {counter});
    b.store(b.add(old, 1), cursors, {counter});
    return old;
  };
  b.loop(experts, [&](Value expert) { b.store(b.i32(0), cursors, {expert}); });
  b.loop(b.index(0), slots,
         [&](Value slot) { postIncrement(loadIndex(b, chosen, {slot})); });
  Value total =
      b.loop(b.index(0), b.index(experts), 1, {b.i32(0)},
             [&](Value expert, ArrayRef<Value> carried) -> SmallVector<Value> {
               Value first = carried[0];
               Value count = b.load(cursors, {expert});
               b.store(first, offsets, {expert});
               b.store(first, cursors, {expert});
               return {b.add(first, count)};
             })[0];
  b.store(total, offsets, {b.index(experts)});
  b.loop(b.index(0), slots, [&](Value slot) {
    Value place = b.toIndex(postIncrement(loadIndex(b, chosen, {slot})));
    b.store(b.toI32(slot), order, {place});
  });
}

/// Visits the slots of this thread's expert, counting on from `initial`.
Value GroupEmitter::forOwnSlots(
    Value expert, Value initial,
    function_ref<void(Value slot, Value carried)> body) {
  int64_t threads = b.getThreads();
  return b.loop(
      b.index(0), slots, threads, {initial},
      [&](Value first, ArrayRef<Value> outer) {
        // All are done with the tile before.
        b.barrier();
        Value mine = b.add(first, b.thread());
        b.when(b.cmp(Cmp::slt, mine, slots),
               [&] { b.store(b.load(chosen, {mine}), tile, {b.thread()}); });
        b.barrier();
        Value count = b.min(b.sub(slots, first), b.index(threads));
        return b.loop(
            b.index(0), count, 1, outer,
            [&](Value i, ArrayRef<Value> carried) -> SmallVector<Value> {
              Value isOwn = b.cmp(Cmp::eq, b.load(tile, {i}), expert);
              b.when(isOwn, [&] { body(b.add(first, i), carried[0]); });
              return {b.select(isOwn, b.add(carried[0], 1), carried[0])};
            });
      })[0];
}

/// The sum of a number over this thread and those before it, which `counts`
/// has for every thread.
Value GroupEmitter::addBefore(Value count) {
  Value sum = count;
  for (int64_t distance = 1; distance <= b.getThreads(); distance *= 2) {
    b.store(sum, counts, {b.thread()});
    b.barrier();
    if (distance == b.getThreads())
      break;
    Value other =
        b.load(counts, {b.max(b.add(b.thread(), -distance), b.index(0))});
    Value isThere = b.cmp(Cmp::sge, b.thread(), b.index(distance));
    sum = b.add(sum, b.select(isThere, other, b.i32(0)));
    b.barrier();
  }
  return sum;
}

void GroupEmitter::emitByBlock() {
  int64_t threads = b.getThreads();
  counts = b.shared(0, {threads}, b.getI32Type());
  tile = b.shared(threads * sizeof(int32_t), {threads}, b.getI32Type());
  Value total =
      b.loop(b.index(0), b.index(experts), threads, {b.i32(0)},
             [&](Value first, ArrayRef<Value> before) -> SmallVector<Value> {
               Value expert = b.add(first, b.thread()), id = b.toI32(expert);
               Value count = forOwnSlots(id, b.i32(0), [](Value, Value) {});
               Value end = b.add(before[0], addBefore(count));
               Value begin = b.sub(end, count);
               Value all = b.load(counts, {b.index(threads - 1)});
               b.when(b.cmp(Cmp::slt, expert, b.index(experts)),
                      [&] { b.store(begin, offsets, {expert}); });
               forOwnSlots(id, begin, [&](Value slot, Value place) {
                 b.store(b.toI32(slot), order, {b.toIndex(place)});
               });
               // The sums are read before the next ones come.
               b.barrier();
               return {b.add(before[0], all)};
             })[0];
  b.onFirstThread([&] { b.store(total, offsets, {b.index(experts)}); });
}

/// A thread for each expert, as far as a block has room for them.
static BlockAttr getBlock(ConfigAttr config, int64_t experts) {
  if (!config)
    return {};
  constexpr int64_t most = 512;
  auto threads = std::clamp(int64_t(llvm::PowerOf2Ceil(experts)),
                            config.getThreads(), most);
  return BlockAttr::get(config.getContext(), threads,
                        GroupEmitter::getSharedBytes(threads));
}

void mlir::dsflash::lowerOp(Lowering &l, GroupByExpertOp op) {
  Value n = l.rows(op.getExperts());
  BlockAttr block = getBlock(l.getConfig(), getFeatures(op.getOffsets()) - 1);
  l.replace(l.dispatch(
      "group_by_expert", l.index(1), op.getExperts(),
      {l.empty(op.getOrder().getType(), n),
       l.empty(op.getOffsets().getType(), n)},
      [&](KernelBuilder &b, Value, Value, ValueRange ins, ValueRange outs) {
        GroupEmitter emitter(b, ins, outs);
        if (block)
          emitter.emitByBlock();
        else
          emitter.emitByOne();
      },
      /*writesState=*/false, block));
}
