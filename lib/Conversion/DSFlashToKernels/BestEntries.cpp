//===- BestEntries.cpp - The best of many scored entries ------------------===//

#include "BestEntries.h"
#include "dsflash/Kernels/SharedFunction.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

/// Below every rank of a score, and that of a score that is NaN.
static constexpr int64_t noRank = std::numeric_limits<int32_t>::min();

/// Entries that must have arrived before some are dropped.
static int64_t getLimit(int64_t wanted) {
  constexpr int64_t smallest = 64;
  return std::max(2 * wanted, smallest);
}

int64_t BestEntries::getColumns(int64_t wanted, int64_t more) {
  return getLimit(wanted) + more + KernelBuilder::processorLanes;
}

BestEntries::BestEntries(KernelBuilder &b, int64_t wanted, Value ranks,
                         Value indices)
    : b(b), wanted(wanted), ranks(ranks), indices(indices),
      count(b.scratch({}, b.getIndexType())),
      threshold(b.scratch({}, b.getI32Type())) {}

Value BestEntries::getRank(KernelBuilder &b, Value score) {
  Value bits = b.bitsOf(b.addf(score, b.f32(0.0f)));
  Value flipped = arith::XOrIOp::create(
      b, bits, b.i32(std::numeric_limits<int32_t>::max()));
  Value isNegative = b.cmp(Cmp::slt, bits, b.i32(0));
  Value rank = b.select(isNegative, flipped, bits);
  return b.select(b.cmpf(CmpF::ORD, score, score), rank, b.i32(noRank));
}

void BestEntries::start(Value at) {
  constexpr int64_t rankOfMinusInfinity = int32_t(0x807fffff);
  row = at;
  b.store(b.index(0), count, {});
  b.store(b.i32(rankOfMinusInfinity), threshold, {});
}

Value BestEntries::loadRank(Value i) { return b.load(ranks, {row, i}); }
Value BestEntries::loadIndex(Value i) { return b.load(indices, {row, i}); }

/// Stores an entry if it is meant. One thread stores any: what is not meant is
/// overwritten by the next.
static void putEntry(KernelBuilder &b, Value isMeant, Value rank, Value index,
                     Value ranks, Value indices, ArrayRef<Value> at) {
  auto storeEntry = [&] {
    b.store(rank, ranks, at);
    b.store(index, indices, at);
  };
  if (b.getThreads() == 1)
    storeEntry();
  else
    b.when(isMeant, storeEntry);
}

void BestEntries::offer(Value isValid, Value rank, Value index) {
  Value isBetter =
      b.bitAnd(isValid, b.cmp(Cmp::sgt, rank, b.load(threshold, {})));
  KernelBuilder::ThreadCount better = b.countThreads(isBetter);
  Value at = b.load(count, {});
  putEntry(b, isBetter, rank, b.toI32(index), ranks, indices,
           {row, b.add(at, better.before)});
  b.store(b.add(at, better.total), count, {});
}

void BestEntries::makeRoom() {
  Value limit = b.index(getLimit(wanted));
  b.when(b.cmp(Cmp::sge, b.load(count, {}), limit), [&] { dropWorst(); });
}

Value BestEntries::finish() {
  b.when(b.cmp(Cmp::sgt, b.load(count, {}), b.index(wanted)),
         [&] { dropWorst(); });
  b.syncThreads();
  return b.load(count, {});
}

namespace {
/// Entries of a row that are too many.
struct Gathered {
  KernelBuilder &b;
  Value ranks, indices;
  Value row, count, wanted;

  /// What stays, and the rank of the worst of it.
  struct Kept {
    Value count, threshold;
  };
  Kept dropWorst();

private:
  int64_t getLanes() const { return b.getMaxLanes(); }
  Value countFrom(Value rank);
  Value findThreshold();
};
} // namespace

/// How many entries have at least this rank.
Value Gathered::countFrom(Value rank) {
  int64_t lanes = getLanes();
  Value least = b.splat(rank, lanes);
  Value zero = b.i32(0, lanes), one = b.i32(1, lanes);
  Value total =
      b.shareLoop(count, lanes, {zero}, [&](Value i, ArrayRef<Value> carried) {
        Value entries = b.loadVector(ranks, {row, i}, lanes);
        Value isCounted = b.cmp(Cmp::sge, entries, least);
        return SmallVector<Value>{
            b.add(carried[0], b.select(isCounted, one, zero))};
      })[0];
  return b.sumThreads(
      vector::ReductionOp::create(b, vector::CombiningKind::ADD, total));
}

/// The rank of the worst entry that stays, found bit by bit from the top.
Value Gathered::findThreshold() {
  Value most = b.toI32(wanted);
  Value lowest = b.i32(noRank);
  return b.loop(b.index(0), b.index(32), 1, {lowest, lowest},
                [&](Value, ArrayRef<Value> carried) {
                  Value rank = carried[0], bit = carried[1];
                  Value higher = b.add(rank, bit);
                  Value reaches = b.cmp(Cmp::sge, countFrom(higher), most);
                  return SmallVector<Value>{b.select(reaches, higher, rank),
                                            b.shiftRight(bit, 1)};
                })[0];
}

/// Keeps the wanted number of entries, in order.
Gathered::Kept Gathered::dropWorst() {
  b.onFirstThread(
      [&] { b.storeVector(b.i32(noRank, getLanes()), ranks, {row, count}); });
  b.syncThreads();
  Value least = findThreshold();
  Value above = b.toIndex(countFrom(b.add(least, 1)));
  Value last = b.add(count, -1);
  Value kept = b.loop(
      b.index(0), count, b.getThreads(), {b.index(0), b.sub(wanted, above)},
      [&](Value first, ArrayRef<Value> carried) {
        Value to = carried[0], tiesLeft = carried[1];
        Value i = b.getThreads() > 1 ? b.add(first, b.thread()) : first;
        Value isThere = b.cmp(Cmp::sle, i, last);
        Value from = b.min(i, last);
        Value rank = b.load(ranks, {row, from});
        Value index = b.load(indices, {row, from});
        Value isTie = b.bitAnd(isThere, b.cmp(Cmp::eq, rank, least));
        KernelBuilder::ThreadCount tie = b.countThreads(isTie);
        Value isKept =
            b.bitOr(b.bitAnd(isThere, b.cmp(Cmp::sgt, rank, least)),
                    b.bitAnd(isTie, b.cmp(Cmp::slt, tie.before, tiesLeft)));
        KernelBuilder::ThreadCount keep = b.countThreads(isKept);
        Value at = b.add(to, keep.before);
        putEntry(b, isKept, rank, index, ranks, indices, {row, at});
        return SmallVector<Value>{b.add(to, keep.total),
                                  b.sub(tiesLeft, tie.total)};
      })[0];
  b.syncThreads();
  return {kept, least};
}

void BestEntries::dropWorst() {
  std::string name = "drop_worst";
  if (b.getThreads() > 1)
    name += ".threads" + std::to_string(b.getThreads());
  SmallVector<Value> operands{forgetExtents(b, ranks),
                              forgetExtents(b, indices), row, b.load(count, {}),
                              b.index(wanted)};
  SmallVector<Value> kept = callShared(
      b, name, operands, [](KernelBuilder &body, ValueRange arguments) {
        Gathered entries{body,         arguments[0], arguments[1],
                         arguments[2], arguments[3], arguments[4]};
        Gathered::Kept kept = entries.dropWorst();
        return SmallVector<Value>{kept.count, kept.threshold};
      });
  b.store(kept[0], count, {});
  b.store(kept[1], threshold, {});
}
