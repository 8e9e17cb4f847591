//===- ProductOperands.cpp - Arguments of a product's function ------------===//

#include "ProductOperands.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dsflash;

/// A matrix of unknown extents.
static Value forgetExtents(KernelBuilder &b, Value matrix) {
  auto type = cast<MemRefType>(matrix.getType());
  SmallVector<int64_t> extents(type.getRank(), ShapedType::kDynamic);
  return memref::CastOp::create(
      b, MemRefType::get(extents, type.getElementType()), matrix);
}

ProductOperands::ProductOperands(KernelBuilder &b, Value begin, Value end,
                                 const ProductRows &rows, Value input,
                                 Value weight, Value output, Value expert,
                                 int64_t groupOutputs, bool rounded)
    : begin(begin), end(end), input(forgetExtents(b, input)),
      output(forgetExtents(b, output)), groupOutputs(b.index(groupOutputs)),
      rowCount(rows.count),
      rounded(arith::ConstantOp::create(b, b.getBoolAttr(rounded))) {
  auto value = cast<TypedValue<WeightType>>(weight);
  auto getPlane = [&](Plane plane) {
    return forgetExtents(
        b, WeightDataOp::create(b, getPlaneType(value.getType(), plane),
                                /*call=*/Value(), value, expert, plane));
  };
  payload = getPlane(Plane::Payload);
  if (value.getType().getFormat().hasScale())
    scales = getPlane(Plane::Scale);
  if (rows.order) {
    order = rows.order;
    firstSlot = rows.first;
    slotsPerInput = b.index(rows.slotsPerInput);
  }
}

SmallVector<Value *> ProductOperands::list() {
  SmallVector<Value *> all = {&begin,   &end,          &input,    &output,
                              &payload, &groupOutputs, &rowCount, &rounded};
  if (scales)
    all.push_back(&scales);
  if (order)
    all.append({&order, &firstSlot, &slotsPerInput});
  return all;
}

void ProductOperands::callFunction(
    KernelBuilder &b, std::string name,
    function_ref<void(KernelBuilder &, const ProductOperands &)> emitBody) {
  if (order)
    name += ".slots";
  SmallVector<Value> values;
  for (Value *operand : list())
    values.push_back(*operand);
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    function = func::FuncOp::create(
        b.getLoc(), name, b.getFunctionType(ValueRange(values).getTypes(), {}));
    function.setPrivate();
    function->setAttr(kernelAttrName, b.getUnitAttr());
    module.push_back(function);
    Block *entry = function.addEntryBlock();
    ProductOperands arguments = *this;
    for (auto [operand, argument] :
         llvm::zip_equal(arguments.list(), entry->getArguments()))
      *operand = argument;
    KernelBuilder body(b.getLoc(), b.getContext(), b.getMaxLanes());
    body.setInsertionPointToStart(entry);
    emitBody(body, arguments);
    func::ReturnOp::create(body);
  }
  func::CallOp::create(b, function, values);
}

std::string mlir::dsflash::describeProduct(FormatAttr format) {
  std::string text = stringifyElement(format.getElement()).str();
  if (format.hasScale())
    text += "." + std::to_string(format.getBlockRows()) + "x" +
            std::to_string(format.getBlockColumns());
  return text;
}
