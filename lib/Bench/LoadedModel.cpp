//===- LoadedModel.cpp - A model that is ready to be measured -------------===//

#include "LoadedModel.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Runtime/Sampler.h"

#include <algorithm>

using namespace dsflash;

double dsflash::median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<LoadedModel> LoadedModel::open(const std::string &path,
                                      const std::string &weights, int threads) {
  LoadedModel loaded;
  Result<std::unique_ptr<Model>> model = Model::open(path);
  if (!model)
    return model.status();
  loaded.model = std::move(*model);
  if (Status status = loaded.model->bindWeights(weights); !status)
    return status;
  loaded.pool = std::make_unique<ThreadPool>(threads);
  Result<std::unique_ptr<ModelRunner>> runner =
      ModelRunner::create(*loaded.model, *loaded.pool);
  if (!runner)
    return runner.status();
  loaded.runner = std::move(*runner);
  return loaded;
}

int64_t dsflash::sessionBytes(const Model &model, int64_t positions) {
  int64_t bytes = model.kvBytes(positions);
  for (int64_t i = 0; i < model.module().state_count; ++i) {
    const dsf_state &state = model.module().states[i];
    if (state.positions_per_row == 0)
      bytes += state.row_bytes * state.rows;
  }
  return bytes;
}

Result<ModelConfig> dsflash::configOf(const Model &model,
                                      const std::string &weights) {
  std::string folder = weights.empty() ? model.manifest().weights : weights;
  return loadModelConfig(folder + "/config.json");
}

Result<RandomSequence> RandomSequence::create(ModelRunner &runner) {
  Result<Session> session = Session::create(runner.model().module());
  if (!session)
    return session.status();
  return RandomSequence(runner, std::move(*session));
}

std::vector<int32_t> dsflash::randomTokens(std::mt19937_64 &random,
                                           int64_t count, int64_t vocab) {
  std::vector<int32_t> ids(size_t(count), 0);
  for (int32_t &id : ids)
    id = int32_t(random() % uint64_t(vocab));
  return ids;
}

Status RandomSequence::read(int64_t count) {
  return read(randomTokens(random, count, vocab()));
}

Status RandomSequence::read(const std::vector<int32_t> &ids) {
  for (size_t next = 0; next < ids.size();) {
    size_t end = std::min(ids.size(), next + size_t(kChunk));
    if (Status status = forward({&ids[next], &ids[end]}, end == ids.size());
        !status)
      return status;
    next = end;
  }
  return {};
}

Status RandomSequence::generate() {
  return forward({argmax(runner.logits(0, 0), vocab())}, true);
}

Status RandomSequence::forward(const std::vector<int32_t> &ids,
                               bool wantsLogits) {
  Status status = runner.forward(
      {{&session, ids.data(), int64_t(ids.size()), wantsLogits}});
  if (status && wantsLogits)
    status = checkLogits("position " + std::to_string(session.length() - 1),
                         runner.logits(0, 0), vocab());
  return status;
}

Status dsflash::readAndForget(ModelRunner &runner, int64_t tokens) {
  Result<RandomSequence> sequence = RandomSequence::create(runner);
  return sequence ? sequence->read(tokens) : sequence.status();
}
