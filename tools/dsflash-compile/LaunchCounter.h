//===- LaunchCounter.h - Launches of a call with given extents --*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_LAUNCHCOUNTER_H
#define DSFLASH_TOOLS_COMPILE_LAUNCHCOUNTER_H

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

/// Launches of one kernel, summed up. Work and traffic are known for matrix
/// products only.
struct KernelCost {
  int64_t count = 0;
  bool isProduct = false;
  double flops = 0, bytesRead = 0, bytesWritten = 0;
};

/// Follows an entry of a module at stage "kernels" with numbers for its
/// extents: which launches happen, and on how many rows.
class LaunchCounter {
public:
  using Kernels = llvm::MapVector<mlir::StringRef, KernelCost>;

  /// Runs an entry; every leading extent of its arguments is the one of its
  /// `dsflash.dim`.
  Kernels run(mlir::func::FuncOp entry,
              mlir::function_ref<int64_t(mlir::StringRef dim)> getExtent);

private:
  using Shape = mlir::SmallVector<int64_t>;

  void walk(mlir::func::FuncOp function);
  void visit(mlir::Operation *op);
  void launch(mlir::dsflash::DispatchOp dispatch);
  void call(mlir::func::CallOp call);
  void fold(mlir::Operation *op);
  /// Gives `to` the number or the shape of `from`.
  void copy(mlir::Value from, mlir::Value to);
  /// The shape of a buffer with what is known of its dynamic extents.
  Shape shapeOf(mlir::Value buffer);
  double elementsOf(mlir::Value buffer);
  double bytesOf(mlir::Value buffer);

  llvm::DenseMap<mlir::Value, mlir::Attribute> numbers;
  llvm::DenseMap<mlir::Value, Shape> shapes;
  Kernels kernels;
};

/// Bytes of one tensor of a weight, as the checkpoint packs it, with its
/// scales.
double getTensorBytes(mlir::dsflash::WeightType type);

#endif // DSFLASH_TOOLS_COMPILE_LAUNCHCOUNTER_H
