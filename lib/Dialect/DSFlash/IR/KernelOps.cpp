//===- KernelOps.cpp - Launches and packed data ---------------------------===//

#include "Constraints.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::dsflash;

//===----------------------------------------------------------------------===//
// DispatchOp
//===----------------------------------------------------------------------===//

LogicalResult DispatchOp::verify() {
  SmallVector<Type> tensors;
  for (Value init : getInits())
    if (isa<RankedTensorType>(init.getType()))
      tensors.push_back(init.getType());
  return Constraint{*this, 2}.holds(TypeRange(tensors) == getResultTypes(),
                                    "one result of its type for each tensor "
                                    "of the outs");
}

/// The type of a kernel's argument for an operand of a dispatch.
static Type getBufferType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  return type;
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "(C1) expected a kernel function named "
                         << getKernel();
  SmallVector<Type> expected;
  if (getCall())
    expected.push_back(getCall().getType());
  expected.append(2, IndexType::get((*this)->getContext()));
  for (Value operand : getInputs())
    expected.push_back(getBufferType(operand.getType()));
  for (Value operand : getInits())
    expected.push_back(getBufferType(operand.getType()));
  return Constraint{*this, 1}.holds(
      TypeRange(kernel.getArgumentTypes()) == TypeRange(expected) &&
          kernel.getNumResults() == 0,
      "@" + getKernel() +
          " to take two indices and buffers of the operands' shapes");
}

void DispatchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getInputsMutable()) {
    Type type = operand.get().getType();
    if (isa<MemRefType>(type))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isa<StateTypeInterface>(type))
      effects.emplace_back(MemoryEffects::Read::get());
  }
  for (OpOperand &operand : getInitsMutable())
    if (isa<MemRefType>(operand.get().getType())) {
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    }
  if (getWritesState())
    effects.emplace_back(MemoryEffects::Write::get());
}

//===----------------------------------------------------------------------===//
// WeightDataOp, StateDataOp
//===----------------------------------------------------------------------===//

/// The buffer of one plane of packed rows: bytes where elements are packed.
static MemRefType getPackedType(FormatAttr format, Plane plane, int64_t rows,
                                int64_t scaleRows, int64_t columns) {
  MLIRContext *context = format.getContext();
  Type byte = IntegerType::get(context, 8);
  if (plane == Plane::Scale)
    return MemRefType::get({scaleRows, format.getScaleCount(columns)}, byte);
  switch (format.getElement()) {
  case Element::F32:
    return MemRefType::get({rows, columns}, Float32Type::get(context));
  case Element::BF16:
    return MemRefType::get({rows, columns}, BFloat16Type::get(context));
  case Element::I32:
    return MemRefType::get({rows, columns}, IntegerType::get(context, 32));
  default:
    return MemRefType::get({rows, format.getPayloadBytes(columns)}, byte);
  }
}

MemRefType mlir::dsflash::getPlaneType(WeightType weight, Plane plane) {
  FormatAttr format = weight.getFormat();
  int64_t scaleRows =
      format.hasScale()
          ? llvm::divideCeil(weight.getRows(), format.getBlockRows())
          : 0;
  return getPackedType(format, plane, weight.getRows(), scaleRows,
                       weight.getColumns());
}

MemRefType mlir::dsflash::getPlaneType(StateTypeInterface state, Plane plane) {
  if (plane == Plane::Position)
    return MemRefType::get({state.getRowCount()},
                           IntegerType::get(state.getContext(), 32));
  return getPackedType(state.getRowFormat(), plane, state.getRowCount(),
                       state.getRowCount(), state.getRowElements());
}

bool mlir::dsflash::keepsPositions(Type state) {
  auto window = dyn_cast<WindowType>(state);
  return window && window.getPositions();
}

LogicalResult WeightDataOp::verify() {
  WeightType weight = getWeight().getType();
  if (failed(Constraint{*this, 1}.holds((weight.getShape().size() == 3) ==
                                            bool(getExpert()),
                                        "an expert exactly when the weight "
                                        "has experts")) ||
      failed(Constraint{*this, 2}.holds(getPlane() != Plane::Position,
                                        "payload or scale of a weight")) ||
      failed(Constraint{*this, 2}.holds(getPlane() == Plane::Payload ||
                                            weight.getFormat().hasScale(),
                                        "a format with a scale plane")))
    return failure();
  return Constraint{*this, 2}.equal(
      Type(getType()), getPlaneType(weight, getPlane()), "the buffer");
}

LogicalResult DecodeE2M1Op::verify() {
  Type codes = getCodes().getType(), element = getScale().getType();
  auto vector = dyn_cast<VectorType>(codes);
  return Constraint{*this, 1}.equal(
      Type(getType()), vector ? vector.clone(element) : element, "the result");
}

static int64_t countElements(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

LogicalResult DecodeE2M1BlocksOp::verify() {
  int64_t bytes = countElements(getCodes()), scales = getScales().size();
  if (failed(Constraint{*this, 1}.equal(countElements(getValues()), 2 * bytes,
                                        "the result")))
    return failure();
  return Constraint{*this, 2}.holds(scales > 0 && bytes % (2 * scales) == 0,
                                    "words of two bytes for each scale");
}

LogicalResult DecodeE4M3Op::verify() {
  Type codes = getCodes().getType();
  Type element = getElementTypeOrSelf(getType());
  auto vector = dyn_cast<VectorType>(codes);
  return Constraint{*this, 1}.equal(
      Type(getType()), vector ? vector.clone(element) : element, "the result");
}

LogicalResult DotBF16Op::verify() {
  return Constraint{*this, 1}.equal(countElements(getA()),
                                    2 * countElements(getSum()), "the values");
}

LogicalResult StateDataOp::verify() {
  auto state = cast<StateTypeInterface>(getState().getType());
  if (failed(Constraint{*this, 1}.holds(getPlane() != Plane::Scale ||
                                            state.getRowFormat().hasScale(),
                                        "a format with a scale plane")) ||
      failed(Constraint{*this, 1}.holds(getPlane() != Plane::Position ||
                                            keepsPositions(state),
                                        "a state that keeps positions")))
    return failure();
  return Constraint{*this, 1}.equal(
      Type(getType()), getPlaneType(state, getPlane()), "the buffer");
}
