//===- Driver.cpp - The way through the stages ----------------------------===//
//
// Config and checkpoint headers are checked first, then every stage is the
// registered pipeline that dsflash-opt has under the same name.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Artifact.h"
#include "Diagnostics.h"
#include "dsflash/Import/ModelBuilder.h"
#include "dsflash/InitAll.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Pipelines/Pipelines.h"
#include "dsflash/Target/CPUTarget.h"
#include "dsflash/Target/NativeCode.h"
#include "dsflash/Tokens/TokenMap.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include <filesystem>
#include <iostream>

namespace fs = std::filesystem;
using namespace mlir;
using namespace mlir::dsflash;

Driver::Driver(const Options &options)
    : options(options), context(MLIRContext::Threading::DISABLED) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.getDiagEngine().registerHandler(
      [](Diagnostic &diagnostic) { reportDiagnostic(diagnostic); });
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

bool Driver::readConfig() {
  std::string path = options.input;
  std::error_code error;
  if (!options.from) {
    if (fs::is_directory(path, error)) {
      checkpoint = fs::absolute(path).lexically_normal().string();
      path = (fs::path(path) / "config.json").string();
    }
  }
  auto loaded = ::dsflash::loadModelConfig(path);
  if (!loaded) {
    reportFaults(loaded.status());
    return false;
  }
  config = *loaded;
  return checkpoint.empty() || (readCheckpoint() && checkTokenizer());
}

bool Driver::readCheckpoint() {
  auto index = ::dsflash::CheckpointIndex::open(checkpoint);
  ::dsflash::Status status =
      index ? ::dsflash::checkWeights(config, *index) : index.status();
  reportFaults(status);
  return status.ok();
}

bool Driver::checkTokenizer() {
  std::error_code error;
  std::string path = (fs::path(checkpoint) / "tokenizer.json").string();
  if (!fs::exists(path, error)) {
    reportError(path + ": does not exist");
    return false;
  }
  auto loaded = ::dsflash::Tokenizer::load(path);
  if (!loaded) {
    reportFaults(loaded.status());
    return false;
  }
  tokenizer = path;
  if (config.engram_layer_ids.empty())
    return true;
  auto map = ::dsflash::engramTokenMap(*loaded);
  if (!map) {
    reportFaults(map.status());
    return false;
  }
  if (map->size == config.engram_compressed_vocab_size)
    return true;
  reportError(path + ": gives " + std::to_string(map->size) +
              " compressed Engram ids, but engram_compressed_vocab_size is " +
              std::to_string(config.engram_compressed_vocab_size));
  return false;
}

bool Driver::readModule() {
  module = parseSourceFile<ModuleOp>(options.input, &context);
  return bool(module);
}

bool Driver::readLLVM() {
  auto buffer = llvm::MemoryBuffer::getFile(options.input, /*IsText=*/true);
  if (!buffer) {
    reportError(options.input + ": " + buffer.getError().message());
    return false;
  }
  llvmText = (*buffer)->getBuffer().str();
  return true;
}

/// A text behind the model level has its numerics already.
bool Driver::checkNumerics() {
  auto numerics = (*module)->getAttrOfType<StringAttr>(numericsAttrName);
  if (!numerics || !options.numericsGiven ||
      numerics.getValue() == options.numerics)
    return true;
  reportError(options.input + ": is lowered for numerics " +
              numerics.getValue().str() + ", not " + options.numerics);
  return false;
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
    written = writeFile((fs::path(options.dumpFolder) / name).string(), text);
  }
  if (written && isDone(stage)) {
    if (options.output.empty())
      std::cout << text << std::flush;
    else
      written = writeFile(options.output, text);
  }
  reportFaults(written);
  return written.ok();
}

bool Driver::passModule(Stage stage) {
  if (options.dumpFolder.empty() && !isDone(stage))
    return true;
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  stream << '\n';
  return passStage(stage, text);
}

bool Driver::lower(llvm::function_ref<void(OpPassManager &)> build) {
  PassManager passes(&context);
  build(passes);
  return succeeded(passes.run(*module));
}

static bool reportIfFailed(llvm::Error error) {
  if (!error)
    return true;
  reportError(llvm::toString(std::move(error)));
  return false;
}

bool Driver::lowerToLLVM(const CPUTarget &target) {
  LLVMPipelineOptions pipeline;
  pipeline.compiler = "dsflash " DSFLASH_VERSION;
  pipeline.triple = target.getTriple().str();
  pipeline.features = target.getFeatureList();
  if (!lower(
          [&](OpPassManager &passes) { buildLLVMPipeline(passes, pipeline); }))
    return false;
  auto text = translateToLLVMIR(*module, target);
  if (!text)
    return reportIfFailed(text.takeError());
  llvmText = *text;
  return true;
}

bool Driver::writeModel(const CPUTarget &target) {
  Manifest manifest;
  manifest.compiler = "dsflash " DSFLASH_VERSION;
  manifest.target = options.target;
  manifest.numerics = options.numerics;
  manifest.weights = checkpoint;
  ::dsflash::Status written = writeArtifact(
      options.output, manifest, tokenizer, [&](const std::string &path) {
        llvm::Error error = emitSharedObject(llvmText, options.input, path);
        return error ? ::dsflash::Status::error(options.output,
                                                toString(std::move(error)))
                     : ::dsflash::Status();
      });
  reportFaults(written);
  return written.ok();
}

bool Driver::run() {
  auto target = CPUTarget::parse(options.target);
  if (!target)
    return reportIfFailed(target.takeError());

  if (startsBefore(Stage::DSFlash)) {
    if (!readConfig() || !passStage(Stage::Config, config.toJson()))
      return false;
    if (isDone(Stage::Config))
      return true;
    module = ::dsflash::buildModel(&context, config);
    if (failed(verify(*module)))
      return false;
  } else if (startsBefore(Stage::LLVM)) {
    if (!readModule() || !checkNumerics())
      return false;
  } else if (!readLLVM()) {
    return false;
  }

  PhasesPipelineOptions phases;
  phases.numerics = options.numerics;
  phases.probes = options.probes;
  const std::pair<Stage, std::function<void(OpPassManager &)>> steps[] = {
      {Stage::DSFlash, [](OpPassManager &) {}},
      {Stage::Phases,
       [&](OpPassManager &passes) { buildPhasesPipeline(passes, phases); }},
      {Stage::Kernels, [](OpPassManager &passes) {
         buildKernelsPipeline(passes, KernelsPipelineOptions());
       }}};
  for (const auto &[stage, build] : steps) {
    if (!module || (options.from && *options.from > stage))
      continue;
    if (startsBefore(stage) && !lower(build))
      return false;
    if (!passModule(stage))
      return false;
    if (isDone(stage))
      return true;
  }

  if (startsBefore(Stage::LLVM) && !lowerToLLVM(*target))
    return false;
  if (!passStage(Stage::LLVM, llvmText))
    return false;
  if (isDone(Stage::LLVM))
    return true;
  if (isDone(Stage::Asm) || !options.dumpFolder.empty()) {
    auto text = emitAssembly(llvmText, options.input);
    if (!text)
      return reportIfFailed(text.takeError());
    if (!passStage(Stage::Asm, *text))
      return false;
  }
  return isDone(Stage::Asm) || writeModel(*target);
}
