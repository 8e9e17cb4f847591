//===- ModelRunner.cpp - Batches of rows through a model ------------------===//

#include "dsflash/Runtime/ModelRunner.h"

#include <algorithm>
#include <cassert>

using namespace dsflash;

const char *dsflash::prefillName(Prefill prefill) {
  constexpr const char *kNames[] = {"full", "exact", "bounded"};
  return kNames[size_t(prefill)];
}

void RowTable::clear() {
  sequence.clear();
  position.clear();
  extents.clear();
  sessions.clear();
}

void RowTable::add(Session &session, int64_t firstPosition, int64_t count) {
  auto index = int32_t(sessions.size());
  sessions.push_back(&session);
  extents.push_back(int32_t(rows()));
  extents.push_back(int32_t(count));
  for (int64_t i = 0; i < count; ++i) {
    sequence.push_back(index);
    position.push_back(int32_t(firstPosition + i));
  }
}

Result<std::unique_ptr<ModelRunner>>
ModelRunner::create(const Model &model, ThreadPool &pool,
                    std::unique_ptr<Device> device) {
  Result<std::unique_ptr<Executor>> exec =
      Executor::create(model, pool, std::move(device));
  if (!exec)
    return exec.status();
  std::unique_ptr<ModelRunner> runner(new ModelRunner(model, std::move(*exec)));
  // A device gets its rows from the store even if the host holds them.
  if (model.module().look_back > 0 &&
      (runner->exec->deviceModel() || !model.weights()->holdsEngramTables())) {
    Result<std::unique_ptr<EngramStore>> store = EngramStore::create(model);
    if (!store)
      return store.status();
    runner->engram = std::move(*store);
  }
  return runner;
}

Status
ModelRunner::checkInputs(const std::vector<SequenceInput> &inputs) const {
  const dsf_module &module = compiled.module();
  Status faults;
  for (const SequenceInput &input : inputs) {
    std::string where = "sequence " + std::to_string(input.session->index());
    faults.add(checkTokens(where, input.tokens, input.count,
                           input.session->length(), module.vocab_size));
    int64_t length = input.session->length() + input.count;
    if (length > module.max_positions)
      faults.add(where, std::to_string(length) +
                            " positions, the model has at most " +
                            std::to_string(module.max_positions));
  }
  return faults;
}

void ModelRunner::addLookback(const Session &session, int64_t firstPosition) {
  for (int64_t back = 1; back <= compiled.module().look_back; ++back) {
    int64_t position = firstPosition - back;
    lookback.push_back(position < 0 ? -1 : session.tokens()[size_t(position)]);
  }
}

void ModelRunner::clearRows() {
  rows.clear();
  tokenIds.clear();
  lookback.clear();
  outputRows.clear();
}

void ModelRunner::startRows(const std::vector<SequenceInput> &inputs) {
  clearRows();
  results.clear();
  for (const SequenceInput &input : inputs) {
    rows.add(*input.session, input.session->length(), input.count);
    tokenIds.insert(tokenIds.end(), input.tokens, input.tokens + input.count);
    addLookback(*input.session, input.session->length());
  }
}

Status ModelRunner::run(Entry entry, RowTable &table, int64_t outputs,
                        TensorBuffers buffers, ProbeObserver *observer) {
  setBuffer(buffers, Tensor::Sequence, table.sequence.data());
  setBuffer(buffers, Tensor::Position, table.position.data());
  setBuffer(buffers, Tensor::Extents, table.extents.data());
  states.clear();
  for (size_t i = 0; i < table.sessions.size(); ++i) {
    Session &session = *table.sessions[i];
    size_t first = size_t(table.extents[2 * i]);
    int64_t count = table.extents[2 * i + 1];
    int64_t length = count ? table.position[first] + count : session.length();
    if (Status status = session.grow(length); !status)
      return status;
    states.push_back(session.state());
  }
  CallExtents extents{table.rows(), int64_t(table.sessions.size()), outputs};
  bool looksUpTokens = buffers[size_t(Tensor::Lookback)];
  AwaitRowsFunction awaitRows;
  if (engram && looksUpTokens) {
    if (Status status = engram->start(buffers, extents); !status)
      return status;
    if (DeviceModel *device = exec->deviceModel()) {
      if (Status status = engram->prefetch(*device); !status)
        return status;
    } else {
      awaitRows = [&](int64_t slot) { engram->await(slot); };
    }
  }
  ProbeFunction probe;
  if (observer)
    probe = [&](int32_t number, int64_t layer, void *data, int64_t count) {
      observer->observe(number, layer, data, count, table);
    };
  Status status = exec->run(entry, buffers, states, extents, probe, awaitRows);
  return engram && !engram->status() ? engram->status() : status;
}

void ModelRunner::resizeResults(int64_t rowCount, int64_t outputCount) {
  outputLogits.resize(size_t(outputCount * vocab()));
  features.resize(size_t(rowCount * exec->rowElements(Tensor::Features)));
}

TensorBuffers ModelRunner::outputBuffers(int64_t firstOutput,
                                         std::vector<float> &rowFeatures) {
  TensorBuffers buffers{};
  setBuffer(buffers, Tensor::Tokens, tokenIds.data());
  setBuffer(buffers, Tensor::Lookback, lookback.data());
  setBuffer(buffers, Tensor::Outputs, outputRows.data());
  setBuffer(buffers, Tensor::Logits,
            outputLogits.data() + firstOutput * vocab());
  setBuffer(buffers, Tensor::Features, rowFeatures.data());
  return buffers;
}

Status ModelRunner::forward(const std::vector<SequenceInput> &inputs) {
  Status faults = checkInputs(inputs);
  for (const SequenceInput &input : inputs)
    if (int64_t due = input.session->boundary().rows)
      faults.add("sequence " + std::to_string(input.session->index()),
                 "the decoder has not seen the last " + std::to_string(due) +
                     " positions; the tail of a prompt is due");
  if (!faults)
    return faults;
  startRows(inputs);
  int64_t end = 0;
  for (const SequenceInput &input : inputs) {
    assert(input.outputs <= input.count && "an output is a row");
    end += input.count;
    results.push_back({input.session->length() + input.count, end,
                       int64_t(outputRows.size()), input.count, input.session});
    for (int64_t i = end - input.outputs; i < end; ++i)
      outputRows.push_back(int32_t(i));
  }
  if (rows.rows() == 0)
    return Status();
  auto outputs = int64_t(outputRows.size());
  resizeResults(rows.rows(), outputs);
  if (Status status = run(Entry::Forward, rows, outputs,
                          outputBuffers(0, features), probes);
      !status)
    return status;
  if (probes)
    if (Status status = probes->status(); !status)
      return status;
  for (const SequenceInput &input : inputs)
    input.session->append(input.tokens, input.count);
  return Status();
}

Status ModelRunner::replay(Session &session) {
  int64_t count = std::min(session.length(), compiled.module().sliding_window);
  if (count == 0)
    return Status();
  int64_t first = session.length() - count;
  clearRows();
  rows.add(session, first, count);
  tokenIds.assign(session.tokens().begin() + first, session.tokens().end());
  addLookback(session, first);
  results = {{session.length(), count, 0, count, &session}};
  resizeResults(count, 0);
  TensorBuffers buffers{};
  setBuffer(buffers, Tensor::Tokens, tokenIds.data());
  setBuffer(buffers, Tensor::Lookback, lookback.data());
  setBuffer(buffers, Tensor::Features, features.data());
  if (Status status = run(Entry::Replay, rows, 0, buffers); !status)
    return status;
  return compiled.drafts() ? draftContext({count}) : Status();
}

const float *ModelRunner::logits(size_t input, int64_t output) const {
  return outputLogits.data() + (results[input].firstOutput + output) * vocab();
}

Status ModelRunner::draftContext(const std::vector<int64_t> &accepted) {
  int64_t width = exec->rowElements(Tensor::Features);
  contextRows.clear();
  contextFeatures.clear();
  for (size_t i = 0; i < accepted.size(); ++i) {
    if (accepted[i] == 0)
      continue;
    const InputResults &result = results[i];
    int64_t position = result.session->length() - accepted[i];
    contextRows.add(*result.session, position, accepted[i]);
    int64_t row = result.endRow - (result.length - position);
    auto first = features.begin() + row * width;
    contextFeatures.insert(contextFeatures.end(), first,
                           first + accepted[i] * width);
  }
  if (contextRows.rows() == 0)
    return Status();
  TensorBuffers buffers{};
  setBuffer(buffers, Tensor::Features, contextFeatures.data());
  return run(Entry::DraftContext, contextRows, 0, buffers);
}

Status ModelRunner::draft(const std::vector<Session *> &sessions,
                          const std::vector<int32_t> &tokens) {
  draftRows.clear();
  for (Session *session : sessions)
    draftRows.add(*session, session->length(), block());
  blockLogits.resize(size_t(draftRows.rows() * vocab()));
  hidden.resize(size_t(draftRows.rows() * exec->rowElements(Tensor::Hidden)));
  confidences.resize(size_t(draftRows.rows()));
  TensorBuffers buffers{};
  setBuffer(buffers, Tensor::Tokens, const_cast<int32_t *>(tokens.data()));
  setBuffer(buffers, Tensor::Logits, blockLogits.data());
  setBuffer(buffers, Tensor::Hidden, hidden.data());
  return run(Entry::Draft, draftRows, 0, buffers);
}

Status ModelRunner::markov(int64_t step, const std::vector<int32_t> &previous) {
  draftOutputs.clear();
  for (size_t i = 0; i < previous.size(); ++i)
    draftOutputs.push_back(int32_t(int64_t(i) * block() + step));
  TensorBuffers buffers{};
  setBuffer(buffers, Tensor::Previous, const_cast<int32_t *>(previous.data()));
  setBuffer(buffers, Tensor::Outputs, draftOutputs.data());
  setBuffer(buffers, Tensor::Logits, blockLogits.data());
  setBuffer(buffers, Tensor::Hidden, hidden.data());
  setBuffer(buffers, Tensor::Confidence, confidences.data());
  return run(Entry::Markov, draftRows, int64_t(previous.size()), buffers);
}

const float *ModelRunner::draftLogits(size_t block, int64_t step) const {
  return blockLogits.data() + (int64_t(block) * this->block() + step) * vocab();
}

float ModelRunner::confidence(size_t block, int64_t step) const {
  return confidences[size_t(int64_t(block) * this->block() + step)];
}
