//===- ModelBench.cpp - Speed of a compiled model -------------------------===//

#include "dsflash/Bench/ModelBench.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Runtime/ModelRunner.h"
#include "dsflash/Runtime/Sampler.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>

using namespace dsflash;
using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kChunk = 512;
constexpr int64_t kFirstPrompt = 8;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

/// Bytes that a sequence of so many positions has written.
int64_t sessionBytes(const Model &model, int64_t positions) {
  int64_t bytes = model.kvBytes(positions);
  for (int64_t i = 0; i < model.module().state_count; ++i) {
    const dsf_state &state = model.module().states[i];
    if (state.positions_per_row == 0)
      bytes += state.row_bytes * state.rows;
  }
  return bytes;
}

/// One sequence of random tokens.
class Sequence {
public:
  static Result<Sequence> create(ModelRunner &runner) {
    Result<Session> session = Session::create(runner.model().module());
    if (!session)
      return session.status();
    return Sequence(runner, std::move(*session));
  }

  int64_t length() const { return session.length(); }

  /// Reads `count` random tokens; the last one gets logits.
  Status read(int64_t count) {
    for (int64_t left = count; left > 0;) {
      std::vector<int32_t> ids(size_t(std::min(left, kChunk)));
      for (int32_t &id : ids)
        id = int32_t(random() % uint64_t(vocab()));
      left -= int64_t(ids.size());
      if (Status status = forward(ids, left == 0); !status)
        return status;
    }
    return {};
  }

  /// Computes the best token behind the last logits.
  Status generate() {
    return forward({argmax(runner.logits(0, 0), vocab())}, true);
  }

private:
  Sequence(ModelRunner &runner, Session session)
      : runner(runner), session(std::move(session)) {}

  int64_t vocab() const { return runner.model().module().vocab_size; }

  Status forward(const std::vector<int32_t> &ids, bool wantsLogits) {
    Status status = runner.forward(
        {{&session, ids.data(), int64_t(ids.size()), wantsLogits}});
    if (status && wantsLogits)
      status = checkLogits("position " + std::to_string(session.length() - 1),
                           runner.logits(0, 0), vocab());
    return status;
  }

  ModelRunner &runner;
  Session session;
  std::mt19937_64 random;
};

class Bench {
public:
  Bench(const ModelBenchOptions &options) : options(options) {}

  Result<ModelBench> run() {
    Clock::time_point start = Clock::now();
    if (Status status = open(); !status)
      return status;
    if (Status status = readAndForget(kFirstPrompt); !status)
      return status;
    result.firstTokenSeconds = secondsSince(start);

    result.limits = measureLimits(options.threads);
    if (Status status = readAndForget(options.promptTokens); !status)
      return status;
    for (int64_t context : options.contexts)
      if (Status status = measure(context); !status)
        return status;
    return std::move(result);
  }

private:
  Status open() {
    Result<std::unique_ptr<Model>> opened = Model::open(options.model);
    if (!opened)
      return opened.status();
    model = std::move(*opened);
    if (Status status = checkLengths(); !status)
      return status;
    if (Status status = model->bindWeights(options.weights); !status)
      return status;
    std::string folder =
        options.weights.empty() ? model->manifest().weights : options.weights;
    Result<ModelConfig> config = loadModelConfig(folder + "/config.json");
    if (!config)
      return config.status();
    result.work = tokenWork(*config);
    pool = std::make_unique<ThreadPool>(options.threads);
    Result<std::unique_ptr<ModelRunner>> created =
        ModelRunner::create(*model, *pool);
    if (!created)
      return created.status();
    runner = std::move(*created);
    return {};
  }

  Status checkLengths() const {
    Status faults;
    int64_t most = model->module().max_positions;
    for (int64_t context : options.contexts)
      if (int64_t needed = context + options.promptTokens + options.generate;
          needed > most)
        faults.add("context " + std::to_string(context),
                   "needs " + std::to_string(needed) +
                       " positions, the model has " + std::to_string(most));
    return faults;
  }

  Status readAndForget(int64_t tokens) {
    Result<Sequence> sequence = Sequence::create(*runner);
    return sequence ? sequence->read(tokens) : sequence.status();
  }

  Status measure(int64_t context) {
    Result<Sequence> sequence = Sequence::create(*runner);
    if (!sequence)
      return sequence.status();
    if (Status status = sequence->read(context); !status)
      return status;

    ModelBench::Speed speed;
    speed.context = context;
    Clock::time_point start = Clock::now();
    if (Status status = sequence->read(options.promptTokens); !status)
      return status;
    speed.prompt = double(options.promptTokens) / secondsSince(start);

    std::vector<double> steps;
    for (int64_t i = 0; i < options.generate; ++i) {
      start = Clock::now();
      if (Status status = sequence->generate(); !status)
        return status;
      steps.push_back(secondsSince(start));
    }
    auto middle = steps.begin() + std::ptrdiff_t(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end());
    speed.generate = 1 / *middle;
    result.speeds.push_back(speed);
    noteMemory(sequence->length());
    return {};
  }

  void noteMemory(int64_t positions) {
    ModelBench::Memory now{anonymousBytes(),
                           runner->executor().workspaceBytes(),
                           sessionBytes(*model, positions)};
    if (now.anonymous > result.memory.anonymous)
      result.memory = now;
  }

  const ModelBenchOptions &options;
  std::unique_ptr<Model> model;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<ModelRunner> runner;
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
  char line[160];
  auto add = [&](auto... values) {
    std::snprintf(line, sizeof line, values...);
    text += line;
  };
  add("a token reads %.1f MB of weights, a prompt token needs %.3f GFLOP\n",
      work.weightBytes / 1e6, 2 * work.promptProducts / 1e9);
  add("%10s %15s %10s %17s %10s\n", "context", "prompt tokens/s", "of fp32",
      "generate tokens/s", "of memory");
  for (const Speed &speed : speeds)
    add("%10lld %15.1f %10.2f %17.2f %10.2f\n",
        static_cast<long long>(speed.context), speed.prompt,
        promptFraction(speed), speed.generate, generateFraction(speed));
  add("memory: %.1f MB of its own, %.1f MB reported as workspace and session\n",
      double(memory.anonymous) / 1e6,
      double(memory.workspace + memory.session) / 1e6);
  add("start to first token: %.3f s\n", firstTokenSeconds);
  return text;
}

Result<ModelBench> dsflash::benchModel(const ModelBenchOptions &options) {
  return Bench(options).run();
}
