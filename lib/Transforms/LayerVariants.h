//===- LayerVariants.h - Slices of layer functions --------------*- C++ -*-===//

#ifndef DSFLASH_LIB_TRANSFORMS_LAYERVARIANTS_H
#define DSFLASH_LIB_TRANSFORMS_LAYERVARIANTS_H

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsflash {

/// Erases the operations of a block whose results serve nothing.
void eraseDeadOps(Block &block);

/// The parts of a layer that a phase needs.
enum class LayerPart {
  KV,      ///< what makes global KV and index keys: `@L_kv`
  Window,  ///< what makes window KV: `@L_window`
  Reading, ///< all but what makes global KV and index keys: `@L_reading`
};

/// Makes slices of layer functions, each once.
class LayerVariants {
public:
  /// `withinCall`: windows begin at the call's first row; names end in "_only".
  LayerVariants(ModuleOp module, bool withinCall)
      : symbols(module), withinCall(withinCall) {}

  /// A layer that runs that part, before `layer`, with its operands.
  LayerOp create(OpBuilder &builder, LayerOp layer, LayerPart part);

  struct Variant {
    func::FuncOp function;
    SmallVector<unsigned> operands; ///< that it takes, of the layer's
    SmallVector<unsigned> results;  ///< that it gives
  };
  Variant &get(StringRef callee, LayerPart part);

private:
  SymbolTable symbols;
  bool withinCall;
  llvm::StringMap<Variant> variants;
};

/// Whether a value is global KV, index keys or pending groups.
inline bool isGlobalState(Value value) {
  return isa<GlobalKVType, IndexKeysType, PendingType>(value.getType());
}

/// Whether a value is a tensor whose first extent counts rows of a call, or
/// sequences or outputs.
inline bool hasRows(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 0 && type.isDynamicDim(0);
}

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TRANSFORMS_LAYERVARIANTS_H
