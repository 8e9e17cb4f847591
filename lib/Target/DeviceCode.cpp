//===- DeviceCode.cpp - Kernels to PTX and cubins -------------------------===//

#include "dsflash/Target/DeviceCode.h"
#include "TemporaryFile.h"
#include "Translation.h"
#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Target/NativeCode.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include <cstdlib>

using namespace mlir;
using namespace mlir::dsflash;

llvm::Expected<std::string> mlir::dsflash::emitPTX(gpu::GPUModuleOp module,
                                                   const NVPTXTarget &target) {
  registerGPUDialectTranslation(*module.getContext());
  registerNVVMDialectTranslation(*module.getContext());
  std::string features = target.getFeatureFlags();
  auto text = translate(module, NVPTXTarget::getTriple(),
                        [&](llvm::Function &function) {
                          function.addFnAttr("target-cpu", target.getChip());
                          function.addFnAttr("target-features", features);
                        });
  if (!text)
    return text.takeError();
  return emitAssembly(*text, module.getName());
}

llvm::Expected<std::string> mlir::dsflash::findDeviceCode(StringRef llvmIR,
                                                          StringRef name) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic fault;
  auto module =
      llvm::parseAssembly(llvm::MemoryBufferRef(llvmIR, name), fault, context);
  if (!module)
    return makeError(name + ":" + Twine(fault.getLineNo()) + ":" +
                     Twine(fault.getColumnNo() + 1) + ": " +
                     fault.getMessage());
  auto *code = module->getGlobalVariable(deviceCodeSymbol,
                                         /*AllowInternal=*/true);
  auto *bytes =
      code && code->hasInitializer()
          ? dyn_cast<llvm::ConstantDataSequential>(code->getInitializer())
          : nullptr;
  return bytes && bytes->isCString() ? bytes->getAsCString().str() : "";
}

//===----------------------------------------------------------------------===//
// ptxas
//===----------------------------------------------------------------------===//

static std::string joinPath(StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "bin", "ptxas");
  return path.str().str();
}

llvm::Expected<std::string> mlir::dsflash::findPtxas() {
  const char *given = std::getenv("DSFLASH_PTXAS");
  const char *toolkit = std::getenv("CUDA_HOME");
  for (const std::string &candidate :
       {std::string(given ? given : ""), std::string("ptxas"),
        toolkit ? joinPath(toolkit) : "", joinPath("/usr/local/cuda")}) {
    if (candidate.empty())
      continue;
    if (auto path = llvm::sys::findProgramByName(candidate))
      return *path;
  }
  return makeError("no ptxas in DSFLASH_PTXAS, PATH, CUDA_HOME or "
                   "/usr/local/cuda; the package nvidia-cuda-nvcc has it");
}

llvm::Expected<std::string>
mlir::dsflash::assemblePTX(StringRef ptxas, StringRef ptx,
                           const NVPTXTarget &target) {
  llvm::SmallString<128> folder;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  auto make = [&](StringRef suffix) {
    return TemporaryFile::create(folder + "/dsflash-%%%%%%" + suffix);
  };
  auto source = make(".ptx");
  if (!source)
    return source.takeError();
  auto output = make(".cubin");
  if (!output)
    return output.takeError();
  auto messages = make(".log");
  if (!messages)
    return messages.takeError();
  if (llvm::Error error = source->write(ptx))
    return error;
  std::string architecture = ("-arch=" + target.getChip()).str();
  std::optional<StringRef> redirects[] = {StringRef(), messages->path(),
                                          messages->path()};
  std::string error;
  int code = llvm::sys::ExecuteAndWait(
      ptxas,
      {"ptxas", "-O3", architecture, source->path(), "-o", output->path()},
      std::nullopt, redirects, 0, 0, &error);
  if (code == 0)
    return output->read();
  std::string text = StringRef(messages->read()).trim().str();
  return makeError(ptxas + ": " + (text.empty() ? error : text));
}
