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
                                      const std::string &weights, int threads,
                                      const std::string &device) {
  LoadedModel loaded;
  Result<std::unique_ptr<Model>> model = Model::open(path);
  if (!model)
    return model.status();
  loaded.model = std::move(*model);
  if (Status status = loaded.model->bindWeights(weights); !status)
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
      id = int32_t(random() % uint64_t(vocab()));
    left -= int64_t(ids.size());
    if (Status status = forward(ids, left == 0); !status)
      return status;
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
