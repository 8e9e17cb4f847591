//===- LayerVariants.cpp - Slices of layer functions ----------------------===//

#include "LayerVariants.h"

using namespace mlir;
using namespace mlir::dsflash;

/// Functions compute values and nothing else, so a call without uses may go.
static bool hasOnlyResults(Operation &op) {
  if (isa<func::CallOp>(op))
    return true;
  if (isa<EncoderOp, DecoderOp>(op))
    return llvm::all_of(op.getRegion(0).front().without_terminator(),
                        hasOnlyResults);
  return wouldOpBeTriviallyDead(&op);
}

void mlir::dsflash::eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && hasOnlyResults(op))
      op.erase();
}

/// Observation points belong to the forward function: here rows are missing.
static void eraseProbes(func::FuncOp function) {
  function.walk([](ProbeOp probe) {
    probe.getResult().replaceAllUsesWith(probe.getInput());
    probe.erase();
  });
}

/// Attention gives way to what it writes to the ring.
static void keepWindowWrites(func::FuncOp function) {
  function.walk([](CSA2Op op) {
    OpBuilder builder(op);
    auto append = AppendWindowOp::create(
        builder, op.getLoc(), op.getWindowAfter().getType(), op.getKv(),
        op.getWindow(), op.getLayer(), op.getSequence(), op.getPosition(),
        op.getExtents());
    op.getWindowAfter().replaceAllUsesWith(append.getWindowAfter());
  });
}

/// Whoever reads a state after its append reads the argument.
static void readStates(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    if (!isGlobalState(argument))
      continue;
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (result.getType() == argument.getType())
          result.replaceAllUsesWith(argument);
    });
  }
  function.walk([](CSA2Op op) {
    if (op.getMode() == Mode::Full)
      op.setMode(Mode::Reindex);
  });
}

static bool keeps(LayerPart part, Value result) {
  switch (part) {
  case LayerPart::KV:
    return isGlobalState(result);
  case LayerPart::Window:
    return isa<WindowType>(result.getType());
  case LayerPart::Reading:
    return !isGlobalState(result);
  }
  llvm_unreachable("unknown part");
}

static StringRef getSuffix(LayerPart part) {
  switch (part) {
  case LayerPart::KV:
    return "_kv";
  case LayerPart::Window:
    return "_window";
  case LayerPart::Reading:
    return "_reading";
  }
  llvm_unreachable("unknown part");
}

LayerVariants::Variant &LayerVariants::get(StringRef callee, LayerPart part) {
  std::string name = (callee + getSuffix(part)).str();
  if (withinCall)
    name += "_only";
  Variant &variant = variants[name];
  if (variant.function)
    return variant;

  auto original = symbols.lookup<func::FuncOp>(callee);
  func::FuncOp function = original.clone();
  function.setSymName(name);
  symbols.insert(function, std::next(original->getIterator()));
  eraseProbes(function);
  if (part == LayerPart::Window)
    keepWindowWrites(function);
  if (part == LayerPart::Reading)
    readStates(function);
  if (withinCall)
    function.walk([](CSA2Op op) { op.setWithinCall(true); });

  Block &body = function.getBody().front();
  Operation *terminator = body.getTerminator();
  BitVector dropped(function.getNumResults());
  for (OpOperand &result : terminator->getOpOperands()) {
    bool kept = keeps(part, result.get());
    dropped[result.getOperandNumber()] = !kept;
    if (kept)
      variant.results.push_back(result.getOperandNumber());
  }
  terminator->eraseOperands(dropped);
  (void)function.eraseResults(dropped);
  eraseDeadOps(body);

  BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments()) {
    bool used = !argument.use_empty();
    unused[argument.getArgNumber()] = !used;
    if (used)
      variant.operands.push_back(argument.getArgNumber());
  }
  (void)function.eraseArguments(unused);
  variant.function = function;
  return variant;
}

LayerOp LayerVariants::create(OpBuilder &builder, LayerOp layer,
                              LayerPart part) {
  Variant &variant = get(layer.getCallee(), part);
  SmallVector<Value> inputs;
  Value globalKV, selection, candidates;
  for (unsigned number : variant.operands) {
    Value operand = layer->getOperand(number);
    if (operand == layer.getGlobalKv())
      globalKV = operand;
    else if (operand == layer.getSelection())
      selection = operand;
    else if (operand == layer.getCandidates())
      candidates = operand;
    else
      inputs.push_back(operand);
  }
  Mode mode = part == LayerPart::Window ? Mode::Window : layer.getMode();
  if (part == LayerPart::Reading && mode == Mode::Full)
    mode = Mode::Reindex;
  return LayerOp::create(
      builder, layer.getLoc(), variant.function.getResultTypes(), mode,
      variant.function.getSymName(), inputs, globalKV, selection, candidates);
}
