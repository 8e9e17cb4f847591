//===- Phases.cpp - What the derived entries share ------------------------===//

#include "Phases.h"
#include "dsflash/Transforms/AttributeNames.h"

using namespace mlir;
using namespace mlir::dsflash;

Value CEDFunction::getArgument(StringRef name) {
  for (BlockArgument argument : function.getArguments()) {
    auto has = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                     nameAttrName);
    if (has && has.getValue() == name)
      return argument;
  }
  return {};
}

static bool yieldsStream(EncoderOp encoder) {
  auto isRows = [](Type type, int64_t rank) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == rank &&
           tensor.getElementType().isF32();
  };
  return encoder->getNumResults() >= 2 &&
         isRows(encoder->getResult(0).getType(), 3) &&
         isRows(encoder->getResult(1).getType(), 2);
}

FailureOr<std::optional<CEDFunction>>
mlir::dsflash::getCED(func::FuncOp function) {
  CEDFunction parts{function, {}, {}, {}};
  for (Operation &op : function.getBody().front()) {
    if (auto encoder = dyn_cast<EncoderOp>(op))
      parts.encoder = encoder;
    else if (auto decoder = dyn_cast<DecoderOp>(op))
      parts.decoder = decoder;
  }
  if (!parts.encoder || !parts.decoder)
    return std::optional<CEDFunction>();
  llvm::append_range(parts.layers, parts.decoder.getBody().getOps<LayerOp>());
  unsigned sources = llvm::count_if(parts.layers, [](LayerOp layer) {
    return layer.getMode() == Mode::Full;
  });
  bool early = !parts.encoder.getBody().getOps<InsertFeatureOp>().empty();
  if (sources != 1 || parts.layers.front().getMode() != Mode::Full || early)
    return std::optional<CEDFunction>();
  if (!yieldsStream(parts.encoder))
    return parts.encoder.emitOpError()
           << "expected to yield stream and collapse weights first";
  for (StringRef name : {"sequence", "position", "extents"})
    if (!parts.getArgument(name))
      return function.emitOpError() << "has no argument named '" << name << "'";
  return std::optional<CEDFunction>(parts);
}

FailureOr<std::optional<CEDFunction>>
mlir::dsflash::cloneForward(ModuleOp module, StringRef name) {
  SymbolTable symbols(module);
  auto forward = symbols.lookup<func::FuncOp>("forward");
  if (!forward || forward.isExternal())
    return std::optional<CEDFunction>();
  FailureOr<std::optional<CEDFunction>> parts = getCED(forward);
  if (failed(parts) || !*parts)
    return parts;
  if (symbols.lookup(name))
    return forward.emitOpError()
           << "there is a function '" << name << "' already";
  func::FuncOp clone = forward.clone();
  clone.setSymName(name);
  symbols.insert(clone, std::next(forward->getIterator()));
  clone.walk([](ProbeOp probe) {
    probe.getResult().replaceAllUsesWith(probe.getInput());
    probe.erase();
  });
  return getCED(clone);
}

Value mlir::dsflash::getFirstState(Value state) {
  while (Operation *op = state.getDefiningOp()) {
    if (isa<EncoderOp, DecoderOp>(op)) {
      unsigned number = cast<OpResult>(state).getResultNumber();
      state = op->getRegion(0).front().getTerminator()->getOperand(number);
      continue;
    }
    // A layer takes one state of a type.
    auto before = llvm::find_if(op->getOperands(), [&](Value operand) {
      return operand.getType() == state.getType();
    });
    if (before == op->operand_end())
      break;
    state = *before;
  }
  return state;
}

DictionaryAttr mlir::dsflash::getEntryAttrs(MLIRContext *context,
                                            StringRef name, StringRef dim) {
  Builder b(context);
  return b.getDictionaryAttr(
      {b.getNamedAttr(nameAttrName, b.getStringAttr(name)),
       b.getNamedAttr(dimAttrName, b.getStringAttr(dim))});
}

void mlir::dsflash::setResults(func::FuncOp function, ArrayRef<Value> values,
                               ArrayRef<Attribute> attributes) {
  Block &body = function.getBody().front();
  body.getTerminator()->setOperands(values);
  SmallVector<Type> types(
      llvm::map_range(values, [](Value value) { return value.getType(); }));
  function.setType(FunctionType::get(function.getContext(),
                                     function.getArgumentTypes(), types));
  function.setAllResultAttrs(attributes);
  eraseDeadOps(body);
  BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  (void)function.eraseArguments(unused);
}
