//===- LaunchCounter.cpp - Launches of a call with given extents ----------===//

#include "LaunchCounter.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
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
      sequenceRows[argument] = getExtent("rows");
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
        auto rows = sequenceRows.find(load.getMemRef());
        if (rows != sequenceRows.end())
          numbers[load] = IntegerAttr::get(load.getType(), rows->second);
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
  if (auto rows = sequenceRows.find(from); rows != sequenceRows.end())
    sequenceRows.insert({to, rows->second});
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

double getTensorBytes(WeightType type) {
  FormatAttr format = type.getFormat();
  double bytes =
      double(type.getRows()) * format.getPayloadBytes(type.getColumns());
  if (format.hasScale())
    bytes += double(llvm::divideCeil(type.getRows(), format.getBlockRows())) *
             format.getScaleCount(type.getColumns());
  return bytes;
}

/// One expert's tensor for each row and choice of the output, until all are
/// read.
static double getTensorsRead(WeightType type, double outputs) {
  return std::min(double(type.getExperts()), outputs / type.getRows());
}

/// Whether a function reads what was in the buffer of an argument.
static bool readsArgument(func::FuncOp function, unsigned argument) {
  auto reads = [](auto &&self, Value buffer) -> bool {
    return llvm::any_of(buffer.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (auto call = dyn_cast<func::CallOp>(user)) {
        auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
            call, call.getCalleeAttr());
        return callee && !callee.isExternal() &&
               readsArgument(callee, use.getOperandNumber());
      }
      if (isa<ViewLikeOpInterface>(user))
        return llvm::any_of(user->getResults(),
                            [&](Value view) { return self(self, view); });
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      return effects &&
             effects.getEffectOnValue<MemoryEffects::Read>(use.get());
    });
  };
  return reads(reads, function.getArgument(argument));
}

/// What a kernel that is no product reads of a weight: a row for each row of
/// its output, in a hash an entry, else the whole tensor.
static double getWeightRead(StringRef kernel, WeightType type, double outputs,
                            double rows) {
  double rowBytes = getTensorBytes(type) / double(type.getRows());
  if (kernel.starts_with("embed") || kernel.starts_with("engram_lookup"))
    return outputs / double(type.getColumns()) * rowBytes;
  if (kernel.starts_with("engram_hash"))
    return rows * rowBytes / double(type.getColumns());
  return getTensorBytes(type);
}

void LaunchCounter::addTraffic(DispatchOp dispatch, KernelCost &cost) {
  StringRef name = dispatch.getKernel();
  OperandRange inputs = dispatch.getInputs(), inits = dispatch.getInits();
  // Rows that move from or to places of a larger buffer.
  bool gathers = name.starts_with("gather_rows");
  bool scatters =
      name.starts_with("insert_feature") || name.starts_with("add_rows");
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      dispatch, dispatch.getKernelAttr());
  for (auto [i, input] : llvm::enumerate(inputs)) {
    cost.bytesRead += bytesOf(gathers && i == 0 ? inits.front() : input);
    cost.usesState |= isa<StateTypeInterface>(input.getType());
  }
  constexpr unsigned firstOperand = 2;
  for (auto [i, init] : llvm::enumerate(inits)) {
    double bytes = bytesOf(scatters ? inputs.front() : init);
    cost.bytesWritten += bytes;
    if (kernel && !kernel.isExternal() &&
        readsArgument(kernel, firstOperand + inputs.size() + i))
      cost.bytesRead += bytes;
  }
}

void LaunchCounter::launch(DispatchOp dispatch) {
  KernelCost &cost = kernels[dispatch.getKernel()];
  addTraffic(dispatch, cost);
  if (cost.count++ == 0) {
    for (Value input : dispatch.getInputs())
      cost.inputs.push_back(describe(input));
    for (Value init : dispatch.getInits())
      cost.outputs.push_back(describe(init));
  }
  if (dispatch.getInits().empty())
    return;
  double outputs = elementsOf(dispatch.getInits().front());
  if (!isMatrixProduct(dispatch.getKernel())) {
    for (Value input : dispatch.getInputs())
      if (auto type = dyn_cast<WeightType>(input.getType()))
        cost.bytesRead += getWeightRead(dispatch.getKernel(), type, outputs,
                                        shapeOf(dispatch.getInits()[0])[0]);
    return;
  }
  auto isWeight = [](Value value) { return isa<WeightType>(value.getType()); };
  auto weight = llvm::find_if(dispatch.getInputs(), isWeight);
  if (weight == dispatch.getInputs().end())
    return;
  cost.isProduct = true;
  auto type = cast<WeightType>((*weight).getType());
  cost.flops += 2 * outputs * type.getColumns();
  double bytes = getTensorBytes(type) * getTensorsRead(type, outputs);
  cost.bytesRead += bytes;
  cost.weightBytes += bytes;
}
