//===- VerifyBufferized.cpp - Generated code allocates nothing ------------===//

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_VERIFYBUFFERIZEDPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

static bool isTensor(Type type) { return isa<TensorType>(type); }

/// What is wrong with an operation other than a stack buffer; empty if nothing.
static StringRef getFault(Operation *op) {
  if (isa<memref::AllocOp, memref::ReallocOp>(op))
    return "allocates; all memory must come from arguments";
  if (isa<memref::DeallocOp>(op))
    return "deallocates; all memory must come from arguments";
  if (isa<memref::CopyOp>(op))
    return "copies a buffer; results must be computed in place";
  if (llvm::is_contained({"tensor", "linalg", "bufferization"},
                         op->getName().getDialectNamespace()))
    return "is left; expected operations on buffers";
  auto hasTensor = [](Block &block) {
    return llvm::any_of(block.getArgumentTypes(), isTensor);
  };
  bool left = llvm::any_of(op->getOperandTypes(), isTensor) ||
              llvm::any_of(op->getResultTypes(), isTensor);
  for (Region &region : op->getRegions())
    left |= llvm::any_of(region, hasTensor);
  return left ? "works on tensors; expected buffers" : "";
}

namespace {
struct VerifyBufferized
    : dsflash::impl::VerifyBufferizedPassBase<VerifyBufferized> {
  using VerifyBufferizedPassBase::VerifyBufferizedPassBase;

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      StringRef fault = getFault(op);
      if (!fault.empty())
        report(op) << fault;
    });
    getOperation().walk(
        [&](FunctionOpInterface function) { verifyStack(function); });
  }

private:
  InFlightDiagnostic report(Operation *op) {
    signalPassFailure();
    return op->emitOpError();
  }

  /// Stack buffers of one function live until it returns.
  void verifyStack(FunctionOpInterface function) {
    int64_t bytes = 0;
    function.walk([&](memref::AllocaOp alloca) {
      MemRefType type = alloca.getType();
      if (!type.hasStaticShape()) {
        report(alloca) << "has a dynamic extent on the stack";
        return;
      }
      bytes += type.getNumElements() *
               DataLayout::closest(alloca).getTypeSize(type.getElementType());
      if (bytes > maxAllocaBytes)
        report(alloca) << "brings the stack of @" << function.getName()
                       << " to " << bytes << " bytes, more than "
                       << maxAllocaBytes.getValue();
    });
  }
};
} // namespace
