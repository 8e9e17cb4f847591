//===- SharedFunction.cpp - Code that several kernels share ---------------===//

#include "SharedFunction.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dsflash;

Value mlir::dsflash::forgetExtents(KernelBuilder &b, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> extents(type.getRank(), ShapedType::kDynamic);
  return memref::CastOp::create(
      b, MemRefType::get(extents, type.getElementType()), buffer);
}

void mlir::dsflash::callShared(
    KernelBuilder &b, StringRef name, ValueRange operands,
    function_ref<void(KernelBuilder &body, ValueRange arguments)> emitBody) {
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
    KernelBuilder body(b.getLoc(), b.getContext(), b.getMaxLanes());
    body.setInsertionPointToStart(entry);
    emitBody(body, entry->getArguments());
    func::ReturnOp::create(body);
  }
  func::CallOp::create(b, function, operands);
}
