//===- Driver.cpp - The way through the stages ----------------------------===//
//
// Every stage is the registered pipeline that dsflash-opt has under the same
// name.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Artifact.h"
#include "Diagnostics.h"
#include "Report.h"
#include "Reproducer.h"
#include "dsflash/InitAll.h"
#include "dsflash/Support/Hash.h"
#include "dsflash/Support/OutputFile.h"
#include "dsflash/Target/NativeCode.h"
#include "mlir/IR/Verifier.h"
#include <filesystem>
#include <iostream>

namespace fs = std::filesystem;
using namespace mlir;
using namespace mlir::dsflash;

Driver::Driver(const Options &options)
    : options(options), log(options.timing, !options.report.empty()),
      context(MLIRContext::Threading::DISABLED) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.getDiagEngine().registerHandler(
      [this](Diagnostic &diagnostic) { printer.report(diagnostic); });
  context.printOpOnDiagnostic(false);
  phasesOptions.numerics = options.numerics;
  phasesOptions.probes = options.probes;
  phasesOptions.checked = options.checked;
  kernelsOptions.fuseRounding = options.fuseRounding;
}

static bool reportIfFailed(llvm::Error error) {
  if (!error)
    return true;
  reportError(llvm::toString(std::move(error)));
  return false;
}

static bool reportTarget(llvm::Error error) {
  reportError("--target: " + llvm::toString(std::move(error)));
  return false;
}

/// With kernels on a device the host's code only launches them, and runs
/// everywhere.
bool Driver::chooseTarget() {
  std::string host = options.target;
  if (NVPTXTarget::isSpec(host)) {
    auto parsed = NVPTXTarget::parseList(host);
    if (!parsed)
      return reportTarget(parsed.takeError());
    devices = std::move(*parsed);
    kernelsOptions.device = host;
    llvmOptions.device = host;
    host = "cpu:generic";
    if (!choosePtxas())
      return false;
  }
  auto parsed = CPUTarget::parse(host);
  if (!parsed)
    return reportTarget(parsed.takeError());
  target = std::move(*parsed);
  llvmOptions.compiler = "dsflash " DSFLASH_VERSION;
  llvmOptions.triple = target.getTriple().str();
  llvmOptions.features = target.getFeatureList();
  return true;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static const char *getSuffix(Stage stage) {
  switch (stage) {
  case Stage::Config:
    return "json";
  case Stage::LLVM:
    return "ll";
  case Stage::Asm:
    return "s";
  case Stage::PTX:
  case Stage::Cubin:
    return stageName(stage);
  default:
    return "mlir";
  }
}

bool Driver::passStage(Stage stage, const std::string &text) {
  ::dsflash::Status written;
  if (!options.dumpFolder.empty()) {
    std::error_code error;
    fs::create_directories(options.dumpFolder, error);
    std::string name = std::to_string(int(stage)) + "-" + stageName(stage) +
                       "." + getSuffix(stage);
    written = ::dsflash::writeTextFile(
        (fs::path(options.dumpFolder) / name).string(), text);
  }
  if (written && isDone(stage)) {
    if (options.output.empty())
      std::cout << text << std::flush;
    else
      written = ::dsflash::writeTextFile(options.output, text);
  }
  reportFaults(written);
  return written.ok();
}

std::string Driver::printModule() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  stream << '\n';
  return text;
}

bool Driver::passModule(Stage stage) {
  if (options.dumpFolder.empty() && !isDone(stage))
    return true;
  return passStage(stage, printModule());
}

#ifdef NDEBUG
static constexpr bool kVerifiesEachPass = false;
#else
static constexpr bool kVerifiesEachPass = true;
#endif

/// Verifies the stage's result, which costs little beside verifying that of
/// each pass, as dsflash-opt does.
bool Driver::lower(Stage stage,
                   llvm::function_ref<void(OpPassManager &)> build) {
  auto work = [&](TimingScope &scope) {
    auto passes = PassManager::on<ModuleOp>(&context);
    passes.enableVerifier(kVerifiesEachPass);
    build(passes);
    Reproducer reproducer(passes);
    passes.enableTiming(scope);
    bool done = succeeded(passes.run(*module)) && succeeded(verify(*module));
    if (!reproducer.path().empty())
      reportNote("to repeat this: dsflash-opt --run-reproducer " +
                 reproducer.path());
    TimingScope translating = scope.nest("translation to LLVM IR");
    return done && (stage != Stage::LLVM || translate());
  };
  return log.run(stage, work) && noteSize(stage);
}

bool Driver::noteSize(Stage stage) {
  int64_t count = 0;
  module->walk([&](Operation *) { ++count; });
  operations[stageName(stage)] = count;
  return true;
}

bool Driver::translate() {
  auto text = translateToLLVMIR(*module, target);
  if (!text)
    return reportIfFailed(text.takeError());
  llvmText = *text;
  return true;
}

bool Driver::writeAssembly() {
  return log.run(Stage::Asm, [&](TimingScope &) {
    auto text = emitAssembly(llvmText, options.input);
    if (!text)
      return reportIfFailed(text.takeError());
    return passStage(Stage::Asm, *text);
  });
}

bool Driver::compile() {
  std::vector<ContextCost> contexts;
  const std::pair<Stage, std::function<void(OpPassManager &)>> steps[] = {
      {Stage::DSFlash, [](OpPassManager &) {}},
      {Stage::Phases,
       [&](OpPassManager &passes) {
         buildPhasesPipeline(passes, phasesOptions);
       }},
      {Stage::Kernels, [&](OpPassManager &passes) {
         buildKernelsPipeline(passes, kernelsOptions);
       }}};
  for (const auto &[stage, build] : steps) {
    if (!module || (options.from && *options.from > stage))
      continue;
    bool given = stage == Stage::DSFlash || !startsBefore(stage);
    if ((!given && !lower(stage, build)) || !passModule(stage))
      return false;
    if (stage == Stage::Phases && !options.report.empty())
      contexts = countContexts(*module);
    if (stage == Stage::Kernels && !options.report.empty())
      report.update(describeModule(*module, options.target, contexts));
    if (isDone(stage))
      return true;
  }

  if (startsBefore(Stage::LLVM) && !lower(Stage::LLVM, [&](OpPassManager &p) {
        buildLLVMPipeline(p, llvmOptions);
      }))
    return false;
  if (!passStage(Stage::LLVM, llvmText))
    return false;
  bool wantsAssembly = isDone(Stage::Asm) || !options.dumpFolder.empty();
  if (isDone(Stage::LLVM))
    return true;
  if (wantsAssembly && !writeAssembly())
    return false;
  bool wantsDeviceCode =
      isDone(Stage::PTX) || isDone(Stage::Cubin) || !options.dumpFolder.empty();
  return devices.empty() || isDone(Stage::Asm) || !wantsDeviceCode ||
         writeDeviceCode();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

::dsflash::Status Driver::writeCode(const std::string &path,
                                    TimingScope &scope) {
  if (cachedCode)
    return ::dsflash::writeTextFile(path, *cachedCode);
  if (llvm::Error error =
          emitSharedObject(llvmText, options.input, path, std::move(scope)))
    return ::dsflash::Status::error(options.output,
                                    llvm::toString(std::move(error)));
  storeInCache(path);
  return {};
}

bool Driver::writeModel() {
  Manifest manifest;
  manifest.compiler = "dsflash " DSFLASH_VERSION;
  manifest.target = options.target;
  manifest.numerics = getNumerics();
  manifest.weights = checkpoint;
  if (startsBefore(Stage::DSFlash))
    manifest.config = ::dsflash::Hash().add(config.toJson()).hexDigest();
  manifest.operations = operations;
  return log.run(Stage::Model, [&](TimingScope &scope) {
    ::dsflash::Status written = writeArtifact(
        options.output, manifest, tokenizer,
        [&](const std::string &path) { return writeCode(path, scope); });
    reportFaults(written);
    return written.ok();
  });
}

bool Driver::writeReport() {
  if (options.report.empty())
    return true;
  if (!ptxas.empty() && !addResources())
    return false;
  report["parameters"] = describeParameters(config);
  report.update(describeTimes(log, operations));
  bool isPage = StringRef(options.report).ends_with(".html");
  std::string text =
      isPage ? makeReportPage(report, options.input) : report.dump(2) + "\n";
  if (options.report == "-") {
    std::cout << text << std::flush;
    return true;
  }
  ::dsflash::Status written = ::dsflash::writeTextFile(options.report, text);
  reportFaults(written);
  return written.ok();
}

bool Driver::run() {
  if (!chooseTarget() || !read())
    return false;
  if (isDone(Stage::Config))
    return true;
  findInCache();
  if (!cachedCode && !compile())
    return false;
  return (!isDone(Stage::Model) || writeModel()) && writeReport();
}
