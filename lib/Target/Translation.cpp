//===- Translation.cpp - The LLVM dialect to LLVM IR ----------------------===//

#include "Translation.h"
#include "TargetMachine.h"
#include "dsflash/Target/NativeCode.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

using namespace mlir;
using namespace mlir::dsflash;

static constexpr llvm::StringLiteral kModuleName = "dsflash";

llvm::Expected<LLVMModule> mlir::dsflash::translate(
    Operation *module, llvm::StringRef triple,
    llvm::function_ref<void(llvm::Function &)> setProcessor) {
  registerBuiltinDialectTranslation(*module->getContext());
  registerLLVMDialectTranslation(*module->getContext());
  auto machine = createTargetMachine(triple);
  if (!machine)
    return machine.takeError();
  LLVMModule result{std::make_unique<llvm::LLVMContext>(), nullptr};
  result.module = translateModuleToLLVMIR(module, *result.context, kModuleName);
  if (!result.module)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "translation to LLVM IR failed");
  result.module->setSourceFileName(kModuleName);
  result.module->setTargetTriple((*machine)->getTargetTriple());
  result.module->setDataLayout((*machine)->createDataLayout());
  for (llvm::Function &function : *result.module) {
    if (function.isIntrinsic())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (!function.isDeclaration())
      setProcessor(function);
  }
  return result;
}

llvm::Expected<std::string>
mlir::dsflash::translateToLLVMIR(ModuleOp module, const CPUTarget &target) {
  std::string flags = target.getFeatureFlags();
  auto setProcessor = [&](llvm::Function &function) {
    function.addFnAttr("target-cpu", "x86-64");
    function.addFnAttr("tune-cpu", target.getTuneCPU());
    if (!flags.empty())
      function.addFnAttr("target-features", flags);
    if (target.hasFeature("avx512f"))
      function.addFnAttr("prefer-vector-width", "512");
  };
  auto translated = translate(module, target.getTriple(), setProcessor);
  if (!translated)
    return translated.takeError();
  std::string text;
  llvm::raw_string_ostream(text) << *translated->module;
  return text;
}
