//===- Report.cpp - What a compiled model costs ---------------------------===//

#include "Report.h"
#include "LaunchCounter.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::dsflash;
using nlohmann::ordered_json;

/// Rows of one chunk of a prompt, as dsflash-run reads it.
static constexpr int64_t kChunk = 512;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static double getWeightBytes(ModuleOp module) {
  double bytes = 0;
  for (auto param : module.getOps<ParamOp>()) {
    WeightType type = param.getWeightType();
    auto layers = param.getLayers();
    bytes += getTensorBytes(type) * type.getExperts() *
             (layers ? double(layers->size()) : 1);
  }
  return bytes;
}

static int64_t getInteger(func::FuncOp function, StringRef attribute) {
  auto value = function->getAttrOfType<IntegerAttr>(attribute);
  return value ? value.getInt() : 0;
}

/// The largest that an entry needs for one chunk.
static int64_t getWorkspaceBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic())
      bytes = std::max(
          bytes, getInteger(function, workspaceRowBytesAttrName) * kChunk +
                     getInteger(function, workspaceFixedBytesAttrName));
  return bytes;
}

/// The states of all entries, by name.
static llvm::StringMap<StateTypeInterface> getStates(ModuleOp module) {
  llvm::StringMap<StateTypeInterface> states;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        nameAttrName);
      auto state = dyn_cast<StateTypeInterface>(argument.getType());
      if (name && state)
        states[name] = state;
    }
  return states;
}

static int64_t getRowBytes(StateTypeInterface state) {
  int64_t elements = state.getRowElements();
  return state.getRowFormat().getPayloadBytes(elements) +
         state.getRowFormat().getScaleCount(elements);
}

static ordered_json describeMemory(ModuleOp module) {
  double perToken = 0;
  int64_t fixed = 0;
  for (const auto &[name, state] : getStates(module)) {
    if (int64_t positions = state.getPositionsPerRow())
      perToken += double(getRowBytes(state)) / positions;
    else
      fixed += getRowBytes(state) * state.getRowCount();
  }
  return {{"weights", int64_t(getWeightBytes(module))},
          {"workspace", getWorkspaceBytes(module)},
          {"session_fixed", fixed},
          {"session_per_token", perToken}};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static void addPhase(ordered_json &kernels, func::FuncOp entry,
                     const char *phase, int64_t rows,
                     const std::string &target) {
  auto getExtent = [&](StringRef dim) { return dim == "rows" ? rows : 1; };
  for (const auto &[name, cost] : LaunchCounter().run(entry, getExtent)) {
    ordered_json kernel = {{"name", name.str()},
                           {"target", target},
                           {"phase", phase},
                           {"count", cost.count}};
    if (cost.isProduct) {
      kernel["flops"] = int64_t(cost.flops);
      kernel["bytes_read"] = int64_t(cost.bytesRead);
      kernel["bytes_written"] = int64_t(cost.bytesWritten);
    }
    kernels.push_back(std::move(kernel));
  }
}

static ordered_json describeKernels(ModuleOp module,
                                    const std::string &target) {
  ordered_json kernels = ordered_json::array();
  auto entry = module.lookupSymbol<func::FuncOp>("forward");
  if (entry && !entry.isExternal()) {
    addPhase(kernels, entry, "decode", 1, target);
    addPhase(kernels, entry, "prefill", kChunk, target);
  }
  return kernels;
}

ordered_json describeModule(ModuleOp module, const std::string &target) {
  // Counting folds operations, which may change them.
  OwningOpRef<ModuleOp> copy = module.clone();
  ordered_json memory = describeMemory(*copy);
  return {{"kv_bytes_per_token", memory["session_per_token"]},
          {"memory", memory},
          {"kernels", describeKernels(*copy, target)}};
}

//===----------------------------------------------------------------------===//
// Parameters and times
//===----------------------------------------------------------------------===//

ordered_json describeParameters(const ::dsflash::ModelConfig &config) {
  ::dsflash::ModelSizes sizes = ::dsflash::modelSizes(config);
  return {{"backbone", sizes.backbone},
          {"engram", sizes.engram},
          {"draft", sizes.draft},
          {"vision", sizes.vision},
          {"active_prefill", sizes.activePrefill},
          {"active_decode", sizes.activeDecode}};
}

ordered_json describeTimes(const StageLog &log) {
  ordered_json stages = ordered_json::array();
  double seconds = 0;
  for (const StageLog::Time &time : log.times()) {
    stages.push_back({{"name", time.name}, {"seconds", time.seconds}});
    seconds += time.seconds;
  }
  return {{"stages", stages}, {"seconds", seconds}};
}
