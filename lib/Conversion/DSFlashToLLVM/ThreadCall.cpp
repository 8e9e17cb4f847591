//===- ThreadCall.cpp - The call context for every function ---------------===//

#include "dsflash/Conversion/Passes.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_THREADCALLPASS
#include "dsflash/Conversion/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

namespace {

/// Makes `call` an operand of everything in the function that needs it.
void handOn(func::FuncOp function, Value call,
            const DenseSet<StringAttr> &defined) {
  function.walk([&](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](func::CallOp callOp) {
          if (defined.contains(callOp.getCalleeAttr().getAttr()))
            callOp->insertOperands(0, call);
        })
        .Case<DispatchOp, WeightDataOp, StateDataOp, ReportOp>(
            [&](auto user) { user.getCallMutable().assign(call); });
  });
}

struct ThreadCall : dsflash::impl::ThreadCallPassBase<ThreadCall> {
  void runOnOperation() override {
    auto type = LLVM::LLVMPointerType::get(&getContext());
    DenseSet<StringAttr> defined;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        defined.insert(function.getSymNameAttr());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (failed(function.insertArgument(0, type, nullptr, function.getLoc())))
        return signalPassFailure();
      handOn(function, function.getArgument(0), defined);
    }
  }
};

} // namespace
