//===- DeriveReplay.cpp - The replay of a window from a forward entry -----===//

#include "CallOrder.h"
#include "LayerVariants.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_DERIVEREPLAYPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

static bool isChanged(Operation *op) {
  return isa<AppendOp, CSA2Op, ProbeOp>(op);
}

/// Global rows stay, attention sees no window rows of earlier calls, nothing
/// is observed.
static void adaptBody(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (auto append = dyn_cast<AppendOp>(op)) {
      append.replaceAllUsesWith(append.getState());
      append.erase();
    } else if (auto attention = dyn_cast<CSA2Op>(op)) {
      attention.setWithinCall(true);
    } else if (auto check = dyn_cast<CheckWindowOp>(op)) {
      check.replaceAllUsesWith(check.getWindow());
      check.erase();
    } else if (auto probe = dyn_cast<ProbeOp>(op)) {
      if (probe.getResult())
        probe.getResult().replaceAllUsesWith(probe.getInput());
      probe.erase();
    }
  });
}

/// Drops the results that count outputs, and the arguments that only these
/// needed.
static void dropOutputs(func::FuncOp entry) {
  auto countsOutputs = [](StringAttr dim) { return dim && dim == "outputs"; };
  Block &body = entry.getBody().front();
  Operation *end = body.getTerminator();
  llvm::BitVector results(entry.getNumResults()),
      arguments(entry.getNumArguments());
  for (unsigned i = 0; i < results.size(); ++i)
    results[i] =
        countsOutputs(entry.getResultAttrOfType<StringAttr>(i, dimAttrName));
  end->eraseOperands(results);
  (void)entry.eraseResults(results);
  eraseDeadOps(body);
  for (unsigned i = 0; i < arguments.size(); ++i)
    arguments[i] =
        countsOutputs(entry.getArgAttrOfType<StringAttr>(i, dimAttrName)) &&
        entry.getArgument(i).use_empty();
  (void)entry.eraseArguments(arguments);
}

namespace {
struct DeriveReplay : dsflash::impl::DeriveReplayPassBase<DeriveReplay> {
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward || forward.isExternal() ||
        getOperation().lookupSymbol("replay"))
      return;
    auto functions = sortCalleesFirst(getOperation());
    if (failed(functions))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    llvm::DenseSet<func::FuncOp> reached = collectCallees(forward);
    llvm::StringMap<func::FuncOp> replays;
    for (func::FuncOp function : *functions)
      if (reached.contains(function))
        derive(function, function == forward, symbols, replays);
    dropOutputs(replays["forward"]);
  }

private:
  llvm::DenseSet<func::FuncOp> collectCallees(func::FuncOp root) {
    llvm::DenseSet<func::FuncOp> reached;
    SmallVector<func::FuncOp> open{root};
    while (!open.empty()) {
      func::FuncOp function = open.pop_back_val();
      if (!reached.insert(function).second)
        continue;
      function.walk([&](func::CallOp call) {
        if (auto callee =
                getOperation().lookupSymbol<func::FuncOp>(call.getCallee()))
          open.push_back(callee);
      });
    }
    return reached;
  }

  /// Clones a function if anything in it or in what it calls changes.
  void derive(func::FuncOp function, bool isEntry, SymbolTable &symbols,
              llvm::StringMap<func::FuncOp> &replays) {
    bool changes = isEntry;
    function.walk([&](Operation *op) {
      auto call = dyn_cast<func::CallOp>(op);
      changes |= isChanged(op) || (call && replays.count(call.getCallee()));
    });
    if (!changes)
      return;
    func::FuncOp clone = function.clone();
    clone.setSymName(isEntry ? "replay"
                             : ("replay_" + function.getSymName()).str());
    symbols.insert(clone, std::next(function->getIterator()));
    clone.walk([&](func::CallOp call) {
      if (func::FuncOp callee = replays.lookup(call.getCallee()))
        call.setCallee(callee.getSymName());
    });
    adaptBody(clone);
    replays[function.getSymName()] = clone;
  }
};
} // namespace
