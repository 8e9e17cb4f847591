//===- ContextBench.cpp - Steps behind long contexts ----------------------===//

#include "dsflash/Bench/ContextBench.h"
#include "Format.h"
#include "LaunchTimes.h"
#include "LoadedModel.h"
#include "dsflash/Support/Json.h"

#include <algorithm>
#include <string_view>

using namespace dsflash;
using nlohmann::json;

namespace {

Status checkContexts(const ModelBenchOptions &options, int64_t most) {
  Status faults;
  int64_t fewest = RandomSequence::kChunk + options.generate;
  for (int64_t context : options.contexts)
    if (context < fewest || context > most)
      faults.add("context " + std::to_string(context),
                 "expected " + std::to_string(fewest) + " to " +
                     std::to_string(most) + " tokens");
  return faults;
}

/// What the compiler's report says of contexts.
struct Reported {
  std::vector<json> contexts;
  json growth;

  /// Null if there is none for so many tokens.
  json find(int64_t tokens) const {
    for (const json &row : contexts)
      if (row["tokens"] == tokens)
        return row;
    return nullptr;
  }
};

Result<Reported> readReport(const std::string &path) {
  Reported reported;
  if (path.empty())
    return reported;
  auto keep = [&](const std::string &, const json &row) {
    if (row.is_object() && row.contains("tokens"))
      reported.contexts.push_back(row);
  };
  auto skip = [](const std::string &, const json &) {};
  Result<json> report =
      readJsonFile(path, {{{"contexts"}, json::value_t::array, keep},
                          {{"kernels"}, json::value_t::array, skip},
                          {{"memory_plan"}, json::value_t::array, skip}});
  if (!report)
    return report.status();
  if (!report->is_object() || !report->contains("contexts"))
    return Status::error(path, "has no list \"contexts\"");
  reported.growth = report->value("flops_growth", json());
  return reported;
}

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

/// Counts the reachable keys of the candidate blocks that pass by.
class CandidateCounter : public ProbeObserver {
public:
  CandidateCounter(const dsf_module &module, const ModelConfig &config)
      : module(module), config(config) {}

  void observe(int32_t number, int64_t layer, void *data, int64_t rows,
               const RowTable &table) override {
    const dsf_probe &probe = module.probes[number];
    if (!endsWith(probe.name, "attn.candidates"))
      return;
    const auto *blocks = static_cast<const int32_t *>(data);
    int64_t size = config.candidate_block_size;
    found = found.value_or(0);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t reach = (table.position[size_t(row)] + 1) / config.ratio(layer);
      for (int64_t i = 0; i < probe.extents[0]; ++i, ++blocks)
        if (*blocks >= 0)
          *found += std::min(size, reach - *blocks * size);
    }
  }

  std::optional<int64_t> keys() const { return found; }

private:
  const dsf_module &module;
  const ModelConfig &config;
  std::optional<int64_t> found;
};

Result<ContextBench::Step> measure(LoadedModel &loaded,
                                   const ModelConfig &config, int64_t tokens,
                                   int64_t count) {
  Result<RandomSequence> sequence = RandomSequence::create(*loaded.runner);
  if (!sequence)
    return sequence.status();
  if (Status status = sequence->pretend(tokens - count); !status)
    return status;
  ContextBench::Step step;
  std::vector<double> seconds;
  KernelNames names;
  {
    LaunchTimes times(*loaded.pool);
    for (int64_t i = 0; i < count; ++i) {
      Stopwatch watch;
      if (Status status = sequence->generate(); !status)
        return status;
      seconds.push_back(watch.seconds());
    }
    step.seconds = median(seconds);
    auto startsWith = [](const std::string &name, std::string_view prefix) {
      return name.compare(0, prefix.size(), prefix) == 0;
    };
    for (const KernelTime &kernel : times.kernels("decode", count, names)) {
      if (startsWith(kernel.name, "indexer_"))
        step.scanSeconds += kernel.seconds;
      if (startsWith(kernel.name, "candidate_indexer_"))
        step.candidateSeconds += kernel.seconds;
    }
  }
  // The last step again, observed.
  CandidateCounter counter(loaded.model->module(), config);
  loaded.runner->setObserver(&counter);
  Status repeated = sequence->repeat();
  loaded.runner->setObserver(nullptr);
  if (!repeated)
    return repeated;
  step.candidateKeys = counter.keys();
  step.tokens = sequence->length();
  step.sessionBytes = sequence->residentBytes();
  step.rowBytes = loaded.model->kvBytes(step.tokens);
  return step;
}

/// What is no number counts as 0.
double numberOf(const json &object, const char *key) {
  auto value = object.find(key);
  return value != object.end() && value->is_number() ? value->get<double>() : 0;
}

int64_t sumOf(const json &work, std::initializer_list<const char *> keys) {
  double sum = 0;
  for (const char *key : keys)
    sum += numberOf(work, key);
  return int64_t(sum);
}

/// What a step reads beside the keys that a source layer scores.
int64_t bytesOutsideScan(const json &work) {
  return sumOf(work, {"bytes_weights", "bytes_window", "bytes_global_kv",
                      "bytes_candidate_keys"});
}

int64_t operations(const json &work) {
  return sumOf(work, {"flops_products", "flops_attention", "flops_index"});
}

} // namespace

json ContextBench::json() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Step &step : steps)
    rows.push_back({{"tokens", step.tokens},
                    {"session_bytes", step.sessionBytes},
                    {"row_bytes", step.rowBytes},
                    {"seconds", step.seconds},
                    {"scan_seconds", step.scanSeconds},
                    {"candidate_keys", step.candidateKeys
                                           ? nlohmann::json(*step.candidateKeys)
                                           : nlohmann::json()},
                    {"candidate_seconds", step.candidateSeconds},
                    {"work", step.work}});
  return {{"contexts", rows}, {"flops_growth", growth}};
}

std::string ContextBench::table() const {
  std::string text;
  appendFormat(text, "%10s %11s %9s %9s %9s %9s %13s %13s %13s %13s %9s\n",
               "tokens", "session MB", "B/token", "step ms", "scan ms",
               "inside ms", "seen inside", "keys scanned", "keys inside",
               "MB unscanned", "GFLOP");
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &step = steps[i];
    const Step before = i ? steps[i - 1] : Step();
    appendFormat(text, "%10lld %11.1f %9.1f %9.2f %9.2f %9.2f",
                 static_cast<long long>(step.tokens),
                 double(step.sessionBytes) / 1e6,
                 double(step.sessionBytes - before.sessionBytes) /
                     double(step.tokens - before.tokens),
                 step.seconds * 1e3, step.scanSeconds * 1e3,
                 step.candidateSeconds * 1e3);
    appendFormat(
        text, " %13s",
        step.candidateKeys ? std::to_string(*step.candidateKeys).c_str() : "-");
    if (step.work.is_object())
      appendFormat(
          text, " %13lld %13lld %13.2f %9.3f",
          static_cast<long long>(sumOf(step.work, {"rows_scanned"})),
          static_cast<long long>(sumOf(step.work, {"rows_in_candidates"})),
          double(bytesOutsideScan(step.work)) / 1e6,
          double(operations(step.work)) / 1e9);
    text += "\n";
  }
  if (growth.is_object())
    appendFormat(text,
                 "operations at %lld tokens over those at %lld: %.3f with all "
                 "alike, %.3f with FP4 x FP4 at half, %.3f at a quarter\n",
                 static_cast<long long>(sumOf(growth, {"tokens"})),
                 static_cast<long long>(sumOf(growth, {"over_tokens"})),
                 numberOf(growth, "alike"), numberOf(growth, "fp4_at_half"),
                 numberOf(growth, "fp4_at_quarter"));
  if (steps.size() > 1)
    appendFormat(text, "time of a step: %.3f\n",
                 steps.back().seconds / steps.front().seconds);
  return text;
}

Result<ContextBench> dsflash::benchContexts(const ModelBenchOptions &options) {
  Result<Reported> report = readReport(options.report);
  if (!report)
    return report.status();
  Result<LoadedModel> loaded =
      LoadedModel::open(options.model, options.weights, options.threads);
  if (!loaded)
    return loaded.status();
  if (Status status =
          checkContexts(options, loaded->model->module().max_positions);
      !status)
    return status;
  Result<ModelConfig> config = configOf(*loaded->model, options.weights);
  if (!config)
    return config.status();
  ContextBench bench;
  for (int64_t context : options.contexts) {
    Result<ContextBench::Step> step =
        measure(*loaded, *config, context, options.generate);
    if (!step)
      return step.status();
    step->work = report->find(context);
    bench.steps.push_back(std::move(*step));
  }
  bench.growth = report->growth;
  return bench;
}
