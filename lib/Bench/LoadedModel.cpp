//===- LoadedModel.cpp - A model that is ready to be measured -------------===//

#include "LoadedModel.h"
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

Result<RandomSequence> RandomSequence::create(ModelRunner &runner) {
  Result<Session> session = Session::create(
      runner.model().module(), /*index=*/0, runner.executor().device());
  if (!session)
    return session.status();
  return RandomSequence(runner, std::move(*session));
}

Status RandomSequence::read(int64_t count) {
  for (int64_t left = count; left > 0;) {
    std::vector<int32_t> ids(size_t(std::min(left, kChunk)));
    for (int32_t &id : ids)
      id = randomToken();
    left -= int64_t(ids.size());
    if (Status status = forward(ids, left == 0); !status)
      return status;
  }
  return {};
}

Status RandomSequence::fork(int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    Result<Session> copy = sessions.front().fork(i);
    if (!copy)
      return copy.status();
    sessions.push_back(std::move(*copy));
  }
  std::vector<int32_t> ids(sessions.size());
  for (int32_t &id : ids)
    id = randomToken();
  return step(ids);
}

Status RandomSequence::generate() {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < sessions.size(); ++i)
    ids.push_back(argmax(runner.logits(i, 0), vocab()));
  return step(ids);
}

Status RandomSequence::step(const std::vector<int32_t> &ids) {
  std::vector<SequenceInput> inputs;
  for (size_t i = 0; i < sessions.size(); ++i)
    inputs.push_back({&sessions[i], &ids[i], 1, 1});
  Status status = runner.forward(inputs);
  return status ? checkOutputs() : status;
}

Status RandomSequence::forward(const std::vector<int32_t> &ids,
                               bool wantsLogits) {
  Status status = runner.forward(
      {{&sessions.front(), ids.data(), int64_t(ids.size()), wantsLogits}});
  return status && wantsLogits ? checkOutputs() : status;
}

Status RandomSequence::checkOutputs() const {
  std::string where = "position " + std::to_string(length() - 1);
  Status status;
  for (size_t i = 0; i < sessions.size(); ++i)
    status.add(checkLogits(where, runner.logits(i, 0), vocab()));
  return status;
}

Status dsflash::readAndForget(ModelRunner &runner, int64_t tokens) {
  Result<RandomSequence> sequence = RandomSequence::create(runner);
  return sequence ? sequence->read(tokens) : sequence.status();
}
