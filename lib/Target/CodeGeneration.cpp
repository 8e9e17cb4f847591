//===- CodeGeneration.cpp - LLVM IR to assembly and objects ---------------===//

#include "CodeGeneration.h"
#include "TargetMachine.h"
#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Target/NativeCode.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"

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
  // The step above it removes what a device's assembler removes too.
  CodeGenOptLevel level =
      triple.isNVPTX() ? CodeGenOptLevel::Default : CodeGenOptLevel::Aggressive;
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, processor, features, options, Reloc::PIC_, std::nullopt, level));
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

/// Leaves out loop strength reduction. On a processor it takes the address of a
/// vector apart to the number of its row, which it then clamps and multiplies
/// anew in each step of a loop: our loops get up to twice as long. On a device
/// it takes registers for addresses that the assembler makes from one.
struct LoopsAsTheyAre : OptPassGate {
  bool shouldRunPass(StringRef pass, StringRef) const override {
    return pass != "Loop Strength Reduction";
  }
  bool isEnabled() const override { return true; }
};

/// One module on its way to native code.
class CodeGenerator {
public:
  static Expected<std::unique_ptr<CodeGenerator>> create(LLVMModule made,
                                                         StringRef name);
  Expected<SmallString<0>> run(CodeGenFileType type, TimingScope &timing);

private:
  TargetLibraryInfoImpl getLibrary();
  void optimize();

  LoopsAsTheyAre gate;
  LLVMModule code;
  CollectErrors *errors = nullptr;
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

Expected<std::unique_ptr<CodeGenerator>> CodeGenerator::create(LLVMModule made,
                                                               StringRef name) {
  auto generator = std::make_unique<CodeGenerator>();
  generator->code = std::move(made);
  const Module &module = *generator->code.module;
  auto errors = std::make_unique<CollectErrors>();
  generator->errors = errors.get();
  generator->code.context->setDiagnosticHandler(std::move(errors));
  std::string text;
  raw_string_ostream stream(text);
  if (verifyModule(module, &stream))
    return makeError(name + ": " + StringRef(text).trim());
  auto machine = createMachine(module);
  if (!machine)
    return joinErrors(makeError(name), machine.takeError());
  generator->machine = std::move(*machine);
  generator->code.context->setOptPassGate(generator->gate);
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
/// and neither did LLVM's own vectors and unrolled loops. On a device the half
/// of O2 that these belong to is left out, but for the alignment of addresses,
/// by which its code generator makes one access of several. The host of a
/// device launches kernels and little else.
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
  if (code.module->getTargetTriple().isNVPTX()) {
    ModulePassManager passes = builder.buildModuleSimplificationPipeline(
        OptimizationLevel::O2, ThinOrFullLTOPhase::None);
    passes.addPass(createModuleToFunctionPassAdaptor(InferAlignmentPass()));
    passes.run(*code.module, modules);
    return;
  }
  bool launches = code.module->getNamedGlobal(deviceCodesSymbol);
  builder
      .buildPerModuleDefaultPipeline(launches ? OptimizationLevel::O1
                                              : OptimizationLevel::O2)
      .run(*code.module, modules);
}

Expected<SmallString<0>> CodeGenerator::run(CodeGenFileType type,
                                            TimingScope &timing) {
  TimingScope optimizing = timing.nest("LLVM optimisation");
  optimize();
  optimizing.stop();
  TimingScope generating = timing.nest("LLVM code generation");
  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  passes.add(new TargetLibraryInfoWrapperPass(getLibrary()));
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return makeError("the target cannot write this kind of file");
  passes.run(*code.module);
  if (!errors->text.empty())
    return makeError(errors->text);
  return bytes;
}

} // namespace

Expected<LLVMModule> mlir::dsflash::parseLLVM(StringRef llvmIR,
                                              StringRef name) {
  LLVMModule parsed{std::make_unique<LLVMContext>(), nullptr};
  SMDiagnostic fault;
  parsed.module =
      parseAssembly(MemoryBufferRef(llvmIR, name), fault, *parsed.context);
  if (!parsed.module)
    return makeError(name + ":" + Twine(fault.getLineNo()) + ":" +
                     Twine(fault.getColumnNo() + 1) + ": " +
                     fault.getMessage());
  return parsed;
}

static Expected<SmallString<0>> generate(Expected<LLVMModule> module,
                                         StringRef name, CodeGenFileType type,
                                         TimingScope &timing) {
  if (!module)
    return module.takeError();
  auto generator = CodeGenerator::create(std::move(*module), name);
  if (!generator)
    return generator.takeError();
  return (*generator)->run(type, timing);
}

static Expected<std::string> toText(Expected<SmallString<0>> bytes) {
  if (!bytes)
    return bytes.takeError();
  return bytes->str().str();
}

Expected<SmallString<0>> mlir::dsflash::emitObject(StringRef llvmIR,
                                                   StringRef name,
                                                   TimingScope &timing) {
  TimingScope reading = timing.nest("reading LLVM IR");
  Expected<LLVMModule> module = parseLLVM(llvmIR, name);
  reading.stop();
  return generate(std::move(module), name, CodeGenFileType::ObjectFile, timing);
}

Expected<std::string> mlir::dsflash::emitAssembly(StringRef llvmIR,
                                                  StringRef name) {
  TimingScope untimed;
  return toText(generate(parseLLVM(llvmIR, name), name,
                         CodeGenFileType::AssemblyFile, untimed));
}

Expected<std::string> mlir::dsflash::emitAssembly(LLVMModule module,
                                                  StringRef name) {
  TimingScope untimed;
  return toText(generate(std::move(module), name, CodeGenFileType::AssemblyFile,
                         untimed));
}
