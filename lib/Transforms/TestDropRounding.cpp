//===- TestDropRounding.cpp - Leave out named rounding points -------------===//
//
// Shows which test sees which rounding point: a module without one of them must
// differ from the reference somewhere.
//
//===----------------------------------------------------------------------===//

#include "StateFormats.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::dsflash;

static bool dropProbabilities(ModuleOp module) {
  bool found = false;
  module.walk([&](Operation *op) {
    if (isa<CSA2Op, DraftAttentionOp>(op))
      found |= bool(op->removeAttr("round_probabilities"));
  });
  return found;
}

/// The name of a rounding point or quantizer; null for other operations.
static StringAttr getPoint(Operation *op) {
  if (isa<RoundOp, QuantizeOp>(op))
    return op->getAttrOfType<StringAttr>("point");
  return nullptr;
}

static bool dropPoint(ModuleOp module, StringRef name) {
  bool found = false;
  module.walk([&](Operation *op) {
    StringAttr point = getPoint(op);
    if (!point || point.getValue() != name)
      return;
    found = true;
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  });
  return found;
}

/// Removes what `name` stands for; false when there is none in the module.
static bool drop(ModuleOp module, StringRef name) {
  if (name == "probabilities")
    return dropProbabilities(module);
  if (name == "state.window")
    return unpackStateRows(module, llvm::IsaPred<WindowType>);
  if (name == "state.global_kv")
    return unpackStateRows(module, llvm::IsaPred<GlobalKVType>);
  if (name == "state.index_keys")
    return unpackStateRows(module, llvm::IsaPred<IndexKeysType>);
  return dropPoint(module, name);
}

namespace {
struct TestDropRoundingPass
    : PassWrapper<TestDropRoundingPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestDropRoundingPass)

  TestDropRoundingPass() = default;
  TestDropRoundingPass(const TestDropRoundingPass &other)
      : PassWrapper(other) {}

  StringRef getArgument() const final { return "dsflash-test-drop-rounding"; }
  StringRef getDescription() const final {
    return "leave out rounding points and quantizers of these names; also "
           "probabilities, state.window, state.global_kv, state.index_keys";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<DSFlashDialect>();
  }

  void runOnOperation() override {
    for (const std::string &point : points)
      if (!drop(getOperation(), point)) {
        getOperation().emitError()
            << "nothing to drop is named '" << point << "'";
        return signalPassFailure();
      }
  }

  ListOption<std::string> points{*this, "points",
                                 llvm::cl::desc("names of rounding points")};
};
} // namespace

void mlir::dsflash::registerTestPasses() {
  PassRegistration<TestDropRoundingPass>();
}
