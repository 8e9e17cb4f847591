//===- DerivePrompt.cpp - What a prompt token needs -----------------------===//

#include "Phases.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_DERIVEPROMPTPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

/// The KV source and what stands in front of it leave the decoder; gives the
/// slice of the source.
static LayerOp extractSource(CEDFunction &parts, LayerVariants &variants) {
  LayerOp source = parts.layers.front();
  OpBuilder builder(parts.decoder);
  IRMapping mapping;
  for (Operation &op : parts.decoder.getBody().front()) {
    Operation *copy = builder.clone(op, mapping);
    if (&op != source)
      continue;
    LayerOp slice =
        variants.create(builder, cast<LayerOp>(copy), LayerPart::KV);
    copy->erase();
    return slice;
  }
  llvm_unreachable("the source is a layer of the decoder");
}

namespace {
struct DerivePrompt : dsflash::impl::DerivePromptPassBase<DerivePrompt> {
  void runOnOperation() override {
    auto cloned = cloneForward(getOperation(), "prompt");
    if (failed(cloned))
      return signalPassFailure();
    if (*cloned)
      derive(**cloned);
  }

  void derive(CEDFunction parts) {
    LayerVariants variants(getOperation(), /*withinCall=*/false);
    LayerOp source = extractSource(parts, variants);
    func::FuncOp function = parts.function;
    MLIRContext *context = &getContext();
    SmallVector<Value> values{parts.getStream(), parts.getPre()};
    SmallVector<Attribute> attributes{getEntryAttrs(context, "stream", "rows"),
                                      getEntryAttrs(context, "pre", "rows")};
    Operation *terminator = function.getBody().front().getTerminator();
    for (OpOperand &result : terminator->getOpOperands()) {
      if (!isa<StateTypeInterface>(result.get().getType()))
        continue;
      values.push_back(getAfterPrompt(parts, source, result.get()));
      attributes.push_back(
          function.getResultAttrDict(result.getOperandNumber()));
    }
    setResults(function, values, attributes);
  }

  /// What a state, as the function returns it, is after encoder and source.
  static Value getAfterPrompt(CEDFunction &parts, LayerOp source, Value state) {
    Value first = getFirstState(state);
    for (Operation *op : {source.getOperation(), parts.encoder.getOperation()})
      for (Value result : op->getResults())
        if (result.getType() == state.getType() &&
            getFirstState(result) == first)
          return result;
    return first;
  }
};
} // namespace
