//===- LoadedModel.h - A model that is ready to be measured -----*- C++ -*-===//

#ifndef DSFLASH_LIB_BENCH_LOADEDMODEL_H
#define DSFLASH_LIB_BENCH_LOADEDMODEL_H

#include "dsflash/Model/ModelConfig.h"
#include "dsflash/Runtime/ModelRunner.h"

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace dsflash {

/// Measures time from its making.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

/// The middle of some values, of two the larger.
double median(std::vector<double> values);

/// A model with its weights and all that runs it.
struct LoadedModel {
  std::unique_ptr<Model> model;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<ModelRunner> runner;

  /// `weights` and `engramFile` may be empty, see Model::bindWeights; `device`
  /// as Device::open takes it.
  static Result<LoadedModel> open(const std::string &path,
                                  const std::string &weights, int threads,
                                  const std::string &device = "cpu",
                                  const std::string &engramFile = "");
};

/// Bytes that a sequence of so many positions has written.
int64_t sessionBytes(const Model &model, int64_t positions);

/// The config beside the weights of a model; `weights` may be empty. Error:
/// none can be read there.
Result<ModelConfig> configOf(const Model &model, const std::string &weights);

/// Ids in [0, vocab).
std::vector<int32_t> randomTokens(std::mt19937_64 &random, int64_t count,
                                  int64_t vocab);

/// One sequence of tokens, random ones unless others are given; or several
/// behind the same ones.
class RandomSequence {
public:
  /// Prompt tokens in one call, as dsflash-run reads them.
  static constexpr int64_t kChunk = kPromptChunk;

  static Result<RandomSequence> create(ModelRunner &runner);

  int64_t length() const { return sessions.front().length(); }

  /// Reads these tokens; the last one gets logits.
  Status read(const std::vector<int32_t> &ids, Prefill prefill = Prefill::Full);
  /// Reads `count` random tokens; the last one gets logits.
  Status read(int64_t count, Prefill prefill = Prefill::Full);
  /// Reads one chunk and repeats its rows in the state until there are `count`
  /// positions. The state must be in the host's memory.
  Status pretend(int64_t count);
  /// Goes on as if `count` random tokens had been read and had left zeros in
  /// the state. It must be empty.
  void skip(int64_t count);
  /// Of the first session.
  int64_t residentBytes() const { return sessions.front().residentBytes(); }
  /// Goes on as so many sequences, each with a random token of its own.
  Status fork(int64_t count);
  /// Computes the last token of every sequence again.
  Status repeat();
  /// Computes the best token behind the last logits of every sequence.
  Status generate();

private:
  RandomSequence(ModelRunner &runner, Session session) : runner(runner) {
    sessions.push_back(std::move(session));
  }
  int64_t vocab() const { return runner.model().module().vocab_size; }
  /// The next tokens of the first sequence.
  Status forward(const std::vector<int32_t> &ids, bool wantsLogits);
  /// The next token of every sequence.
  Status step(const std::vector<int32_t> &ids);
  Status checkOutputs() const;

  ModelRunner &runner;
  std::vector<Session> sessions;
  std::mt19937_64 random;
};

/// Reads a prompt in a sequence of its own, which brings the weights into
/// memory.
Status readAndForget(ModelRunner &runner, int64_t tokens);

} // namespace dsflash

#endif // DSFLASH_LIB_BENCH_LOADEDMODEL_H
