//===- BestEntries.h - The best of many scored entries ----------*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_BESTENTRIES_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_BESTENTRIES_H

#include "dsflash/Kernels/KernelBuilder.h"

namespace mlir::dsflash {

/// Keeps the best of many entries, which arrive with ascending indices: ties go
/// to the lower index and what is kept stays in order. Entries are gathered
/// until there is no room; then those below the best are dropped, and from then
/// on what is not better than the worst of them is not gathered.
///
/// The threads of an item work together: each offers an entry, in the order of
/// the threads, and all of them make every call.
class BestEntries {
public:
  /// Columns of the two buffers [rows, columns] of i32 that an object works in,
  /// when `more` entries may come between two calls of makeRoom.
  static int64_t getColumns(int64_t wanted, int64_t more);

  BestEntries(KernelBuilder &b, int64_t wanted, Value ranks, Value indices);

  /// An i32 in the order of scores, where -0 equals +0; below all others if the
  /// score is NaN.
  static Value getRank(KernelBuilder &b, Value score);

  /// Starts anew, in the buffers' row `at`.
  void start(Value at);
  /// Minus infinity and NaN never stay.
  void offer(Value isValid, Value rank, Value index);
  void makeRoom();
  /// Drops what is too much; gives the number of entries, which lie in the
  /// buffers' row.
  Value finish();

  Value loadRank(Value i);
  Value loadIndex(Value i);

private:
  void dropWorst();

  KernelBuilder &b;
  int64_t wanted;
  Value ranks, indices;
  Value count, threshold; // of the current row
  Value row;
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_BESTENTRIES_H
