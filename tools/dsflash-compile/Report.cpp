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
/// Tokens before the step of the phase "decode", if positions reach so far.
static constexpr int64_t kTokensBefore = 1023;

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

/// What waits in a session between encoder and decoder tail.
static int64_t getBoundaryBytes(ModuleOp module) {
  auto tail = module.lookupSymbol<func::FuncOp>("tail");
  auto rows =
      tail ? tail->getAttrOfType<IntegerAttr>(lastRowsAttrName) : nullptr;
  if (!rows)
    return 0;
  int64_t rowBytes = 0;
  for (BlockArgument argument : tail.getArguments()) {
    auto name = tail.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  nameAttrName);
    if (!name || (name != "stream" && name != "pre"))
      continue;
    auto type = cast<MemRefType>(argument.getType());
    rowBytes += ShapedType::getNumElements(type.getShape().drop_front()) *
                type.getElementTypeBitWidth() / 8;
  }
  return rows.getInt() * rowBytes;
}

static ordered_json describeMemory(ModuleOp module) {
  double perToken = 0;
  int64_t fixed = getBoundaryBytes(module);
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

static ordered_json describeBuffers(const KernelCost &cost) {
  ordered_json buffers = ordered_json::array();
  auto add = [&](ArrayRef<BufferUse> uses, const char *access) {
    for (const BufferUse &use : uses)
      buffers.push_back({{"type", use.type},
                         {"access", access},
                         {"bytes", int64_t(use.bytes)}});
  };
  add(cost.inputs, "read");
  add(cost.outputs, "write");
  return buffers;
}

/// Registers, spills and shared memory are those of GPU kernels.
static ordered_json describeKernel(StringRef name, const KernelCost &cost,
                                   const char *phase, int64_t tokensBefore,
                                   const std::string &target) {
  return {{"name", name.str()},
          {"target", target},
          {"phase", phase},
          {"tokens_before", tokensBefore},
          {"count", cost.count},
          {"flops", cost.hasFlops ? ordered_json(int64_t(cost.flops +
                                                         cost.attentionFlops))
                                  : ordered_json(nullptr)},
          {"bytes_read", int64_t(cost.bytesRead)},
          {"bytes_written", int64_t(cost.bytesWritten)},
          {"uses_state", cost.usesState},
          {"bytes_requested", cost.bytesRequested
                                  ? ordered_json(int64_t(*cost.bytesRequested))
                                  : ordered_json(nullptr)},
          {"registers", nullptr},
          {"spills", nullptr},
          {"shared_memory", nullptr},
          {"buffers", describeBuffers(cost)}};
}

static ordered_json describePlan(const LaunchCounter::Pieces &pieces) {
  ordered_json plan = ordered_json::array();
  for (const auto &[op, piece] : pieces)
    plan.push_back({{"function", piece.function.str()},
                    {"offset", piece.offset},
                    {"bytes", int64_t(piece.buffer.bytes)},
                    {"type", piece.buffer.type}});
  return plan;
}

/// Both phases of the entry, and the memory plan of the second.
static void describeWork(ModuleOp module, const std::string &target,
                         const std::vector<ContextCost> &contexts,
                         ordered_json &report) {
  ordered_json &kernels = report["kernels"] = ordered_json::array();
  ordered_json &plan = report["memory_plan"] = ordered_json::array();
  auto entry = module.lookupSymbol<func::FuncOp>("forward");
  if (!entry || entry.isExternal() || contexts.empty())
    return;
  const ContextCost &shortest = contexts.front();
  int64_t before = std::min(kTokensBefore, shortest.tokens - 1);
  for (auto [phase, rows, tokens] :
       {std::tuple("decode", int64_t(1), before),
        std::tuple("prefill", kChunk, int64_t(0))}) {
    LaunchCounter counter({tokens, shortest.slidingWindow, shortest.blockSize});
    auto getExtent = [extent = rows](StringRef dim) {
      return dim == "rows" ? extent : 1;
    };
    for (const auto &[name, cost] : counter.run(entry, getExtent))
      kernels.push_back(describeKernel(name, cost, phase, tokens, target));
    plan = describePlan(counter.pieces());
  }
}

//===----------------------------------------------------------------------===//
// Phases and contexts
//===----------------------------------------------------------------------===//

namespace {
/// Products of a call and the weights that they read.
struct CallWork {
  double flops = 0, weightBytes = 0;
};
} // namespace

static CallWork countWork(func::FuncOp entry, int64_t rows, int64_t outputs) {
  CallWork work;
  LaunchCounter counter;
  auto getExtent = [&](StringRef dim) {
    return dim == "rows" ? rows : dim == "outputs" ? outputs : int64_t(1);
  };
  for (const auto &[name, cost] : counter.run(entry, getExtent)) {
    work.flops += cost.flops;
    work.weightBytes += cost.weightBytes;
  }
  return work;
}

/// Calls that serving makes: a decode step and whole prompts by the entry that
/// import wrote, the others by what the passes derived from it.
static constexpr struct {
  const char *phase, *entry;
  int64_t outputs;
} kCalls[] = {{"decode", "forward", 1},
              {"full prefill", "forward", 0},
              {"prompt", "prompt", 0},
              {"exact tail", "tail", 1},
              {"bounded tail", "bounded_tail", 1},
              {"replay", "replay", 0}};

static ordered_json describePhases(ModuleOp module) {
  ordered_json phases = ordered_json::array();
  for (auto [phase, name, outputs] : kCalls) {
    auto entry = module.lookupSymbol<func::FuncOp>(name);
    if (!entry || entry.isExternal())
      continue;
    int64_t last = getInteger(entry, lastRowsAttrName);
    int64_t rows = last ? last : outputs ? 1 : kChunk;
    CallWork work = countWork(entry, rows, outputs);
    phases.push_back(
        {{"phase", phase},
         {"entry", name},
         {"rows", rows},
         {"flops", int64_t(work.flops)},
         {"active_parameters", int64_t(work.flops / 2 / double(rows))}});
  }
  return phases;
}

/// Operations of a step, with index scores at `scoreCost` of their number.
static double getFlops(const ordered_json &context, double scoreCost) {
  return context["flops_products"].get<double>() +
         context["flops_attention"].get<double>() +
         scoreCost * context["flops_index"].get<double>();
}

static void describeContexts(ModuleOp module,
                             const std::vector<ContextCost> &costs,
                             ordered_json &report) {
  ordered_json &contexts = report["contexts"] = ordered_json::array();
  auto entry = module.lookupSymbol<func::FuncOp>("forward");
  if (!entry || entry.isExternal() || costs.empty())
    return;
  CallWork step = countWork(entry, 1, 1);
  for (const ContextCost &cost : costs)
    contexts.push_back({{"tokens", cost.tokens},
                        {"flops_products", int64_t(step.flops)},
                        {"flops_attention", int64_t(cost.attentionFlops)},
                        {"flops_index", int64_t(cost.indexFlops)},
                        {"rows_scanned", cost.scannedRows},
                        {"rows_in_candidates", cost.candidateRows},
                        {"bytes_weights", int64_t(step.weightBytes)},
                        {"bytes_window", int64_t(cost.windowBytes)},
                        {"bytes_global_kv", int64_t(cost.globalBytes)},
                        {"bytes_candidate_keys", int64_t(cost.candidateBytes)},
                        {"bytes_scanned_keys", int64_t(cost.scannedBytes)}});
  auto getGrowth = [&](double scoreCost) {
    return getFlops(contexts.back(), scoreCost) /
           getFlops(contexts.front(), scoreCost);
  };
  report["flops_growth"] = {{"tokens", costs.back().tokens},
                            {"over_tokens", costs.front().tokens},
                            {"alike", getGrowth(1)},
                            {"fp4_at_half", getGrowth(0.5)},
                            {"fp4_at_quarter", getGrowth(0.25)}};
}

ordered_json describeModule(ModuleOp module, const std::string &target,
                            const std::vector<ContextCost> &contexts) {
  // Counting folds operations, which may change them.
  OwningOpRef<ModuleOp> copy = module.clone();
  ordered_json memory = describeMemory(*copy);
  ordered_json report = {{"kv_bytes_per_token", memory["session_per_token"]},
                         {"memory", memory},
                         {"phases", describePhases(*copy)}};
  describeContexts(*copy, contexts, report);
  describeWork(*copy, target, contexts, report);
  return report;
}

void addResources(const llvm::StringMap<KernelResources> &resources,
                  const llvm::StringMap<std::string> &entries,
                  ordered_json &report) {
  for (ordered_json &kernel : report["kernels"]) {
    auto found =
        resources.find(entries.lookup(kernel["name"].get<std::string>()));
    if (found == resources.end())
      continue;
    kernel["registers"] = found->second.registers;
    kernel["spills"] = found->second.spills;
    kernel["shared_memory"] = found->second.sharedMemory;
  }
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

ordered_json describeTimes(StageLog &log, const ordered_json &operations) {
  ordered_json stages = ordered_json::array();
  double seconds = 0;
  for (const StageLog::Time &time : log.times()) {
    stages.push_back({{"name", time.name},
                      {"seconds", time.seconds},
                      {"operations", operations.value(time.name, 0)}});
    seconds += time.seconds;
  }
  ordered_json passes = ordered_json::array();
  for (const StageLog::PassTime &time : log.takePassTimes())
    passes.push_back({{"stage", time.stage},
                      {"name", time.name},
                      {"seconds", time.seconds}});
  return {{"stages", stages}, {"seconds", seconds}, {"passes", passes}};
}
