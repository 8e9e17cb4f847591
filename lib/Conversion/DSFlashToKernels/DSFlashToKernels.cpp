//===- DSFlashToKernels.cpp - The pass convert-dsflash-to-kernels ---------===//

#include "Lowering.h"
#include "dsflash/Conversion/Passes.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_CONVERTDSFLASHTOKERNELSPASS
#include "dsflash/Conversion/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

namespace {
/// What stays in a function beside launches.
bool isKernelLevel(Operation *op) {
  return isa<AwaitRowsOp, DispatchOp, WeightDataOp, StateDataOp, ParamRefOp,
             ProbeOp>(op);
}

struct ConvertDSFlashToKernels
    : mlir::dsflash::impl::ConvertDSFlashToKernelsPassBase<
          ConvertDSFlashToKernels> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function->hasAttr(kernelAttrName))
        function.walk<WalkOrder::PreOrder>([&](Operation *op) {
          if (isa_and_nonnull<DSFlashDialect>(op->getDialect()) &&
              !isKernelLevel(op))
            work.push_back(op);
        });

    Lowering lowering(getOperation());
    bool complete = true;
    for (Operation *op : work)
      if (!lowering.lower(op)) {
        op->emitOpError("has no lowering to kernels");
        complete = false;
      }
    if (!complete)
      signalPassFailure();
  }
};
} // namespace
