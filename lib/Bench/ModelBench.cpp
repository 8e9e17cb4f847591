//===- ModelBench.cpp - Speed of a compiled model -------------------------===//

#include "dsflash/Bench/ModelBench.h"
#include "Format.h"
#include "LoadedModel.h"
#include "dsflash/Model/Checkpoint.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

using namespace dsflash;
using nlohmann::json;

namespace {

constexpr int64_t kFirstPrompt = 8;

/// "RssAnon" of this process.
int64_t anonymousBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;)
    if (key == "RssAnon:") {
      int64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  return 0;
}

class Bench {
public:
  explicit Bench(const ModelBenchOptions &options) : options(options) {}

  Result<ModelBench> run() {
    Stopwatch watch;
    Result<LoadedModel> opened = LoadedModel::open(
        options.model, options.weights, options.threads, options.device);
    if (!opened)
      return opened.status();
    loaded = std::move(*opened);
    Status faults = checkLengths();
    faults.add(checkPrefills());
    faults.add(readConfig());
    if (!faults)
      return faults;
    if (Status status = readAndForget(*loaded.runner, kFirstPrompt); !status)
      return status;
    result.firstTokenSeconds = watch.seconds();

    result.limits = measureLimits(options.threads);
    if (Status status =
            readAndForget(*loaded.runner, std::min(options.promptTokens,
                                                   RandomSequence::kChunk));
        !status)
      return status;
    for (int64_t context : options.contexts)
      for (Prefill prefill : options.prefills)
        if (Status status = measure(context, prefill); !status)
          return status;
    return std::move(result);
  }

private:
  Status readConfig() {
    Result<ModelConfig> config = configOf(*loaded.model, options.weights);
    if (!config)
      return config.status();
    result.work = tokenWork(*config);
    return {};
  }

  Status checkLengths() const {
    Status faults;
    int64_t most = loaded.model->module().max_positions;
    for (int64_t context : options.contexts)
      if (int64_t needed = context + options.promptTokens + options.generate;
          needed > most)
        faults.add("context " + std::to_string(context),
                   "needs " + std::to_string(needed) +
                       " positions, the model has " + std::to_string(most));
    return faults;
  }

  Status checkPrefills() const {
    bool needsPhases =
        std::any_of(options.prefills.begin(), options.prefills.end(),
                    [](Prefill prefill) { return prefill != Prefill::Full; });
    return needsPhases && !loaded.runner->hasPhases()
               ? Status::error("prefill", "the model has no phases; use full")
               : Status();
  }

  Status measure(int64_t context, Prefill prefill) {
    Result<RandomSequence> sequence = RandomSequence::create(*loaded.runner);
    if (!sequence)
      return sequence.status();
    if (Status status = sequence->read(context); !status)
      return status;

    Stopwatch prompt;
    if (Status status = sequence->read(options.promptTokens, prefill); !status)
      return status;
    double promptSpeed = double(options.promptTokens) / prompt.seconds();

    Result<double> step = medianStep(*sequence);
    if (!step)
      return step.status();
    result.speeds.push_back({context, promptSpeed, 1 / *step, prefill});
    noteMemory(sequence->length());
    if (prefill != options.prefills.front())
      return {};
    for (int64_t count : options.sequences)
      if (Status status = measureBatch(context, count, 1 / *step); !status)
        return status;
    return {};
  }

  /// Seconds.
  Result<double> medianStep(RandomSequence &sequence) const {
    std::vector<double> steps;
    for (int64_t i = 0; i < options.generate; ++i) {
      Stopwatch step;
      if (Status status = sequence.generate(); !status)
        return status;
      steps.push_back(step.seconds());
    }
    return median(steps);
  }

  Status measureBatch(int64_t context, int64_t count, double speedOfOne) {
    Result<RandomSequence> sequences = RandomSequence::create(*loaded.runner);
    if (!sequences)
      return sequences.status();
    if (Status status = sequences->read(context); !status)
      return status;
    if (Status status = sequences->fork(count); !status)
      return status;
    Result<double> step = medianStep(*sequences);
    if (!step)
      return step.status();
    double speed = double(count) / *step;
    result.batches.push_back({context, count, speed, speed / speedOfOne});
    return {};
  }

  void noteMemory(int64_t positions) {
    ModelBench::Memory now{anonymousBytes(),
                           loaded.runner->executor().workspaceBytes(),
                           sessionBytes(*loaded.model, positions)};
    if (now.anonymous > result.memory.anonymous)
      result.memory = now;
  }

  const ModelBenchOptions &options;
  LoadedModel loaded;
  ModelBench result;
};

} // namespace

TokenWork dsflash::tokenWork(const ModelConfig &config) {
  TokenWork work;
  for (const WeightInfo &weight : weightPlan(config)) {
    bool isUsed =
        weight.part == ModelPart::Backbone || weight.part == ModelPart::Engram;
    bool isTable =
        weight.format == WeightFormat::FP8Row || weight.name == "embed.weight";
    if (!isUsed || isTable)
      continue;
    double share = weight.format == WeightFormat::FP4
                       ? double(config.num_experts_per_tok) /
                             double(config.n_routed_experts)
                       : 1;
    for (const TensorSpec &tensor : storedTensors(weight))
      work.weightBytes += share * double(tensor.bytes());
    if (weight.name != "head.weight")
      work.promptProducts += share * double(weight.elements());
  }
  return work;
}

std::optional<double> ModelBench::promptFraction(const Speed &speed) const {
  if (speed.prefill != Prefill::Full)
    return std::nullopt;
  return 2 * work.promptProducts * speed.prompt / limits.fp32;
}

std::optional<double> ModelBench::partOfFull(const Speed &speed) const {
  for (const Speed &other : speeds)
    if (other.context == speed.context && other.prefill == Prefill::Full)
      return other.prompt / speed.prompt;
  return std::nullopt;
}

double ModelBench::generateFraction(const Speed &speed) const {
  return work.weightBytes * speed.generate / limits.memory;
}

static json orNull(std::optional<double> value) {
  return value ? json(*value) : json(nullptr);
}

json ModelBench::json() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Speed &speed : speeds)
    rows.push_back({{"context", speed.context},
                    {"prefill", prefillName(speed.prefill)},
                    {"prompt_tokens_s", speed.prompt},
                    {"prompt_fraction", orNull(promptFraction(speed))},
                    {"prompt_part_of_full", orNull(partOfFull(speed))},
                    {"generate_tokens_s", speed.generate},
                    {"fraction", generateFraction(speed)}});
  nlohmann::json sideBySide = nlohmann::json::array();
  for (const Batch &batch : batches)
    sideBySide.push_back({{"context", batch.context},
                          {"sequences", batch.sequences},
                          {"generate_tokens_s", batch.generate},
                          {"gain", batch.gain}});
  return {{"limits", limits.json()},
          {"model", rows},
          {"batches", sideBySide},
          {"weight_bytes_per_token", work.weightBytes},
          {"products_per_prompt_token", work.promptProducts},
          {"first_token_seconds", firstTokenSeconds},
          {"memory",
           {{"anonymous", memory.anonymous},
            {"workspace", memory.workspace},
            {"session", memory.session}}}};
}

static std::string fractionText(std::optional<double> fraction) {
  std::string text;
  if (fraction)
    appendFormat(text, "%.2f", *fraction);
  return text.empty() ? "-" : text;
}

std::string ModelBench::table() const {
  std::string text = limits.table();
  appendFormat(text,
               "a token reads %.1f MB of weights, a prompt token needs %.3f "
               "GFLOP\n",
               work.weightBytes / 1e6, 2 * work.promptProducts / 1e9);
  appendFormat(text, "%10s %8s %15s %10s %10s %17s %10s\n", "context",
               "prefill", "prompt tokens/s", "of fp32", "of full",
               "generate tokens/s", "of memory");
  for (const Speed &speed : speeds)
    appendFormat(text, "%10lld %8s %15.1f %10s %10s %17.2f %10.2f\n",
                 static_cast<long long>(speed.context),
                 prefillName(speed.prefill), speed.prompt,
                 fractionText(promptFraction(speed)).c_str(),
                 fractionText(partOfFull(speed)).c_str(), speed.generate,
                 generateFraction(speed));
  if (!batches.empty())
    appendFormat(text, "%10s %15s %17s %10s\n", "context", "sequences",
                 "generate tokens/s", "of one");
  for (const Batch &batch : batches)
    appendFormat(text, "%10lld %15lld %17.2f %10.2f\n",
                 static_cast<long long>(batch.context),
                 static_cast<long long>(batch.sequences), batch.generate,
                 batch.gain);
  appendFormat(text,
               "memory: %.1f MB of its own, %.1f MB reported as workspace and "
               "session\n",
               double(memory.anonymous) / 1e6,
               double(memory.workspace + memory.session) / 1e6);
  appendFormat(text, "start to first token: %.3f s\n", firstTokenSeconds);
  return text;
}

Result<ModelBench> dsflash::benchModel(const ModelBenchOptions &options) {
  return Bench(options).run();
}
