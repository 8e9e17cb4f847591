//===- IndexerEmitter.h - The scan of a row's index keys --------*- C++ -*-===//
//
// An item of an indexer's kernel is a part of a row's keys, of which it keeps
// the best entries.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_INDEXEREMITTER_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_INDEXEREMITTER_H

#include "BestEntries.h"
#include "RowAccess.h"
#include <optional>

namespace mlir::dsflash {

/// Scored positions or blocks of positions.
struct EntryBuffers {
  Value ranks, indices; // [rows, columns]
};

/// Operands of an indexer's kernel.
struct IndexerOperands {
  IndexerOperands(IndexerOp op, ValueRange ins, ValueRange outs)
      : query(ins[0]), weights(ins[1]), keys(ins[2]), sequence(ins[3]),
        position(ins[4]), candidates(op.getCandidates() ? ins[5] : Value()),
        parts(ins.back()), used(outs[0]), positions({outs[1], outs[2]}),
        positionCounts(outs[3]),
        blocks(op.getKept() ? EntryBuffers{outs[4], outs[5]} : EntryBuffers()),
        blockCounts(op.getKept() ? outs[6] : Value()),
        turnedQuery(outs.back()) {}

  Value query, weights, keys, sequence, position;
  Value candidates;       // null where all keys count
  Value parts;            // of a row
  Value used;             // [n]: parts that have keys
  EntryBuffers positions; // of each item
  Value positionCounts;
  EntryBuffers blocks; // null where no blocks are kept
  Value blockCounts;
  Value turnedQuery; // [items, dim, heads]; of no use to a block
};

/// Writes the body for an item.
class IndexerEmitter {
public:
  virtual ~IndexerEmitter() = default;
  void emit(Value at);

protected:
  /// `positions`, `blocks`: where an item's entries are gathered; the operands'
  /// own buffers, or shared memory.
  IndexerEmitter(KernelBuilder &b, IndexerOp op,
                 const IndexerOperands &operands, EntryBuffers positions,
                 EntryBuffers blocks);

  /// Prepares the scores of the current row.
  virtual void start() = 0;
  /// Offers the positions begin to end.
  virtual void scan(const PackedRows &keys, Value begin, Value end) = 0;
  /// Offers the positions of blocks, and the blocks.
  virtual void scanBlocks(const PackedRows &keys, Value begin, Value end) = 0;
  /// Offers the positions in the blocks of some columns of the candidates.
  virtual void scanCandidates(const PackedRows &keys, Value begin,
                              Value end) = 0;

  /// Offers a block with the best score of its positions.
  void offerBlock(Value isValid, Value best, Value block);

  KernelBuilder &b;
  IndexerOperands operands;
  int64_t blockSize;
  BestEntries positions;
  std::optional<BestEntries> blocks;
  Value item, row;
  Value reach; // positions that the row can reach

private:
  void publish(BestEntries &best, EntryBuffers to, Value counts);

  int64_t ratio;
};

/// Emits an item for one thread.
void emitThreadIndexer(KernelBuilder &b, IndexerOp op,
                       const IndexerOperands &operands, Value begin, Value end);
/// Entries that a thread offers between two calls of makeRoom.
constexpr int64_t threadIndexerKeys = 4;

/// The block that runs an item together; null where it is to be one thread.
BlockAttr getIndexerBlock(IndexerOp op, ConfigAttr config);
/// Emits an item for that block.
void emitBlockIndexer(KernelBuilder &b, IndexerOp op,
                      const IndexerOperands &operands, Value begin, Value end);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_INDEXEREMITTER_H
