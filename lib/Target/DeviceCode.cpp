//===- DeviceCode.cpp - Kernels to PTX and cubins -------------------------===//

#include "dsflash/Target/DeviceCode.h"
#include "TemporaryFile.h"
#include "Translation.h"
#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/IR/Constants.h"
#include <future>

using namespace mlir;
using namespace mlir::dsflash;

static llvm::Expected<LLVMModule> translateFor(gpu::GPUModuleOp module,
                                               const NVPTXTarget &target) {
  std::string features = target.getFeatureFlags();
  return translate(module, NVPTXTarget::getTriple(),
                   [&](llvm::Function &function) {
                     function.addFnAttr("target-cpu", target.getChip());
                     function.addFnAttr("target-features", features);
                   });
}

static llvm::Expected<DeviceCode>
compile(LLVMModule module, const NVPTXTarget &target, StringRef ptxas) {
  auto ptx = emitAssembly(std::move(module), target.getChip());
  if (!ptx)
    return ptx.takeError();
  DeviceCode code{std::move(*ptx), ""};
  if (ptxas.empty())
    return code;
  auto cubin = assemblePTX(ptxas, code.ptx, target);
  if (!cubin)
    return cubin.takeError();
  code.cubin = std::move(*cubin);
  return code;
}

llvm::Expected<SmallVector<DeviceCode>>
mlir::dsflash::emitDeviceCode(gpu::GPUModuleOp module,
                              ArrayRef<NVPTXTarget> targets, StringRef ptxas) {
  registerGPUDialectTranslation(*module.getContext());
  registerNVVMDialectTranslation(*module.getContext());
  // The module's context belongs to this thread.
  std::vector<std::future<llvm::Expected<DeviceCode>>> compilations;
  llvm::Error errors = llvm::Error::success();
  for (const NVPTXTarget &target : targets) {
    auto translated = translateFor(module, target);
    if (translated)
      compilations.push_back(
          std::async(std::launch::async,
                     [code = std::move(*translated), &target, ptxas]() mutable {
                       return compile(std::move(code), target, ptxas);
                     }));
    else
      errors = llvm::joinErrors(std::move(errors), translated.takeError());
  }
  SmallVector<DeviceCode> codes;
  for (auto &compilation : compilations) {
    llvm::Expected<DeviceCode> code = compilation.get();
    if (code)
      codes.push_back(std::move(*code));
    else
      errors = llvm::joinErrors(std::move(errors), code.takeError());
  }
  if (errors)
    return std::move(errors);
  return codes;
}

std::string mlir::dsflash::getPTXSymbol(const NVPTXTarget &target) {
  return ("dsf.ptx." + target.getChip()).str();
}

static const llvm::Constant *getInitializer(const llvm::Value *value) {
  auto *variable = llvm::dyn_cast_or_null<llvm::GlobalVariable>(value);
  return variable && variable->hasInitializer() ? variable->getInitializer()
                                                : nullptr;
}

/// The text of a variable; empty without one.
static std::string getText(const llvm::Value *variable) {
  auto *bytes = llvm::dyn_cast_or_null<llvm::ConstantDataSequential>(
      getInitializer(variable));
  return bytes && bytes->isCString() ? bytes->getAsCString().str() : "";
}

llvm::Expected<std::string> mlir::dsflash::findPTX(StringRef llvmIR,
                                                   StringRef name,
                                                   const NVPTXTarget &target) {
  auto code = parseLLVM(llvmIR, name);
  if (!code)
    return code.takeError();
  return getText(code->module->getGlobalVariable(getPTXSymbol(target),
                                                 /*AllowInternal=*/true));
}

llvm::Expected<llvm::StringMap<std::string>>
mlir::dsflash::findEntries(StringRef llvmIR, StringRef name) {
  auto code = parseLLVM(llvmIR, name);
  if (!code)
    return code.takeError();
  llvm::StringMap<std::string> entries;
  const llvm::Constant *table = getInitializer(code->module->getGlobalVariable(
      kernelTableSymbol, /*AllowInternal=*/true));
  if (!table)
    return entries;
  constexpr unsigned kName = 0, kEntry = 4; // members of dsf_kernel
  for (const llvm::Use &row : table->operands())
    if (auto *kernel = dyn_cast<llvm::ConstantStruct>(row);
        kernel && kernel->getNumOperands() > kEntry)
      entries[getText(kernel->getOperand(kName))] =
          getText(kernel->getOperand(kEntry));
  return entries;
}
