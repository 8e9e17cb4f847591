//===- ModuleLayout.h - Places of weights, states and probes ----*- C++ -*-===//
//
// Numbers that generated code and the module's tables (ModuleABI.h) agree on.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_MODULELAYOUT_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_MODULELAYOUT_H

#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dsflash {

/// A state of a sequence and where its payload starts in the address range.
struct PlacedState {
  StateTypeInterface type;
  int64_t offset;
};

/// A tensor argument of an entry.
struct EntryTensor {
  StringAttr name;
  MemRefType type;
  dsf_dim dim;
  dsf_access access;
  bool hostReads; ///< with kernels on a device: the entry itself reads it
};

/// What an argument of an entry is bound to.
struct EntryArgument {
  enum Kind { Tensor, State, Workspace } kind;
  int64_t number; // of the tensor, or the state's offset
};

/// How a device launches a kernel.
struct KernelLaunch {
  int64_t threads;
  int64_t sharedBytes;
  int64_t itemsPerBlock;
};

struct Entry {
  func::FuncOp function;
  SmallVector<EntryTensor> tensors;
  SmallVector<EntryArgument> arguments; // behind the call context
  int64_t workspaceRowBytes, workspaceFixedBytes;
  int64_t lastRows; // 0: any number
};

struct ModuleLayout {
  /// Assigns slots to parameters in program order, offsets to states by their
  /// names, numbers to probes and checks by theirs. Reports arguments of
  /// entries that do not say what they are, and kernels that `device` (as
  /// --target has it, empty for the host) cannot run.
  static FailureOr<ModuleLayout> get(ModuleOp module, StringRef device);

  /// Bytes from a state's payload to its scales.
  static int64_t getScaleOffset(StateTypeInterface type);
  /// Bytes from a state's payload to the positions of its slots.
  static int64_t getPositionOffset(StateTypeInterface type);
  /// The ABI's name of an element type; no value for others.
  static std::optional<dsf_type> getType(Type element);

  llvm::MapVector<StringAttr, int64_t> slots; // by parameter
  int64_t slotCount = 0;
  llvm::MapVector<StringAttr, PlacedState> states;
  int64_t stateBytes = 0;
  llvm::MapVector<Attribute, ProbeOp> probes; // the first one of each key

  llvm::MapVector<Attribute, ReportOp> checks; // the first one of each key

  /// Name and kind: what the table says of a check.
  static Attribute getCheckKey(ReportOp report);
  /// Name, type and positions per row: what the table says of a probe.
  static Attribute getProbeKey(ProbeOp probe);
  SmallVector<Entry> entries;
  llvm::MapVector<StringAttr, KernelLaunch> kernels; // that are launched
  llvm::SetVector<StringAttr> hostKernels;           // beside those of a device
  std::string device; // that runs them, as --target has it; empty: the host

private:
  LogicalResult addKernel(func::FuncOp kernel, ConfigAttr config);
  LogicalResult addEntry(func::FuncOp function);
  LogicalResult addState(Entry &entry, unsigned argument);
  LogicalResult addTensor(Entry &entry, unsigned argument);
};

/// Whether a function writes the buffer of an argument, by launches, stores or
/// calls.
bool writesArgument(func::FuncOp function, unsigned argument);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_MODULELAYOUT_H
