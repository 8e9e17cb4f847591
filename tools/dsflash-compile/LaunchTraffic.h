//===- LaunchTraffic.h - Bytes that a launch moves --------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_LAUNCHTRAFFIC_H
#define DSFLASH_TOOLS_COMPILE_LAUNCHTRAFFIC_H

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

/// The sequence of a call.
struct SequenceContext {
  int64_t tokens = 0;        ///< before the call
  int64_t slidingWindow = 1; ///< positions that a row sees of the window
  int64_t blockSize = 1;     ///< positions of a candidate block
};

struct Traffic {
  double read = 0, written = 0;
  double weights = 0; ///< of those read
  /// Of attention and indexer, two operations for each multiplication.
  double flops = 0;
  /// What the threads of a device ask for, by the formula of the kernel's tile
  /// (docs/Nvptx.md); nothing where there is none.
  std::optional<double> requested;
};

/// Counts what launches must move, each byte once: of buffers the rows that
/// they read and write, of weights the rows or tensors that they take, of
/// states the rows that the positions of the call lead to, and the addresses of
/// weights and states (docs/ModuleABI.md). Buffers that their kernel fills in
/// part are followed from the launch that writes to those that read.
class LaunchTraffic {
public:
  using Shape = mlir::SmallVector<int64_t>;
  using ShapeOf = mlir::function_ref<Shape(mlir::Value)>;

  explicit LaunchTraffic(const SequenceContext &context) : context(context) {}

  Traffic count(mlir::dsflash::DispatchOp dispatch, ShapeOf shapeOf);

private:
  class Counter;

  SequenceContext context;
  /// Bytes of buffers that are not full, and keys of all rows in scores.
  llvm::DenseMap<mlir::Value, double> filled, keysOf;
};

/// Bytes of one tensor of a weight, as the checkpoint packs it, with its
/// scales.
double getTensorBytes(mlir::dsflash::WeightType type);

/// Bytes of a row of a state, scales included.
int64_t getRowBytes(mlir::dsflash::StateTypeInterface state);

#endif // DSFLASH_TOOLS_COMPILE_LAUNCHTRAFFIC_H
