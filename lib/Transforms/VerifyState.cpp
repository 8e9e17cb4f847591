//===- VerifyState.cpp - A state has one value at a time ------------------===//

#include "CallOrder.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/Passes.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_VERIFYSTATEPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

namespace {

struct VerifyState : dsflash::impl::VerifyStatePassBase<VerifyState> {
  void runOnOperation() override {
    auto functions = sortCalleesFirst(getOperation());
    if (failed(functions))
      return signalPassFailure();
    bool faults = false;
    for (func::FuncOp function : *functions)
      function.walk([&](Operation *op) {
        for (OpOperand &operand : op->getOpOperands())
          if (appendsTo(operand))
            faults |= failed(checkOnlyUse(operand));
      });
    if (faults)
      signalPassFailure();
  }

private:
  /// Whether the operation changes the state that it takes as this operand.
  /// Remembers arguments of functions that are changed.
  bool appendsTo(OpOperand &operand) {
    Value value = operand.get();
    if (!isa<StateTypeInterface>(value.getType()))
      return false;
    Operation *op = operand.getOwner();
    bool appends = isa<CSA2Op, CompressOp, AppendOp, AppendWindowOp>(op);
    // CSA2 reads global KV; what it appends to is the window.
    if (isa<CSA2Op>(op))
      appends = isa<WindowType>(value.getType());
    if (auto call = dyn_cast<func::CallOp>(op))
      appends =
          changed.contains({call.getCallee(), operand.getOperandNumber()});
    auto argument = dyn_cast<BlockArgument>(value);
    if (appends && argument)
      if (auto function =
              dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
        changed.insert({function.getSymName(), argument.getArgNumber()});
    return appends;
  }

  LogicalResult checkOnlyUse(OpOperand &operand) {
    LogicalResult result = success();
    for (OpOperand &other : operand.get().getUses()) {
      if (&other == &operand)
        continue;
      InFlightDiagnostic fault = other.getOwner()->emitOpError()
                                 << "uses a state that is appended to "
                                    "elsewhere; expected the value after";
      fault.attachNote(operand.getOwner()->getLoc()) << "appended to here";
      result = failure();
    }
    return result;
  }

  /// Names of functions with numbers of arguments that they append to.
  DenseSet<std::pair<StringRef, unsigned>> changed;
};

} // namespace
