//===- DropResults.cpp - Callers use what they passed ---------------------===//

#include "CallOrder.h"
#include "dsflash/Transforms/Passes.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_DROPRESULTSPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

/// The numbers of the arguments that a function returns.
static FailureOr<SmallVector<unsigned>> getReturned(Operation *terminator) {
  SmallVector<unsigned> numbers;
  for (OpOperand &result : terminator->getOpOperands()) {
    auto argument = dyn_cast<BlockArgument>(result.get());
    if (!argument)
      return terminator->emitOpError()
             << "expected result #" << result.getOperandNumber()
             << " to be an argument of the function";
    numbers.push_back(argument.getArgNumber());
  }
  return numbers;
}

static LogicalResult dropResults(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  auto returned = getReturned(terminator);
  if (failed(returned))
    return failure();
  terminator->setOperands({});
  if (failed(function.eraseResults(
          BitVector(function.getNumResults(), /*t=*/true))))
    return failure();
  for (func::CallOp call : getCalls(function)) {
    for (auto [result, number] : llvm::zip_equal(call.getResults(), *returned))
      result.replaceAllUsesWith(call.getOperand(number));
    OpBuilder builder(call);
    func::CallOp::create(builder, call.getLoc(), function, call.getOperands());
    call.erase();
  }
  return success();
}

namespace {
struct DropResults : dsflash::impl::DropResultsPassBase<DropResults> {
  void runOnOperation() override {
    auto functions = sortCalleesFirst(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions)
      if (failed(dropResults(function)))
        return signalPassFailure();
  }
};
} // namespace
