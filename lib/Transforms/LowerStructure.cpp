//===- LowerStructure.cpp - Encoder, decoder, layers to calls -------------===//

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_LOWERSTRUCTUREPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

/// Puts the body of an encoder or decoder in its place.
static void inlineBody(Operation *stack) {
  Block &body = stack->getRegion(0).front();
  Operation *yield = body.getTerminator();
  stack->replaceAllUsesWith(yield->getOperands());
  yield->erase();
  stack->getBlock()->getOperations().splice(stack->getIterator(),
                                            body.getOperations());
  stack->erase();
}

/// Operands of a layer stand in the order in which its function takes them.
static void lowerToCall(LayerOp layer) {
  OpBuilder builder(layer);
  auto call =
      func::CallOp::create(builder, layer.getLoc(), layer.getCallee(),
                           layer.getResultTypes(), layer->getOperands());
  layer->replaceAllUsesWith(call);
  layer.erase();
}

namespace {
struct LowerStructure : dsflash::impl::LowerStructurePassBase<LowerStructure> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (isa<EncoderOp, DecoderOp>(op))
        inlineBody(op);
      else if (auto layer = dyn_cast<LayerOp>(op))
        lowerToCall(layer);
    });
  }
};
} // namespace
