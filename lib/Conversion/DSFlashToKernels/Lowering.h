//===- Lowering.h - From model operations to kernel launches ----*- C++ -*-===//
//
// What the lowerings of all operator families share: a lowering says which
// items a launch has, what goes in and out, and writes the kernel's body. The
// body is written once for every kernel key (operation, attributes, types).
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_LOWERING_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_LOWERING_H

#include "dsflash/Kernels/KernelBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::dsflash {

/// Writes a kernel's body for the items begin to end.
using KernelBody = function_ref<void(KernelBuilder &b, Value begin, Value end,
                                     ValueRange ins, ValueRange outs)>;

/// Extents [sequences, 2] that an entry was called with, which the host may
/// read, and the (count, skip) by which last_rows narrowed them since, for
/// the same wanted rows.
struct NarrowedExtents {
  Value extents;
  SmallVector<std::pair<int64_t, int64_t>> steps;
};

class Lowering {
public:
  explicit Lowering(ModuleOp module);

  /// Lowers one model operation; its operands are lowered already. False if
  /// there is no lowering for it.
  bool lower(Operation *op);

  //===--- for the lowerings of operator families
  //---------------------------===//
  OpBuilder &builder() { return opBuilder; }
  /// Of a vector in a kernel.
  int64_t getMaxLanes() const { return maxLanes; }
  /// Of the device; null for the host.
  ConfigAttr getConfig() const { return config; }
  /// Whether numerics are "reference" and every value of this operand of the
  /// current operation is known to be exact in bf16.
  bool hasBF16Input(unsigned operand = 0) const {
    return bf16Inputs.contains({current, operand});
  }
  /// The same on a processor, whose products take pairs of such values.
  bool hasPairs() const { return !config && hasBF16Input(); }
  Location loc() const { return current->getLoc(); }
  Value index(int64_t value);
  /// The leading extent of a tensor (of a state-free value of this function),
  /// without making it depend on the operation that computes the tensor.
  Value rows(Value tensor);
  /// product of an index and a constant
  Value times(Value count, int64_t factor);
  /// A count in pieces of `size`.
  Value ceilDiv(Value count, int64_t size);
  /// An uninitialised tensor of `type`, whose leading extent, if dynamic, is
  /// `rows`.
  Value empty(Type type, Value rows);
  /// Where extents that a kernel computes come from; they themselves where none
  /// does.
  NarrowedExtents getNarrowedExtents(Value extents) const {
    auto found = narrowed.find(extents);
    return found == narrowed.end() ? NarrowedExtents{extents, {}}
                                   : found->second;
  }
  void setNarrowedExtents(Value extents, NarrowedExtents from) {
    narrowed[extents] = std::move(from);
  }
  /// Launches the kernel `name`_<shapes> over `grid` items; kernels of equal
  /// types and bodies are one. What the body depends on is in `name`, the
  /// current operation's attributes, hasBF16Input and the types. Gives the
  /// values of outs after it. With `block` a block of threads runs each item
  /// together.
  SmallVector<Value> dispatch(StringRef name, Value grid, ValueRange ins,
                              ValueRange outs, KernelBody body,
                              bool writesState = false, BlockAttr block = {});
  /// The threads that share a row of a tensor, or so many elements; null on the
  /// host, where one thread has it.
  BlockAttr getRowBlock(Value tensor) const;
  BlockAttr getRowBlock(int64_t features) const;
  /// Replaces the current operation.
  void replace(ValueRange results);

private:
  std::string getKey(StringRef name, TypeRange types) const;
  func::FuncOp getKernel(StringRef name, ValueRange ins, ValueRange outs,
                         KernelBody body, BlockAttr block);
  func::FuncOp makeKernel(StringRef base, FunctionType type, int64_t inCount,
                          KernelBody body, BlockAttr block);
  void findBF16Inputs();

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder opBuilder;
  ConfigAttr config;
  int64_t maxLanes;
  Operation *current = nullptr;
  llvm::StringMap<func::FuncOp> kernels; // by key
  llvm::DenseMap<Type, SmallVector<func::FuncOp>> kernelsByType;
  llvm::DenseMap<Value, Value> extents; // leading ones, by tensor
  llvm::DenseMap<Value, NarrowedExtents> narrowed;
  llvm::DenseSet<std::pair<Operation *, unsigned>> bf16Inputs;
};

/// One table entry: lowers an operation of type OpTy.
void lowerOp(Lowering &l, RoundOp op);
void lowerOp(Lowering &l, QuantizeOp op);
void lowerOp(Lowering &l, ScaleOp op);
void lowerOp(Lowering &l, RMSNormOp op);
void lowerOp(Lowering &l, LinearOp op);
void lowerOp(Lowering &l, ProjectOp op);
void lowerOp(Lowering &l, GroupedLinearOp op);
void lowerOp(Lowering &l, EmbedOp op);
void lowerOp(Lowering &l, HCInitOp op);
void lowerOp(Lowering &l, HCMixOp op);
void lowerOp(Lowering &l, HCCollapseOp op);
void lowerOp(Lowering &l, HCExpandOp op);
void lowerOp(Lowering &l, StreamMeanOp op);
void lowerOp(Lowering &l, GatherRowsOp op);
void lowerOp(Lowering &l, LastRowsOp op);
void lowerOp(Lowering &l, AddRowsOp op);
void lowerOp(Lowering &l, RopeTableOp op);
void lowerOp(Lowering &l, RotateOp op);
void lowerOp(Lowering &l, CSA2Op op);
void lowerOp(Lowering &l, CompressOp op);
void lowerOp(Lowering &l, AppendOp op);
void lowerOp(Lowering &l, LoadOp op);
void lowerOp(Lowering &l, IndexerOp op);
void lowerOp(Lowering &l, NoSelectionOp op);
void lowerOp(Lowering &l, RouterOp op);
void lowerOp(Lowering &l, GroupByExpertOp op);
void lowerOp(Lowering &l, ExpertLinearOp op);
void lowerOp(Lowering &l, SwiGLUOp op);
void lowerOp(Lowering &l, CombineOp op);
void lowerOp(Lowering &l, EngramHashOp op);
void lowerOp(Lowering &l, EngramLookupOp op);
void lowerOp(Lowering &l, EngramGateOp op);
void lowerOp(Lowering &l, EngramAddOp op);
void lowerOp(Lowering &l, InsertFeatureOp op);
void lowerOp(Lowering &l, DraftTokensOp op);
void lowerOp(Lowering &l, DraftAttentionOp op);
void lowerOp(Lowering &l, AppendWindowOp op);
void lowerOp(Lowering &l, ConfidenceOp op);
void lowerOp(Lowering &l, CheckNaNOp op);
void lowerOp(Lowering &l, CheckIdsOp op);
void lowerOp(Lowering &l, CheckWindowOp op);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_LOWERING_H
