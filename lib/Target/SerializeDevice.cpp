//===- SerializeDevice.cpp - Kernels to PTX inside the host's module ------===//

#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Target/DeviceCode.h"
#include "dsflash/Target/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_SERIALIZEDEVICEPASS
#include "dsflash/Target/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

static LogicalResult reportError(Operation *op, llvm::Error error) {
  return op->emitError(llvm::toString(std::move(error)));
}

namespace {

struct SerializeDevice
    : dsflash::impl::SerializeDevicePassBase<SerializeDevice> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(serialize()))
      signalPassFailure();
  }

private:
  LogicalResult serialize() {
    ModuleOp module = getOperation();
    auto target = NVPTXTarget::parse(device);
    if (!target)
      return reportError(module, target.takeError());
    std::string code;
    if (auto kernels =
            module.lookupSymbol<gpu::GPUModuleOp>(deviceModuleName)) {
      auto text = emitPTX(kernels, *target);
      if (!text)
        return reportError(kernels, text.takeError());
      code = std::move(*text);
      kernels.erase();
    }
    defineCode(module, code);
    return success();
  }

  static void defineCode(ModuleOp module, StringRef code) {
    std::string bytes = (code + StringRef("\0", 1)).str();
    auto b = OpBuilder::atBlockEnd(module.getBody());
    if (auto declared = module.lookupSymbol<LLVM::GlobalOp>(deviceCodeSymbol))
      declared.erase();
    LLVM::GlobalOp::create(
        b, module.getLoc(),
        LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, deviceCodeSymbol,
        b.getStringAttr(bytes));
  }
};

} // namespace
