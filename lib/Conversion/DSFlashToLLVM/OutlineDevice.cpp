//===- OutlineDevice.cpp - Kernels to a module of their own ---------------===//

#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_OUTLINEDEVICEPASS
#include "dsflash/Conversion/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

/// Every symbol that a function names.
static void forEachUse(Operation *function,
                       llvm::function_ref<void(Operation *, StringAttr)> use) {
  if (auto uses = SymbolTable::getSymbolUses(function))
    for (SymbolTable::SymbolUse symbol : *uses)
      use(symbol.getUser(), symbol.getSymbolRef().getRootReference());
}

/// Kernels and, transitively, all that they name.
static llvm::SetVector<Operation *>
collectDeviceSymbols(ModuleOp module, const SymbolTable &symbols) {
  llvm::SetVector<Operation *> found;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      found.insert(function);
  for (size_t i = 0; i < found.size(); ++i)
    forEachUse(found[i], [&](Operation *, StringAttr name) {
      if (Operation *callee = symbols.lookup(name))
        found.insert(callee);
    });
  return found;
}

/// The host launches kernels and calls nothing of the device.
static LogicalResult checkHost(ModuleOp module,
                               const llvm::SetVector<Operation *> &device,
                               const SymbolTable &symbols) {
  bool failures = false;
  for (Operation &op : *module.getBody()) {
    if (device.contains(&op))
      continue;
    forEachUse(&op, [&](Operation *user, StringAttr name) {
      if (!device.contains(symbols.lookup(name)))
        return;
      emitError(user->getLoc())
          << "the host uses '" << name.getValue() << "', a part of a kernel";
      failures = true;
    });
  }
  return failure(failures);
}

/// What several kernels share stays one function: inlined it would be most of
/// the code.
static void keepShared(gpu::GPUModuleOp code) {
  llvm::DenseMap<StringRef, int> calls;
  code.walk([&](LLVM::CallOp call) {
    if (auto callee = call.getCallee())
      ++calls[*callee];
  });
  for (auto function : code.getOps<LLVM::LLVMFuncOp>())
    if (calls.lookup(function.getName()) > 1)
      function.setNoInline(true);
}

namespace {

struct OutlineDevice : dsflash::impl::OutlineDevicePassBase<OutlineDevice> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::SetVector<Operation *> device = collectDeviceSymbols(module, symbols);
    if (device.empty())
      return;
    if (failed(checkHost(module, device, symbols)))
      return signalPassFailure();
    auto b = OpBuilder::atBlockEnd(module.getBody());
    auto code = gpu::GPUModuleOp::create(b, module.getLoc(), deviceModuleName);
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (device.contains(&op))
        op.moveBefore(code.getBody(), code.getBody()->end());
    keepShared(code);
  }
};

} // namespace
