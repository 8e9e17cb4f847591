//===- Translation.cpp - The LLVM dialect to LLVM IR ----------------------===//

#include "Translation.h"
#include "TargetMachine.h"
#include "dsflash/Target/NativeCode.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace mlir::dsflash;

static constexpr llvm::StringLiteral kModuleName = "dsflash";

llvm::Expected<std::string> mlir::dsflash::translate(
    Operation *module, llvm::StringRef triple,
    llvm::function_ref<void(llvm::Function &)> setProcessor) {
  registerBuiltinDialectTranslation(*module->getContext());
  registerLLVMDialectTranslation(*module->getContext());
  auto machine = createTargetMachine(triple);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, kModuleName);
  if (!result)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "translation to LLVM IR failed");
  result->setSourceFileName(kModuleName);
  result->setTargetTriple((*machine)->getTargetTriple());
  result->setDataLayout((*machine)->createDataLayout());
  for (llvm::Function &function : *result) {
    if (function.isIntrinsic())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (!function.isDeclaration())
      setProcessor(function);
  }
  std::string text;
  llvm::raw_string_ostream(text) << *result;
  return text;
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
  return translate(module, target.getTriple(), setProcessor);
}
