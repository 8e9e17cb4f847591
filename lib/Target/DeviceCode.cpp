//===- DeviceCode.cpp - Kernels to PTX and cubins -------------------------===//

#include "dsflash/Target/DeviceCode.h"
#include "TemporaryFile.h"
#include "Translation.h"
#include "dsflash/Target/NativeCode.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <future>

using namespace mlir;
using namespace mlir::dsflash;

static llvm::Expected<std::string> translateFor(gpu::GPUModuleOp module,
                                                const NVPTXTarget &target) {
  std::string features = target.getFeatureFlags();
  return translate(module, NVPTXTarget::getTriple(),
                   [&](llvm::Function &function) {
                     function.addFnAttr("target-cpu", target.getChip());
                     function.addFnAttr("target-features", features);
                   });
}

static llvm::Expected<DeviceCode>
compile(const std::string &llvmIR, const NVPTXTarget &target, StringRef ptxas) {
  auto ptx = emitAssembly(llvmIR, target.getChip());
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
    auto text = translateFor(module, target);
    if (text)
      compilations.push_back(std::async(
          std::launch::async, [text = std::move(*text), &target, ptxas] {
            return compile(text, target, ptxas);
          }));
    else
      errors = llvm::joinErrors(std::move(errors), text.takeError());
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

llvm::Expected<std::string> mlir::dsflash::findPTX(StringRef llvmIR,
                                                   StringRef name,
                                                   const NVPTXTarget &target) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic fault;
  auto module =
      llvm::parseAssembly(llvm::MemoryBufferRef(llvmIR, name), fault, context);
  if (!module)
    return makeError(name + ":" + Twine(fault.getLineNo()) + ":" +
                     Twine(fault.getColumnNo() + 1) + ": " +
                     fault.getMessage());
  auto *code = module->getGlobalVariable(getPTXSymbol(target),
                                         /*AllowInternal=*/true);
  auto *bytes =
      code && code->hasInitializer()
          ? dyn_cast<llvm::ConstantDataSequential>(code->getInitializer())
          : nullptr;
  return bytes && bytes->isCString() ? bytes->getAsCString().str() : "";
}
