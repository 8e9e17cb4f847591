//===- CallOrder.cpp - Functions in the order of their calls --------------===//

#include "CallOrder.h"
#include "dsflash/Transforms/AttributeNames.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace {
/// Depth-first walk over the calls of a module.
class CallSorter {
public:
  explicit CallSorter(ModuleOp module) : symbols(module) {}

  LogicalResult visit(func::FuncOp function) {
    if (function.isExternal() || function->hasAttr(kernelAttrName))
      return success();
    State &state = states[function];
    if (state == State::Done)
      return success();
    if (state == State::Open)
      return function.emitOpError() << "calls itself";
    state = State::Open;
    if (!function.getBody().hasOneBlock())
      return function.emitOpError() << "expected one block";
    WalkResult result = function.walk([&](func::CallOp call) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      return !callee || succeeded(visit(callee)) ? WalkResult::advance()
                                                 : WalkResult::interrupt();
    });
    states[function] = State::Done;
    order.push_back(function);
    return failure(result.wasInterrupted());
  }

  SmallVector<func::FuncOp> order;

private:
  enum class State { New, Open, Done };
  SymbolTable symbols;
  DenseMap<Operation *, State> states;
};
} // namespace

FailureOr<SmallVector<func::FuncOp>>
mlir::dsflash::sortCalleesFirst(ModuleOp module) {
  CallSorter sorter(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(sorter.visit(function)))
      return failure();
  return std::move(sorter.order);
}

SmallVector<func::CallOp> mlir::dsflash::getCalls(func::FuncOp function) {
  SmallVector<func::CallOp> calls;
  function->getParentOfType<ModuleOp>().walk([&](func::CallOp call) {
    if (call.getCallee() == function.getSymName())
      calls.push_back(call);
  });
  return calls;
}
