//===- IndexerLowering.cpp - Streaming selection of global rows -----------===//
//
// The keys of a row are divided into parts, each of which keeps its best
// entries; a second kernel keeps the best of those. Entries are ordered by
// score and position, so that the selection does not depend on the division.
//
//===----------------------------------------------------------------------===//

#include "IndexerEmitter.h"
#include "Lowering.h"
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

namespace {
/// Items that a call with few rows is divided into, and the fewest keys of one.
constexpr int64_t kItems = 128, kLeastKeys = 1024;
/// Threads that merge the entries of a row on a device.
constexpr int64_t kMergeThreads = 256;
} // namespace

static Value ceilDiv(KernelBuilder &b, Value a, Value divisor) {
  return b.div(b.add(b.add(a, divisor), -1), divisor);
}

//===----------------------------------------------------------------------===//
// A part of a row
//===----------------------------------------------------------------------===//

IndexerEmitter::IndexerEmitter(KernelBuilder &b, IndexerOp op,
                               const IndexerOperands &operands,
                               EntryBuffers positions, EntryBuffers blocks)
    : b(b), operands(operands), blockSize(op.getBlockSize()),
      positions(b, getFeatures(op.getSelection()), positions.ranks,
                positions.indices),
      ratio(op.getKeys().getType().getRatio()) {
  if (op.getKept())
    this->blocks.emplace(b, getFeatures(op.getKept()), blocks.ranks,
                         blocks.indices);
}

void IndexerEmitter::emit(Value at) {
  item = at;
  row = b.div(item, operands.parts);
  Value part = b.rem(item, operands.parts);
  PackedRows keys(b, operands.keys, loadIndex(b, operands.sequence, {row}));
  reach = b.div(b.add(loadIndex(b, operands.position, {row}), 1), ratio);

  // What is divided: positions, blocks, or columns of candidates.
  Value units = reach;
  if (operands.candidates)
    units = b.index(getFeatures(operands.candidates));
  else if (blocks)
    units = ceilDiv(b, reach, b.index(blockSize));
  int64_t least = llvm::divideCeil(kLeastKeys, std::max<int64_t>(blockSize, 1));
  Value ofPart = b.max(ceilDiv(b, units, operands.parts), b.index(least));
  Value used = ceilDiv(b, units, ofPart);
  Value begin = b.mul(part, ofPart);
  Value end = b.min(b.add(begin, ofPart), units);

  // The item before is done with the threads' memory.
  b.syncThreads();
  b.onFirstThread([&] {
    b.when(b.cmp(Cmp::eq, part, b.index(0)),
           [&] { b.store(b.toI32(used), operands.used, {row}); });
  });
  b.when(b.cmp(Cmp::slt, part, used), [&] {
    Value entryRow = b.getThreads() > 1 ? b.index(0) : item;
    positions.start(entryRow);
    if (blocks)
      blocks->start(entryRow);
    start();
    if (blocks)
      scanBlocks(keys, begin, end);
    else if (operands.candidates)
      scanCandidates(keys, begin, end);
    else
      scan(keys, begin, end);
    publish(positions, operands.positions, operands.positionCounts);
    if (blocks)
      publish(*blocks, operands.blocks, operands.blockCounts);
  });
}

void IndexerEmitter::offerBlock(Value isValid, Value best, Value block) {
  Value newest = b.div(b.add(reach, -1), blockSize);
  Value score = b.select(b.cmp(Cmp::eq, block, newest),
                         b.f32(std::numeric_limits<float>::infinity()), best);
  blocks->offer(isValid, BestEntries::getRank(b, score), block);
  blocks->makeRoom();
}

/// Hands an item's entries over.
void IndexerEmitter::publish(BestEntries &best, EntryBuffers to, Value counts) {
  Value count = best.finish();
  b.onFirstThread([&] { b.store(b.toI32(count), counts, {item}); });
  if (b.getThreads() == 1)
    return;
  b.shareLoop(count, 1, [&](Value i) {
    b.store(best.loadRank(i), to.ranks, {item, i});
    b.store(best.loadIndex(i), to.indices, {item, i});
  });
}

//===----------------------------------------------------------------------===//
// All parts of a row
//===----------------------------------------------------------------------===//

namespace {
/// Chooses the best of what the parts of each row have kept.
class EntryMerge {
public:
  EntryMerge(Lowering &l, Value parts, Value used)
      : l(l), parts(parts), used(used) {}

  /// ranks, indices, counts: of the items. Gives `table`, the indices of each
  /// row's entries and then -1.
  Value emit(ValueRange entries, Value table) {
    int64_t wanted = getFeatures(table);
    BlockAttr block = getBlock(wanted);
    Value n = l.rows(table);
    SmallVector<Value> outs{table};
    if (!block)
      for (int64_t i = 0; i < 2; ++i)
        outs.push_back(l.empty(
            RankedTensorType::get({ShapedType::kDynamic, getColumns(wanted, 1)},
                                  l.builder().getI32Type()),
            n));
    SmallVector<Value> ins(entries);
    ins.append({used, parts});
    return l.dispatch(
        "merge_entries", n, ins, outs,
        [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
            ValueRange outs) {
          EntryBuffers buffers;
          if (block)
            buffers = getShared(b, wanted);
          else
            buffers = {outs[1], outs[2]};
          BestEntries best(b, wanted, buffers.ranks, buffers.indices);
          b.loop(begin, end,
                 [&](Value row) { merge(b, best, row, ins, outs[0]); });
        },
        /*writesState=*/false, block)[0];
  }

private:
  static int64_t getColumns(int64_t wanted, int64_t threads) {
    return BestEntries::getColumns(wanted, threads);
  }
  static int64_t getEntryOffset() {
    return KernelBuilder::getSumBytes(kMergeThreads);
  }

  BlockAttr getBlock(int64_t wanted) const {
    ConfigAttr config = l.getConfig();
    int64_t bytes =
        getEntryOffset() + 2 * getColumns(wanted, kMergeThreads) * 4;
    if (!config || bytes > config.getSharedBytes())
      return {};
    return BlockAttr::get(config.getContext(), kMergeThreads, bytes);
  }

  static EntryBuffers getShared(KernelBuilder &b, int64_t wanted) {
    int64_t columns = getColumns(wanted, kMergeThreads);
    Type i32 = b.getI32Type();
    return {b.shared(getEntryOffset(), {1, columns}, i32),
            b.shared(getEntryOffset() + columns * 4, {1, columns}, i32)};
  }

  static void merge(KernelBuilder &b, BestEntries &best, Value row,
                    ValueRange ins, Value table) {
    Value ranks = ins[0], indices = ins[1], parts = ins[4];
    bool isBlock = b.getThreads() > 1;
    b.syncThreads();
    best.start(isBlock ? b.index(0) : row);
    b.loop(b.index(0), loadIndex(b, ins[3], {row}), [&](Value part) {
      Value item = b.add(b.mul(row, parts), part);
      Value count = loadIndex(b, ins[2], {item}), last = b.add(count, -1);
      b.loop(b.index(0), count, b.getThreads(), [&](Value first) {
        Value i = isBlock ? b.add(first, b.thread()) : first;
        Value from = b.min(i, last);
        best.offer(b.cmp(Cmp::sle, i, last), b.load(ranks, {item, from}),
                   loadIndex(b, indices, {item, from}));
        best.makeRoom();
      });
    });
    Value kept = best.finish();
    b.shareLoop(getFeatures(table), 1, [&](Value i) {
      b.when(
          b.cmp(Cmp::slt, i, kept),
          [&] { b.store(best.loadIndex(i), table, {row, i}); },
          [&] { b.store(b.i32(-1), table, {row, i}); });
    });
  }

  Lowering &l;
  Value parts, used;
};
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, IndexerOp op) {
  OpBuilder &builder = l.builder();
  Location loc = op.getLoc();
  Value n = l.rows(op.getQuery());
  // The more rows, the fewer parts: there are never more than n + kItems items.
  Value some = builder.createOrFold<arith::MaxSIOp>(loc, n, l.index(1));
  Value ahead =
      builder.createOrFold<arith::AddIOp>(loc, some, l.index(kItems - 1));
  Value parts = builder.createOrFold<arith::DivUIOp>(loc, ahead, some);
  Value items = builder.createOrFold<arith::MulIOp>(loc, n, parts);
  Value most = builder.createOrFold<arith::AddIOp>(loc, n, l.index(kItems));

  BlockAttr block = getIndexerBlock(op, l.getConfig());
  SmallVector<Value> outs;
  auto addOut = [&](ArrayRef<int64_t> rowShape, Type element, Value rows) {
    SmallVector<int64_t> shape = {ShapedType::kDynamic};
    shape.append(rowShape.begin(), rowShape.end());
    outs.push_back(l.empty(RankedTensorType::get(shape, element), rows));
  };
  auto addEntries = [&](Value result, int64_t more) {
    int64_t wanted = getFeatures(result);
    int64_t columns = block ? wanted : BestEntries::getColumns(wanted, more);
    addOut({columns}, builder.getI32Type(), most);
    addOut({columns}, builder.getI32Type(), most);
    addOut({}, builder.getI32Type(), most);
  };
  addOut({}, builder.getI32Type(), n);
  addEntries(op.getSelection(), threadIndexerKeys);
  if (op.getKept())
    addEntries(op.getKept(), 1);
  if (!block)
    addOut({op.getKeys().getType().getDim(), getFeatures(op.getWeights())},
           builder.getF32Type(), most);

  SmallVector<Value> ins(op->getOperands());
  ins.push_back(parts);
  SmallVector<Value> found = l.dispatch(
      op.getCandidates() ? "candidate_indexer" : "indexer", items, ins, outs,
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        IndexerOperands operands(op, ins, outs);
        if (block)
          emitBlockIndexer(b, op, operands, begin, end);
        else
          emitThreadIndexer(b, op, operands, begin, end);
      },
      /*writesState=*/false, block);

  EntryMerge merge(l, parts, found[0]);
  auto mergeInto = [&](Value result, ValueRange entries) {
    return merge.emit(entries, l.empty(result.getType(), n));
  };
  SmallVector<Value> results{
      mergeInto(op.getSelection(), ArrayRef(found).slice(1, 3))};
  if (op.getKept())
    results.push_back(mergeInto(op.getKept(), ArrayRef(found).slice(4, 3)));
  l.replace(results);
}

void mlir::dsflash::lowerOp(Lowering &l, NoSelectionOp op) {
  Value n = l.rows(op.getPosition());
  l.replace(l.dispatch("no_selection", n, {}, l.empty(op.getType(), n),
                       [](KernelBuilder &b, Value begin, Value end, ValueRange,
                          ValueRange outs) {
                         b.loop(begin, end, [&](Value row) {
                           b.loop(getFeatures(outs[0]), [&](Value i) {
                             b.store(b.i32(-1), outs[0], {row, i});
                           });
                         });
                       }));
}
