//===- LaunchCounter.h - Launches of a call with given extents --*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_LAUNCHCOUNTER_H
#define DSFLASH_TOOLS_COMPILE_LAUNCHCOUNTER_H

#include "LaunchTraffic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include <optional>
#include <string>

/// A buffer with numbers for its extents.
struct BufferUse {
  std::string type;
  double bytes = 0;
};

/// Launches of one kernel, summed up. Operations are known for matrix products,
/// on a device for attention and indexers; bytes are those of LaunchTraffic.
struct KernelCost {
  int64_t count = 0;
  bool hasFlops = false, usesState = false;
  double flops = 0, attentionFlops = 0; ///< of products, of all else
  double bytesRead = 0, bytesWritten = 0;
  std::optional<double> bytesRequested;
  double weightBytes = 0; ///< of those read
  /// What the first launch reads and writes.
  mlir::SmallVector<BufferUse> inputs, outputs;
};

/// A piece of the workspace of a function, for one of its calls.
struct WorkspacePiece {
  mlir::StringRef function;
  int64_t offset;
  BufferUse buffer;
};

/// Follows an entry of a module at stage "kernels" with numbers for its
/// extents: which launches happen, and on how many rows.
class LaunchCounter {
public:
  using Pieces = llvm::MapVector<mlir::Operation *, WorkspacePiece>;
  using Kernels = llvm::MapVector<mlir::StringRef, KernelCost>;

  explicit LaunchCounter(const SequenceContext &context = {})
      : traffic(context) {}

  /// Runs an entry on one sequence; every leading extent of its arguments is
  /// the one of its `dsflash.dim`.
  Kernels run(mlir::func::FuncOp entry,
              mlir::function_ref<int64_t(mlir::StringRef dim)> getExtent);

  /// The pieces of the workspaces of the entry and what it calls, by the
  /// operation that takes them.
  const Pieces &pieces() const { return workspace; }

private:
  using Shape = mlir::SmallVector<int64_t>;

  void walk(mlir::func::FuncOp function);
  void visit(mlir::Operation *op);
  void launch(mlir::dsflash::DispatchOp dispatch);
  void loop(mlir::scf::ForOp loop);
  void call(mlir::func::CallOp call);
  void fold(mlir::Operation *op);
  /// Gives `to` the number or the shape of `from`.
  void copy(mlir::Value from, mlir::Value to);
  /// The shape of a buffer with what is known of its dynamic extents.
  Shape shapeOf(mlir::Value buffer);
  double elementsOf(mlir::Value buffer);
  double bytesOf(mlir::Value buffer);
  BufferUse describe(mlir::Value buffer);

  llvm::DenseMap<mlir::Value, mlir::Attribute> numbers;
  llvm::DenseMap<mlir::Value, Shape> shapes;
  /// The sequence's number in tables of extents and of wanted rows.
  llvm::DenseMap<mlir::Value, int64_t> entries;
  LaunchTraffic traffic;
  Kernels kernels;
  Pieces workspace;
};

#endif // DSFLASH_TOOLS_COMPILE_LAUNCHCOUNTER_H
