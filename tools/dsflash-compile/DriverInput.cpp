//===- DriverInput.cpp - Configs, checkpoints and texts -------------------===//
//
// Headers of a checkpoint are checked before anything is compiled.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "dsflash/Import/ModelBuilder.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Tokens/TokenMap.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <filesystem>

namespace fs = std::filesystem;
using namespace mlir;
using namespace mlir::dsflash;

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

static std::unique_ptr<llvm::MemoryBuffer> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (buffer)
    return std::move(*buffer);
  reportError(path + ": cannot open: " + buffer.getError().message());
  return nullptr;
}

bool Driver::read() {
  if (startsBefore(Stage::DSFlash)) {
    auto readText = [&](TimingScope &) {
      return readConfig() && passStage(Stage::Config, config.toJson());
    };
    auto makeModule = [&](TimingScope &) {
      module = ::dsflash::buildModel(&context, config);
      return succeeded(verify(*module));
    };
    return log.run(Stage::Config, readText) &&
           (isDone(Stage::Config) ||
            (log.run(Stage::DSFlash, makeModule) && noteSize(Stage::DSFlash)));
  }
  return log.run(*options.from, [&](TimingScope &) {
    return startsBefore(Stage::LLVM) ? readModule() && checkNumerics()
                                     : readLLVM();
  });
}

bool Driver::readModule() {
  std::unique_ptr<llvm::MemoryBuffer> text = readFile(options.input);
  if (!text)
    return false;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
  module = parseSourceFile<ModuleOp>(sources, &context);
  return module && (options.function.empty() || exportFunction());
}

bool Driver::exportFunction() {
  auto passes = PassManager::on<ModuleOp>(&context);
  passes.addPass(createExportFunctionPass({options.function}));
  return succeeded(passes.run(*module));
}

bool Driver::readLLVM() {
  std::unique_ptr<llvm::MemoryBuffer> text = readFile(options.input);
  if (text)
    llvmText = text->getBuffer().str();
  return text != nullptr;
}

std::string Driver::getNumerics() {
  auto numerics =
      module ? (*module)->getAttrOfType<StringAttr>(numericsAttrName) : nullptr;
  return numerics ? numerics.getValue().str() : options.numerics;
}

/// A text behind the model level has its numerics already.
bool Driver::checkNumerics() {
  if (!options.numericsGiven || getNumerics() == options.numerics)
    return true;
  reportError(options.input + ": is lowered for numerics " + getNumerics() +
              ", not " + options.numerics);
  return false;
}
