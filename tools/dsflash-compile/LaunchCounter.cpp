//===- LaunchCounter.cpp - Launches of a call with given extents ----------===//

#include "LaunchCounter.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dsflash;

LaunchCounter::Kernels
LaunchCounter::run(func::FuncOp entry,
                   function_ref<int64_t(StringRef dim)> getExtent) {
  for (BlockArgument argument : entry.getArguments()) {
    auto dim = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  dimAttrName);
    if (!dim)
      continue;
    Shape shape(cast<MemRefType>(argument.getType()).getShape());
    shape.front() = getExtent(dim);
    shapes[argument] = shape;
    auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                   nameAttrName);
    if (name && name == "extents")
      entries[argument] = getExtent("rows");
    if (name && name == "wanted")
      entries[argument] = getExtent("outputs");
  }
  walk(entry);
  return std::move(kernels);
}

void LaunchCounter::walk(func::FuncOp function) {
  for (Operation &op : function.getOps())
    visit(&op);
}

void LaunchCounter::visit(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case([&](DispatchOp dispatch) { launch(dispatch); })
      .Case([&](func::CallOp nested) { call(nested); })
      .Case([&](scf::ForOp sum) { loop(sum); })
      .Case([&](memref::LoadOp load) {
        auto entry = entries.find(load.getMemRef());
        if (entry != entries.end())
          numbers[load] = IntegerAttr::get(load.getType(), entry->second);
      })
      .Case([&](memref::DimOp dim) {
        Shape shape = shapeOf(dim.getSource());
        std::optional<int64_t> index = dim.getConstantIndex();
        if (index && *index < int64_t(shape.size()))
          numbers[dim] = IntegerAttr::get(dim.getType(), shape[*index]);
      })
      .Case([&](memref::ViewOp view) {
        Shape shape(view.getType().getShape());
        auto size = view.getSizes().begin();
        for (int64_t &extent : shape)
          if (ShapedType::isDynamic(extent))
            if (auto number =
                    dyn_cast_or_null<IntegerAttr>(numbers.lookup(*size++)))
              extent = number.getInt();
        shapes[view] = shape;
        auto offset =
            dyn_cast_or_null<IntegerAttr>(numbers.lookup(view.getByteShift()));
        if (offset && !view.getType().getElementType().isInteger(8))
          workspace.insert({view,
                            {view->getParentOfType<func::FuncOp>().getName(),
                             offset.getInt(), describe(view)}});
      })
      .Default([&](Operation *other) { fold(other); });
}

/// A sum over the sequences, of which there is one.
void LaunchCounter::loop(scf::ForOp sum) {
  for (auto [init, carried] :
       llvm::zip_equal(sum.getInitArgs(), sum.getRegionIterArgs()))
    copy(init, carried);
  for (Operation &op : sum.getBody()->without_terminator())
    visit(&op);
  for (auto [yielded, result] :
       llvm::zip_equal(sum.getYieldedValues(), sum.getResults()))
    copy(yielded, result);
}

void LaunchCounter::fold(Operation *op) {
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands())
    operands.push_back(numbers.lookup(operand));
  SmallVector<OpFoldResult> results;
  if (op->getNumResults() != 1 || failed(op->fold(operands, results)) ||
      results.size() != 1)
    return;
  if (auto number = dyn_cast<Attribute>(results.front()))
    numbers[op->getResult(0)] = number;
  else
    copy(cast<Value>(results.front()), op->getResult(0));
}

void LaunchCounter::copy(Value from, Value to) {
  if (Attribute number = numbers.lookup(from))
    numbers[to] = number;
  if (isa<MemRefType>(from.getType()))
    shapes[to] = shapeOf(from);
  if (auto rows = entries.find(from); rows != entries.end())
    entries.insert({to, rows->second});
}

void LaunchCounter::call(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!callee || callee.isExternal())
    return;
  for (auto [operand, argument] :
       llvm::zip(call.getOperands(), callee.getArguments()))
    copy(operand, argument);
  walk(callee);
}

LaunchCounter::Shape LaunchCounter::shapeOf(Value buffer) {
  auto known = shapes.find(buffer);
  return known == shapes.end()
             ? Shape(cast<MemRefType>(buffer.getType()).getShape())
             : known->second;
}

double LaunchCounter::elementsOf(Value buffer) {
  double elements = 1;
  for (int64_t extent : shapeOf(buffer))
    elements *= extent;
  return elements;
}

double LaunchCounter::bytesOf(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  return type ? elementsOf(buffer) * type.getElementTypeBitWidth() / 8 : 0;
}

BufferUse LaunchCounter::describe(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (type)
    MemRefType::Builder(type)
        .setShape(shapeOf(buffer))
        .
        operator MemRefType()
        .print(stream);
  else
    buffer.getType().print(stream);
  return {text, bytesOf(buffer)};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Whether each output of a kernel is a sum over the columns of its weight.
static bool isMatrixProduct(StringRef kernel) {
  return kernel.contains("linear_") || kernel.contains("mix_product_");
}

void LaunchCounter::launch(DispatchOp dispatch) {
  KernelCost &cost = kernels[dispatch.getKernel()];
  Traffic bytes =
      traffic.count(dispatch, [&](Value buffer) { return shapeOf(buffer); });
  cost.bytesRead += bytes.read;
  cost.bytesWritten += bytes.written;
  cost.usesState |= llvm::any_of(dispatch.getInputs(), [](Value input) {
    return isa<StateTypeInterface>(input.getType());
  });
  if (bytes.requested)
    cost.bytesRequested = cost.bytesRequested.value_or(0) + *bytes.requested;
  // On the host one kernel has all of an attention.
  if (bytes.requested && bytes.flops > 0) {
    cost.hasFlops = true;
    cost.attentionFlops += bytes.flops;
  }
  if (cost.count++ == 0) {
    for (Value input : dispatch.getInputs())
      cost.inputs.push_back(describe(input));
    for (Value init : dispatch.getInits())
      cost.outputs.push_back(describe(init));
  }
  if (dispatch.getInits().empty() || !isMatrixProduct(dispatch.getKernel()))
    return;
  auto isWeight = [](Value value) { return isa<WeightType>(value.getType()); };
  auto weight = llvm::find_if(dispatch.getInputs(), isWeight);
  if (weight == dispatch.getInputs().end())
    return;
  cost.hasFlops = true;
  auto type = cast<WeightType>((*weight).getType());
  double outputs = elementsOf(dispatch.getInits().front());
  cost.flops += 2 * outputs * double(type.getColumns());
  cost.weightBytes += bytes.weights;
}
