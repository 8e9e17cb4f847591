//===- LegalizeNumerics.cpp - Reference or ideal numerics -----------------===//
//
// Import writes reference numerics; ideal numerics is what is left without
// rounding points, quantizers and packed rows.
//
//===----------------------------------------------------------------------===//

#include "StateFormats.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_LEGALIZENUMERICSPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

/// Takes every rounding and quantization out of the module.
static void makeIdeal(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<RoundOp, QuantizeOp>(op)) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
      return;
    }
    if (isa<RoundableOpInterface>(op))
      op->removeAttr("rounded");
    if (isa<CSA2Op, DraftAttentionOp>(op))
      op->removeAttr("round_probabilities");
  });
  unpackStateRows(module, [](Type) { return true; });
}

namespace {
struct LegalizeNumerics
    : dsflash::impl::LegalizeNumericsPassBase<LegalizeNumerics> {
  using LegalizeNumericsPassBase::LegalizeNumericsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (mode != "reference" && mode != "ideal") {
      module.emitError() << "expected the numerics 'reference' or 'ideal' but "
                            "got '"
                         << mode << "'";
      return signalPassFailure();
    }
    auto before = module->getAttrOfType<StringAttr>(numericsAttrName);
    if (mode == "reference" && before && before.getValue() == "ideal") {
      module.emitError() << "reference numerics cannot be made from ideal ones";
      return signalPassFailure();
    }
    if (mode == "ideal")
      makeIdeal(module);
    module->setAttr(numericsAttrName, StringAttr::get(&getContext(), mode));
  }
};
} // namespace
