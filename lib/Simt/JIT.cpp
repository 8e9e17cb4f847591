//===- JIT.cpp - Kernels to host code -------------------------------------===//

#include "JIT.h"

#include "Runtime/Entries.h"
#include "Translate/Translator.h"
#include "dsflash/CompileCache/CompileCache.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace dsflash::simt {

Result<std::vector<const ptx::Function *>>
reachableFunctions(const ptx::Module &module, const ptx::Function &kernel) {
  std::vector<const ptx::Function *> order;
  std::set<const ptx::Function *> open, done;
  Status failure;
  auto visit = [&](auto &&self, const ptx::Function &function) -> void {
    if (!open.insert(&function).second) {
      failure.add(module.name + ":" + std::to_string(function.line),
                  "'" + function.name + "' calls itself: not modelled");
      return;
    }
    for (const ptx::Instruction &instruction : function.instructions)
      for (const ptx::Operand &operand : instruction.operands)
        if (operand.kind == ptx::Operand::Kind::Function) {
          const ptx::Function &callee = module.functions[operand.index];
          if (failure.ok() && !callee.isDeclaration && !done.count(&callee))
            self(self, callee);
        }
    open.erase(&function);
    done.insert(&function);
    order.push_back(&function);
  };
  visit(visit, kernel);
  if (!failure.ok())
    return failure;
  std::reverse(order.begin(), order.end());
  return order;
}

// A kernel and its callees in one LLVM module; the callees are its own copies.
static Result<KernelCodeInfo>
translateKernel(const ptx::Module &module, const ptx::Function &kernel,
                const KernelLayout &layout, bool instrumented,
                llvm::Module &into, StringRef name) {
  auto functions = reachableFunctions(module, kernel);
  if (!functions)
    return functions.status();
  KernelCodeInfo info;
  Status errors;
  KernelTranslation translation{
      module, into, instrumented, layout.variables, info, errors, {}};
  LLVMContext &context = into.getContext();
  Type *pointer = PointerType::get(context, 0);
  for (const ptx::Function *function : *functions) {
    SmallVector<Type *> types(
        function->isKernel ? 2 : 1 + function->parameters + function->results,
        pointer);
    auto *declared = Function::Create(
        FunctionType::get(Type::getVoidTy(context), types, false),
        function->isKernel ? Function::ExternalLinkage
                           : Function::InternalLinkage,
        function->isKernel ? name : StringRef(function->name), into);
    declared->addFnAttr(Attribute::NoUnwind);
    translation.functions[function] = declared;
    for (const ptx::Variable &variable : function->variables)
      if (variable.space == ptx::Space::Local ||
          variable.space == ptx::Space::Param)
        info.frameBytes += variable.bytes + 16;
  }
  for (const ptx::Function *function : *functions)
    Translator(translation, *function).run(translation.functions[function]);
  if (!errors.ok())
    return errors;
  std::string why;
  raw_string_ostream stream(why);
  if (verifyModule(into, &stream))
    return Status::error(module.name + ":" + std::to_string(kernel.line),
                         "no valid program: " + why);
  return info;
}

Status checkTranslation(const ptx::Module &module, const ptx::Function &kernel,
                        const KernelLayout &layout) {
  LLVMContext context;
  llvm::Module into("check", context);
  return translateKernel(module, kernel, layout, false, into, "kernel")
      .status();
}

JIT::JIT() = default;
JIT::~JIT() = default;

static Status llvmStatus(Error error) {
  return Status::error("simt", toString(std::move(error)));
}

Status JIT::create() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto builder = orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return llvmStatus(builder.takeError());
  builder->setCodeGenOptLevel(CodeGenOptLevel::Less);
  auto target = builder->createTargetMachine();
  if (!target)
    return llvmStatus(target.takeError());
  machine = std::move(*target);
  auto created =
      orc::LLJITBuilder().setJITTargetMachineBuilder(*builder).create();
  if (!created)
    return llvmStatus(created.takeError());
  jit = std::move(*created);
  // The C library, for fma and the like.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return llvmStatus(process.takeError());
  jit->getMainJITDylib().addGenerator(std::move(*process));
  orc::SymbolMap symbols;
  auto add = [&](const RuntimeSymbol *list, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      symbols[jit->mangleAndIntern(list[i].name)] = {
          orc::ExecutorAddr::fromPtr(list[i].address),
          JITSymbolFlags::Exported};
  };
  add(kArithmeticSymbols, kArithmeticSymbolCount);
  add(kThreadSymbols, kThreadSymbolCount);
  add(kMatrixSymbols, kMatrixSymbolCount);
  add(kAsyncSymbols, kAsyncSymbolCount);
  if (Error error = jit->getMainJITDylib().define(
          orc::absoluteSymbols(std::move(symbols))))
    return llvmStatus(std::move(error));
  return Status();
}

static void optimize(llvm::Module &module, TargetMachine *machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O1)
      .run(module, modules);
}

Status JIT::addObject(llvm::Module &module) {
  SmallVector<char> code;
  raw_svector_ostream stream(code);
  WriteBitcodeToFile(module, stream);
  CacheKey key;
  key.add("llvm", LLVM_VERSION_STRING);
  key.add("cpu", machine->getTargetCPU().str());
  key.add("features", machine->getTargetFeatureString().str());
  key.addText("module", std::string(code.begin(), code.end()));
  CompileCache cache(CompileCache::defaultFolder());
  std::unique_ptr<MemoryBuffer> object;
  if (auto known = cache.read(key)) {
    object = MemoryBuffer::getMemBufferCopy(*known, module.getName());
  } else {
    optimize(module, machine.get());
    auto made = orc::SimpleCompiler(*machine)(module);
    if (!made)
      return llvmStatus(made.takeError());
    object = std::move(*made);
    // Without a folder for it every run compiles.
    (void)cache.store(key, object->getBuffer().str());
  }
  if (Error error = jit->addObjectFile(std::move(object)))
    return llvmStatus(std::move(error));
  return Status();
}

Result<CompiledKernel> JIT::compile(const ptx::Module &module,
                                    const ptx::Function &kernel,
                                    const KernelLayout &layout,
                                    bool instrumented) {
  if (!jit)
    if (Status status = create(); !status)
      return status;
  std::string name = kernel.name + (instrumented ? ".checked" : ".plain");
  LLVMContext context;
  llvm::Module into(kernel.name, context);
  into.setDataLayout(jit->getDataLayout());
  into.setTargetTriple(jit->getTargetTriple());
  auto info = translateKernel(module, kernel, layout, instrumented, into, name);
  if (!info)
    return info.status();
  if (Status status = addObject(into); !status)
    return status;
  auto address = jit->lookup(name);
  if (!address)
    return llvmStatus(address.takeError());
  CompiledKernel result;
  result.code = address->toPtr<KernelCode>();
  result.info = std::move(*info);
  return result;
}

} // namespace dsflash::simt
