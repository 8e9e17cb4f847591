//===- ProductOperands.cpp - Arguments of a product's function ------------===//

#include "ProductOperands.h"
#include "dsflash/Kernels/SharedFunction.h"

using namespace mlir;
using namespace mlir::dsflash;

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
  if (narrowed)
    all.push_back(&narrowed);
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
  callShared(b, name, values, [&](KernelBuilder &body, ValueRange arguments) {
    ProductOperands inside = *this;
    for (auto [operand, argument] : llvm::zip_equal(inside.list(), arguments))
      *operand = argument;
    emitBody(body, inside);
    return SmallVector<Value>();
  });
}

std::string mlir::dsflash::describeProduct(FormatAttr format) {
  std::string text = stringifyElement(format.getElement()).str();
  if (format.hasScale())
    text += "." + std::to_string(format.getBlockRows()) + "x" +
            std::to_string(format.getBlockColumns());
  return text;
}
