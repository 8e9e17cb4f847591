//===- ResultsToDestinations.cpp - Results where the caller wants them ----===//
//
// A result that is computed in a tensor.empty would be an allocation that the
// function returns. Here the tensor.empty moves to the caller, function by
// function, up to the entries, whose results become arguments of the ABI.
//
//===----------------------------------------------------------------------===//

#include "CallOrder.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_RESULTSTODESTINATIONSPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

namespace {

constexpr unsigned noArgument = ~0u;

/// A tensor.empty that becomes an argument of its function.
struct Destination {
  RankedTensorType type;
  SmallVector<Value> sizes; // of the dynamic extents, values of the function
};

class Converter {
public:
  LogicalResult convert(func::FuncOp function);

private:
  /// The use that starts the chain of in-place operations at whose end `use`
  /// is; its value is an argument, a tensor.empty, or of unknown origin.
  OpOperand *getChainStart(OpOperand *use);
  /// An extent of a tensor, without asking the operation that computes it.
  Value getExtent(OpBuilder &builder, OpOperand *use, int64_t dim);
  /// The value that an index of the callee has at a call.
  FailureOr<Value> getAtCall(OpBuilder &builder, Value index,
                             func::CallOp call);

  /// Fails unless `result` can be an argument, which is `arguments[result]`
  /// from now on; makes that argument where there is none.
  LogicalResult convertResult(func::FuncOp function, OpOperand &result,
                              SmallVectorImpl<Destination> &destinations);
  LogicalResult passDestinations(func::CallOp call,
                                 ArrayRef<Destination> destinations);

  /// By the name of a function, for each result the number of the argument
  /// that holds it; noArgument where the result is no tensor.
  llvm::StringMap<SmallVector<unsigned>> arguments;
};

} // namespace

OpOperand *Converter::getChainStart(OpOperand *use) {
  while (auto result = dyn_cast<OpResult>(use->get())) {
    Operation *op = result.getOwner();
    if (auto dispatch = dyn_cast<DispatchOp>(op)) {
      use = dispatch.getTiedOpOperand(result);
    } else if (auto probe = dyn_cast<ProbeOp>(op)) {
      use = &probe.getInputMutable();
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = arguments.find(call.getCallee());
      if (callee == arguments.end())
        return use;
      use = &call->getOpOperand(callee->second[result.getResultNumber()]);
    } else {
      return use;
    }
  }
  return use;
}

Value Converter::getExtent(OpBuilder &builder, OpOperand *use, int64_t dim) {
  Value start = getChainStart(use)->get();
  auto empty = start.getDefiningOp<tensor::EmptyOp>();
  if (empty && empty.getType().isDynamicDim(dim))
    return empty.getDynamicSize(dim);
  return builder.createOrFold<tensor::DimOp>(use->getOwner()->getLoc(), start,
                                             dim);
}

FailureOr<Value> Converter::getAtCall(OpBuilder &builder, Value index,
                                      func::CallOp call) {
  if (auto argument = dyn_cast<BlockArgument>(index))
    return call.getOperand(argument.getArgNumber());
  Operation *op = index.getDefiningOp();
  if (auto dimOp = dyn_cast<tensor::DimOp>(op)) {
    Value start = getChainStart(&dimOp.getSourceMutable())->get();
    std::optional<int64_t> dim = dimOp.getConstantIndex();
    auto argument = dyn_cast<BlockArgument>(start);
    if (argument && dim && argument.getArgNumber() < call.getNumOperands())
      return getExtent(builder, &call->getOpOperand(argument.getArgNumber()),
                       *dim);
    auto empty = start.getDefiningOp<tensor::EmptyOp>();
    if (empty && dim && empty.getType().isDynamicDim(*dim))
      return getAtCall(builder, empty.getDynamicSize(*dim), call);
    return failure();
  }
  if (!isa<arith::ArithDialect>(op->getDialect()))
    return failure();
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> atCall = getAtCall(builder, operand, call);
    if (failed(atCall))
      return failure();
    mapping.map(operand, *atCall);
  }
  return builder.clone(*op, mapping)->getResult(0);
}

LogicalResult
Converter::convertResult(func::FuncOp function, OpOperand &result,
                         SmallVectorImpl<Destination> &destinations) {
  unsigned number = result.getOperandNumber();
  SmallVector<unsigned> &ofFunction = arguments[function.getSymName()];
  if (!isa<RankedTensorType>(result.get().getType())) {
    ofFunction.push_back(noArgument);
    return success();
  }
  OpOperand *start = getChainStart(&result);
  if (auto argument = dyn_cast<BlockArgument>(start->get())) {
    if (function.getResultAttr(number, nameAttrName) &&
        llvm::is_contained(ofFunction, argument.getArgNumber()))
      return result.getOwner()->emitOpError()
             << "result #" << number << " has the destination of another one";
    ofFunction.push_back(argument.getArgNumber());
    return success();
  }
  auto empty = start->get().getDefiningOp<tensor::EmptyOp>();
  if (!empty)
    return start->get().getDefiningOp()->emitOpError()
           << "expected result #" << number << " of @" << function.getSymName()
           << " to be computed in a tensor.empty or an argument";

  OpBuilder builder(function);
  NamedAttrList attributes(function.getResultAttrDict(number));
  attributes.set(bufferization::BufferizationDialect::kWritableAttrName,
                 builder.getBoolAttr(true));
  unsigned argument = function.getNumArguments();
  if (failed(function.insertArgument(
          argument, empty.getType(),
          attributes.getDictionary(builder.getContext()), empty.getLoc())))
    return failure();
  function.setResultAttrs(number, builder.getDictionaryAttr({}));
  start->set(function.getArgument(argument));
  ofFunction.push_back(argument);
  destinations.push_back({empty.getType(), empty.getDynamicSizes()});
  return success();
}

LogicalResult Converter::passDestinations(func::CallOp call,
                                          ArrayRef<Destination> destinations) {
  OpBuilder builder(call);
  SmallVector<Value> added;
  for (const Destination &destination : destinations) {
    SmallVector<Value> sizes;
    for (Value size : destination.sizes) {
      FailureOr<Value> atCall = getAtCall(builder, size, call);
      if (failed(atCall))
        return call.emitOpError()
               << "cannot tell the extents of a result from the operands";
      sizes.push_back(*atCall);
    }
    added.push_back(tensor::EmptyOp::create(builder, call.getLoc(),
                                            destination.type, sizes));
  }
  call.getOperandsMutable().append(added);
  return success();
}

LogicalResult Converter::convert(func::FuncOp function) {
  SmallVector<Destination> destinations;
  Operation *terminator = function.getBody().front().getTerminator();
  for (OpOperand &result : terminator->getOpOperands())
    if (failed(convertResult(function, result, destinations)))
      return failure();
  for (func::CallOp call : getCalls(function))
    if (failed(passDestinations(call, destinations)))
      return failure();
  return success();
}

/// Gives every user a tensor.empty of its own; one that CSE made of several
/// would be a buffer in use from the first of them to the last.
static void splitEmptyTensors(ModuleOp module) {
  SmallVector<tensor::EmptyOp> shared;
  module.walk([&](tensor::EmptyOp empty) {
    if (!empty->use_empty() && !empty->hasOneUse())
      shared.push_back(empty);
  });
  for (tensor::EmptyOp empty : shared)
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(empty->getUses())))
      use.set(OpBuilder(empty).clone(*empty)->getResult(0));
}

namespace {
struct ResultsToDestinations
    : dsflash::impl::ResultsToDestinationsPassBase<ResultsToDestinations> {
  void runOnOperation() override {
    auto functions = sortCalleesFirst(getOperation());
    if (failed(functions))
      return signalPassFailure();
    splitEmptyTensors(getOperation());
    Converter converter;
    for (func::FuncOp function : *functions)
      if (failed(converter.convert(function)))
        return signalPassFailure();
  }
};
} // namespace
