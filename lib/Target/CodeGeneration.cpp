//===- CodeGeneration.cpp - LLVM IR to assembly and objects ---------------===//

#include "CodeGeneration.h"
#include "TargetMachine.h"
#include "dsflash/Target/NativeCode.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;
using namespace mlir::dsflash;
using mlir::TimingScope;

Expected<std::unique_ptr<TargetMachine>>
mlir::dsflash::createTargetMachine(StringRef name, StringRef processor,
                                   StringRef features) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  Triple triple(name);
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError(inconvertibleErrorCode(),
                             "no code generator for '" + name + "': " + error);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, processor, features, options, Reloc::PIC_, std::nullopt,
      CodeGenOptLevel::Aggressive));
}

namespace {

/// Errors of the code generator, which would end the process otherwise.
struct CollectErrors : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &info) override {
    if (info.getSeverity() != DS_Error)
      return true;
    raw_string_ostream stream(text);
    DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  std::string text;
};

/// One module on its way to native code.
class CodeGenerator {
public:
  static Expected<std::unique_ptr<CodeGenerator>> create(StringRef llvmIR,
                                                         StringRef name);
  Expected<SmallString<0>> run(CodeGenFileType type, TimingScope &timing);

private:
  TargetLibraryInfoImpl getLibrary();
  void optimize();
  void chooseLoopPasses();

  LLVMContext context;
  CollectErrors *errors = nullptr;
  std::unique_ptr<Module> module;
  std::unique_ptr<TargetMachine> machine;
};

Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// The code generator that a module asks for.
Expected<std::unique_ptr<TargetMachine>> createMachine(const Module &module) {
  StringRef processor, features;
  auto function = find_if(
      module, [](const Function &known) { return !known.isDeclaration(); });
  if (module.getTargetTriple().isNVPTX() && function != module.end()) {
    processor = function->getFnAttribute("target-cpu").getValueAsString();
    features = function->getFnAttribute("target-features").getValueAsString();
  }
  return createTargetMachine(module.getTargetTriple().str(), processor,
                             features);
}

Expected<std::unique_ptr<CodeGenerator>> CodeGenerator::create(StringRef llvmIR,
                                                               StringRef name) {
  auto generator = std::make_unique<CodeGenerator>();
  auto errors = std::make_unique<CollectErrors>();
  generator->errors = errors.get();
  generator->context.setDiagnosticHandler(std::move(errors));
  SMDiagnostic fault;
  generator->module =
      parseAssembly(MemoryBufferRef(llvmIR, name), fault, generator->context);
  if (!generator->module)
    return makeError(name + ":" + Twine(fault.getLineNo()) + ":" +
                     Twine(fault.getColumnNo() + 1) + ": " +
                     fault.getMessage());
  std::string text;
  raw_string_ostream stream(text);
  if (verifyModule(*generator->module, &stream))
    return makeError(name + ": " + StringRef(text).trim());
  auto machine = createMachine(*generator->module);
  if (!machine)
    return joinErrors(makeError(name), machine.takeError());
  generator->machine = std::move(*machine);
  return generator;
}

/// No calls of functions that a runtime does not promise to have.
TargetLibraryInfoImpl CodeGenerator::getLibrary() {
  TargetLibraryInfoImpl library(machine->getTargetTriple());
  library.disableAllFunctions();
  for (LibFunc function : {LibFunc_memcpy, LibFunc_memmove, LibFunc_memset})
    library.setAvailable(function);
  return library;
}

/// O2: kernels arrive as vectors and in blocks; O3 made none of them faster,
/// and neither did LLVM's own vectors and unrolled loops.
void CodeGenerator::optimize() {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  tuning.LoopUnrolling = false;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(machine.get(), tuning);
  functions.registerPass([&] { return TargetLibraryAnalysis(getLibrary()); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2)
      .run(*module, modules);
}

/// Loop strength reduction takes the address of a vector apart to the number of
/// its row, which it then clamps and multiplies anew in each step of a loop: on
/// a processor, whose instructions add a column to an address, our loops get up
/// to twice as long. LLVM has no other switch for it.
void CodeGenerator::chooseLoopPasses() {
  cl::Option *option = cl::getRegisteredOptions().lookup("disable-lsr");
  static_cast<cl::opt<bool> *>(option)->setValue(
      !machine->getTargetTriple().isNVPTX());
}

Expected<SmallString<0>> CodeGenerator::run(CodeGenFileType type,
                                            TimingScope &timing) {
  TimingScope optimizing = timing.nest("LLVM optimisation");
  optimize();
  optimizing.stop();
  TimingScope generating = timing.nest("LLVM code generation");
  chooseLoopPasses();
  SmallString<0> code;
  raw_svector_ostream stream(code);
  legacy::PassManager passes;
  passes.add(new TargetLibraryInfoWrapperPass(getLibrary()));
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return makeError("the target cannot write this kind of file");
  passes.run(*module);
  if (!errors->text.empty())
    return makeError(errors->text);
  return code;
}

} // namespace

static Expected<SmallString<0>> generate(StringRef llvmIR, StringRef name,
                                         CodeGenFileType type,
                                         TimingScope &timing) {
  TimingScope reading = timing.nest("reading LLVM IR");
  auto generator = CodeGenerator::create(llvmIR, name);
  reading.stop();
  if (!generator)
    return generator.takeError();
  return (*generator)->run(type, timing);
}

Expected<SmallString<0>> mlir::dsflash::emitObject(StringRef llvmIR,
                                                   StringRef name,
                                                   TimingScope &timing) {
  return generate(llvmIR, name, CodeGenFileType::ObjectFile, timing);
}

Expected<std::string> mlir::dsflash::emitAssembly(StringRef llvmIR,
                                                  StringRef name) {
  TimingScope untimed;
  auto text = generate(llvmIR, name, CodeGenFileType::AssemblyFile, untimed);
  if (!text)
    return text.takeError();
  return text->str().str();
}
