//===- SharedFunction.cpp - Code that several kernels share ---------------===//

#include "dsflash/Kernels/SharedFunction.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dsflash;

Value mlir::dsflash::forgetExtents(KernelBuilder &b, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> extents(type.getRank(), ShapedType::kDynamic);
  return memref::CastOp::create(b, type.clone(extents), buffer);
}

SmallVector<Value> mlir::dsflash::callShared(
    KernelBuilder &b, StringRef name, ValueRange operands,
    function_ref<SmallVector<Value>(KernelBuilder &body, ValueRange arguments)>
        emitBody) {
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    function = func::FuncOp::create(b.getLoc(), name,
                                    b.getFunctionType(operands.getTypes(), {}));
    function.setPrivate();
    function->setAttr(kernelAttrName, b.getUnitAttr());
    module.push_back(function);
    Block *entry = function.addEntryBlock();
    KernelBuilder body(b.getLoc(), b.getContext(), b.getMaxLanes(),
                       b.getThreads());
    body.setInsertionPointToStart(entry);
    SmallVector<Value> results = emitBody(body, entry->getArguments());
    func::ReturnOp::create(body, results);
    function.setType(
        b.getFunctionType(operands.getTypes(), ValueRange(results).getTypes()));
  }
  auto call = func::CallOp::create(b, function, operands);
  return SmallVector<Value>(call.getResults());
}
