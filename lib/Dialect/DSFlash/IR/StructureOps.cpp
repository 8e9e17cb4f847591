//===- StructureOps.cpp - Parameters, CED, layers, probes -----------------===//

#include "Constraints.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::dsflash;

//===----------------------------------------------------------------------===//
// ParamOp, ParamRefOp
//===----------------------------------------------------------------------===//

int64_t ParamOp::getLayerSpan() {
  return getLayers() ? int64_t(getLayers()->back()) + 1 : 1;
}

int64_t ParamOp::getSlotCount() {
  WeightType type = getWeightType();
  return getLayerSpan() * type.getExperts() * type.getPlanes();
}

LogicalResult ParamOp::verify() {
  auto layers = getLayers();
  auto namesHold = [&](StringRef part, bool wanted) {
    return getTensor().contains(part) == wanted &&
           (!getScale() || getScale()->contains(part) == wanted);
  };
  bool ascending =
      !layers ||
      (!layers->empty() && layers->front() >= 0 &&
       std::is_sorted(layers->begin(), layers->end()) &&
       std::adjacent_find(layers->begin(), layers->end()) == layers->end());
  if (failed(Constraint{*this, 1}.holds(
          ascending && namesHold("{l}", layers.has_value()),
          "ascending layers exactly when the names hold {l}")) ||
      failed(Constraint{*this, 2}.holds(
          namesHold("{e}", getWeightType().getShape().size() == 3),
          "{e} in the names exactly when the type has experts")) ||
      failed(Constraint{*this, 3}.holds(
          getScale().has_value() == getWeightType().getFormat().hasScale(),
          "a scale name exactly when the format has a scale")))
    return failure();
  return Constraint{*this, 4}.holds(getSlotCount() <= 1 << 24,
                                    "at most 16777216 slots but got " +
                                        Twine(getSlotCount()));
}

LogicalResult ParamRefOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  if (!param)
    return emitOpError() << "(C1) expected a parameter named " << getParam();
  if (failed(Constraint{*this, 1}.equal(getType(), param.getWeightType(),
                                        "the type")))
    return failure();
  return Constraint{*this, 2}.holds(bool(getLayer()) ==
                                        param.getLayers().has_value(),
                                    "a layer exactly when the parameter has "
                                    "layers");
}

//===----------------------------------------------------------------------===//
// EncoderOp, DecoderOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyYield(Operation *op) {
  auto yield = dyn_cast<YieldOp>(op->getRegion(0).front().getTerminator());
  return Constraint{op, 1}.holds(yield && TypeRange(yield.getResults()) ==
                                              op->getResultTypes(),
                                 "the body to yield the results");
}

LogicalResult EncoderOp::verify() { return verifyYield(*this); }
LogicalResult DecoderOp::verify() { return verifyYield(*this); }

//===----------------------------------------------------------------------===//
// LayerOp
//===----------------------------------------------------------------------===//

/// The layer that made a value; null when it comes from elsewhere. Looks
/// through what an encoder or decoder yields, and through a choice of rows.
static LayerOp getProducer(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto layer = dyn_cast<LayerOp>(op))
      return layer;
    if (auto gather = dyn_cast<GatherRowsOp>(op)) {
      value = gather.getInput();
      continue;
    }
    if (!isa<EncoderOp, DecoderOp>(op))
      return nullptr;
    auto number = cast<OpResult>(value).getResultNumber();
    value = op->getRegion(0).front().getTerminator()->getOperand(number);
  }
  return nullptr;
}

/// The innermost value that a chain of encoder and decoder results names.
static Value getOrigin(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<EncoderOp, DecoderOp>(op))
      break;
    auto number = cast<OpResult>(value).getResultNumber();
    value = op->getRegion(0).front().getTerminator()->getOperand(number);
  }
  return value;
}

/// The global KV that a layer selected from: its own result, or its operand.
static Value getSelectedKV(LayerOp layer) {
  if (layer.getMode() == Mode::Full)
    for (Value result : layer.getResults())
      if (isa<GlobalKVType>(result.getType()))
        return result;
  return layer.getGlobalKv() ? getOrigin(layer.getGlobalKv()) : Value();
}

LogicalResult LayerOp::verify() {
  Mode mode = getMode();
  bool kv = bool(getGlobalKv()), selection = bool(getSelection());
  if (failed(Constraint{*this, 2}.holds(
          kv == (mode != Mode::Window) && selection == (mode == Mode::Reuse),
          "global KV unless window, a selection only to reuse, in mode " +
              Twine(stringifyMode(mode)))))
    return failure();
  return Constraint{*this, 5}.holds(
      !getCandidates() || mode == Mode::Full || mode == Mode::Reindex,
      "candidates in modes full and reindex only");
}

/// C3 to C5: what a layer shares comes from layers that fit.
static LogicalResult verifySources(LayerOp layer) {
  if (Value candidates = layer.getCandidates()) {
    LayerOp source = getProducer(candidates);
    bool fits = source ? (source.getMode() == Mode::Full ||
                          source.getMode() == Mode::Reindex) &&
                             layer.getGlobalKv().getType() ==
                                 source.getGlobalKv().getType()
                       : isa<BlockArgument>(getOrigin(candidates));
    if (failed(Constraint{layer, 5}.holds(
            fits, "candidates from a full or reindex layer over global KV of "
                  "the same type")))
      return failure();
  }
  if (layer.getMode() != Mode::Reindex && layer.getMode() != Mode::Reuse)
    return success();
  Value used = getOrigin(layer.getGlobalKv());
  LayerOp owner = getProducer(used);
  if (failed(Constraint{layer, 3}.holds(owner ? owner.getMode() == Mode::Full
                                              : isa<BlockArgument>(used),
                                        "global KV from a full layer")))
    return failure();
  Value selection = layer.getSelection();
  if (!selection)
    return success();
  LayerOp source = getProducer(selection);
  bool fits = source ? source.getMode() != Mode::Window &&
                           source.getMode() != Mode::Reuse &&
                           getSelectedKV(source) == used
                     : isa<BlockArgument>(getOrigin(selection));
  return Constraint{layer, 4}.holds(
      fits, "a selection from a full or reindex layer over the same global KV");
}

/// Follows values across operations, so it runs once all of them are verified.
LogicalResult LayerOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (failed(Constraint{*this, 1}.holds(
          callee &&
              TypeRange(callee.getArgumentTypes()) ==
                  TypeRange(getOperandTypes()) &&
              TypeRange(callee.getResultTypes()) == TypeRange(getResultTypes()),
          "a function @" + getCallee() + " of the operand and result types")))
    return failure();
  return verifySources(*this);
}

//===----------------------------------------------------------------------===//
// ProbeOp
//===----------------------------------------------------------------------===//

LogicalResult ProbeOp::verify() {
  auto type = cast<ShapedType>(getInput().getType());
  Type element = type.getElementType();
  bool fits =
      (element.isF32() || element.isInteger(32) || element.isInteger(64)) &&
      type.getRank() >= 1 && type.getRank() <= 3 &&
      (isa<MemRefType>(type) ||
       llvm::none_of(type.getShape().drop_front(), ShapedType::isDynamic));
  if (failed(Constraint{*this, 1}.holds(getName().contains("{l}") ==
                                            bool(getLayer()),
                                        "{l} in the name exactly when there "
                                        "is a layer")) ||
      failed(Constraint{*this, 2}.holds(
          fits, "f32, i32 or i64 of rank 1 to 3, a tensor's extents after the "
                "first being static")) ||
      failed(Constraint{*this, 3}.holds(isExtent(getPositionsPerRow()),
                                        "positive positions_per_row")))
    return failure();
  bool passedOn = getResult() && getResult().getType() == type;
  return Constraint{*this, 4}.holds(
      isa<RankedTensorType>(type) ? passedOn : !getResult(),
      "a result of its type for a tensor and none for a buffer");
}
