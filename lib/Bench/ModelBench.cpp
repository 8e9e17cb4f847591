//===- ModelBench.cpp - Speed of a compiled model -------------------------===//

#include "dsflash/Bench/ModelBench.h"
#include "Format.h"
#include "LoadedModel.h"
#include "dsflash/Model/Checkpoint.h"

#include <nlohmann/json.hpp>

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
    Result<LoadedModel> opened =
        LoadedModel::open(options.model, options.weights, options.threads);
    if (!opened)
      return opened.status();
    loaded = std::move(*opened);
    Status faults = checkLengths();
    faults.add(readConfig());
    if (!faults)
      return faults;
    if (Status status = readAndForget(*loaded.runner, kFirstPrompt); !status)
      return status;
    result.firstTokenSeconds = watch.seconds();

    result.limits = measureLimits(options.threads);
    if (Status status = readAndForget(*loaded.runner, options.promptTokens);
        !status)
      return status;
    for (int64_t context : options.contexts)
      if (Status status = measure(context); !status)
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

  Status measure(int64_t context) {
    Result<RandomSequence> sequence = RandomSequence::create(*loaded.runner);
    if (!sequence)
      return sequence.status();
    if (Status status = sequence->read(context); !status)
      return status;

    Stopwatch prompt;
    if (Status status = sequence->read(options.promptTokens); !status)
      return status;
    double promptSpeed = double(options.promptTokens) / prompt.seconds();

    std::vector<double> steps;
    for (int64_t i = 0; i < options.generate; ++i) {
      Stopwatch step;
      if (Status status = sequence->generate(); !status)
        return status;
      steps.push_back(step.seconds());
    }
    result.speeds.push_back({context, promptSpeed, 1 / median(steps)});
    noteMemory(sequence->length());
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

double ModelBench::promptFraction(const Speed &speed) const {
  return 2 * work.promptProducts * speed.prompt / limits.fp32;
}

double ModelBench::generateFraction(const Speed &speed) const {
  return work.weightBytes * speed.generate / limits.memory;
}

json ModelBench::json() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Speed &speed : speeds)
    rows.push_back({{"context", speed.context},
                    {"prompt_tokens_s", speed.prompt},
                    {"prompt_fraction", promptFraction(speed)},
                    {"generate_tokens_s", speed.generate},
                    {"fraction", generateFraction(speed)}});
  return {{"limits", limits.json()},
          {"model", rows},
          {"weight_bytes_per_token", work.weightBytes},
          {"products_per_prompt_token", work.promptProducts},
          {"first_token_seconds", firstTokenSeconds},
          {"memory",
           {{"anonymous", memory.anonymous},
            {"workspace", memory.workspace},
            {"session", memory.session}}}};
}

std::string ModelBench::table() const {
  std::string text = limits.table();
  appendFormat(text,
               "a token reads %.1f MB of weights, a prompt token needs %.3f "
               "GFLOP\n",
               work.weightBytes / 1e6, 2 * work.promptProducts / 1e9);
  appendFormat(text, "%10s %15s %10s %17s %10s\n", "context", "prompt tokens/s",
               "of fp32", "generate tokens/s", "of memory");
  for (const Speed &speed : speeds)
    appendFormat(text, "%10lld %15.1f %10.2f %17.2f %10.2f\n",
                 static_cast<long long>(speed.context), speed.prompt,
                 promptFraction(speed), speed.generate,
                 generateFraction(speed));
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
