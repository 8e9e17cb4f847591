//===- LoadedModel.cpp - A model that is ready to be measured -------------===//

#include "LoadedModel.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Runtime/Sampler.h"

#include <algorithm>
#include <cstring>

using namespace dsflash;

double dsflash::median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<LoadedModel> LoadedModel::open(const std::string &path,
                                      const std::string &weights, int threads,
                                      const std::string &device,
                                      const std::string &engramFile) {
  LoadedModel loaded;
  Result<std::unique_ptr<Model>> model = Model::open(path);
  if (!model)
    return model.status();
  loaded.model = std::move(*model);
  if (Status status = loaded.model->bindWeights(weights, engramFile); !status)
    return status;
  Result<std::unique_ptr<Device>> opened =
      Device::open(device, loaded.model->module());
  if (!opened)
    return opened.status();
  loaded.pool = std::make_unique<ThreadPool>(threads);
  Result<std::unique_ptr<ModelRunner>> runner =
      ModelRunner::create(*loaded.model, *loaded.pool, std::move(*opened));
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
  Result<Session> session = Session::create(
      runner.model().module(), /*index=*/0, runner.executor().device());
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

Status RandomSequence::read(int64_t count, Prefill prefill) {
  return read(randomTokens(random, count, vocab()), prefill);
}

Status RandomSequence::read(const std::vector<int32_t> &ids, Prefill prefill) {
  for (size_t next = 0; next < ids.size();) {
    size_t end = std::min(ids.size(), next + size_t(kChunk));
    Status status =
        prefill == Prefill::Full
            ? forward({&ids[next], &ids[end]}, end == ids.size())
            : runner.prompt({{&sessions.front(), &ids[next],
                              int64_t(end - next), end == ids.size()}},
                            prefill);
    if (!status)
      return status;
    next = end;
  }
  return prefill == Prefill::Full || ids.empty() ? Status() : checkOutputs();
}

Status RandomSequence::pretend(int64_t count) {
  if (Status status = read(kChunk); !status)
    return status;
  Session &session = sessions.front();
  const dsf_module &module = runner.model().module();
  for (int64_t i = 0; i < module.state_count; ++i) {
    const dsf_state &plane = module.states[i];
    if (plane.positions_per_row == 0)
      continue;
    char *rows = session.plane(plane);
    int64_t have = usedRows(plane, kChunk) * plane.row_bytes,
            wanted = usedRows(plane, count) * plane.row_bytes;
    for (int64_t done = have; done < wanted; done += have)
      std::memcpy(rows + done, rows, size_t(std::min(have, wanted - done)));
  }
  session.append(randomTokens(random, count - kChunk, vocab()).data(),
                 count - kChunk);
  return {};
}

void RandomSequence::skip(int64_t count) {
  sessions.front().append(randomTokens(random, count, vocab()).data(), count);
}

Status RandomSequence::fork(int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    Result<Session> copy = sessions.front().fork(i);
    if (!copy)
      return copy.status();
    sessions.push_back(std::move(*copy));
  }
  return step(randomTokens(random, count, vocab()));
}

Status RandomSequence::repeat() {
  std::vector<int32_t> ids;
  for (Session &session : sessions) {
    ids.push_back(session.tokens().back());
    session.truncate(session.length() - 1);
  }
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
