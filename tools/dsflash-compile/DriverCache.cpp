//===- DriverCache.cpp - Code that was compiled before --------------------===//

#include "Driver.h"
#include "Toolchain.h"
#include "dsflash/Target/DeviceCode.h"
#include "dsflash/Target/NativeCode.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::dsflash;
using nlohmann::ordered_json;

std::optional<::dsflash::CacheKey> Driver::makeKey() {
  auto linker = findLinker();
  if (!linker) {
    llvm::consumeError(linker.takeError());
    return std::nullopt;
  }
  auto print = [](const auto &pipeline) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    pipeline.print(stream);
    return text;
  };
  ::dsflash::CacheKey made;
  made.add("stage", stageName(options.from.value_or(Stage::DSFlash)));
  made.addText("IR", module ? printModule() : llvmText);
  made.add("phases pipeline", print(phasesOptions));
  made.add("kernels pipeline", print(kernelsOptions));
  made.add("llvm pipeline", print(llvmOptions));
  made.add("processor", target.getTuneCPU().str());
  if (!llvmOptions.ptxas.empty()) {
    auto version = getPtxasVersion(llvmOptions.ptxas);
    if (!version) {
      llvm::consumeError(version.takeError());
      return std::nullopt;
    }
    made.add("ptxas", *version);
  }
  made.add("toolchain", describeToolchain(*linker));
  return made;
}

void Driver::findInCache() {
  auto explain = [&](const std::string &text) {
    if (options.explainCache)
      reportNote("cache: " + text);
  };
  if (options.cacheFolder.empty())
    return explain("off: --no-cache, or no folder for it");
  if (!isDone(Stage::Model) || !options.dumpFolder.empty())
    return explain("off: stages or their texts are wanted");
  key = makeKey();
  if (!key)
    return explain("off: no linker");
  if (!options.report.empty())
    return explain("not asked: a report is wanted");
  auto answer = ::dsflash::CompileCache(options.cacheFolder).find(*key);
  explain(answer.explanation);
  if (!answer.content)
    return;
  auto [counts, code] = StringRef(*answer.content).split('\n');
  operations = ordered_json::parse(counts.str());
  cachedCode = code.str();
}

void Driver::storeInCache(const std::string &path) {
  auto code = llvm::MemoryBuffer::getFile(path);
  if (!key || !code)
    return;
  ::dsflash::Status stored =
      ::dsflash::CompileCache(options.cacheFolder)
          .store(*key, operations.dump() + "\n" + (*code)->getBuffer().str());
  for (const std::string &fault : stored.faults())
    reportNote("cache: " + fault);
}
