//===- ModelRunner.cpp - Batches of rows through a model ------------------===//

#include "dsflash/Runtime/ModelRunner.h"

#include <algorithm>
#include <cassert>

using namespace dsflash;

namespace {

void setBuffer(TensorBuffers &buffers, Tensor tensor, void *data) {
  buffers[size_t(tensor)] = data;
}

} // namespace

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

void ModelRunner::startRows(const std::vector<SequenceInput> &inputs) {
  rows.clear();
  tokenIds.clear();
  lookback.clear();
  outputRows.clear();
  firstOutput.clear();
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

TensorBuffers ModelRunner::outputBuffers() {
  outputLogits.resize(outputRows.size() * size_t(vocab()));
  features.resize(size_t(rows.rows() * exec->rowElements(Tensor::Features)));
  TensorBuffers buffers{};
  setBuffer(buffers, Tensor::Tokens, tokenIds.data());
  setBuffer(buffers, Tensor::Lookback, lookback.data());
  setBuffer(buffers, Tensor::Outputs, outputRows.data());
  setBuffer(buffers, Tensor::Logits, outputLogits.data());
  setBuffer(buffers, Tensor::Features, features.data());
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
    firstOutput.push_back(int64_t(outputRows.size()));
    for (int64_t i = end - input.outputs; i < end; ++i)
      outputRows.push_back(int32_t(i));
  }
  if (rows.rows() == 0)
    return Status();
  if (Status status = run(Entry::Forward, rows, int64_t(outputRows.size()),
                          outputBuffers(), probes);
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
  rows.clear();
  rows.add(session, first, count);
  tokenIds.assign(session.tokens().begin() + first, session.tokens().end());
  lookback.clear();
  addLookback(session, first);
  features.resize(size_t(count * exec->rowElements(Tensor::Features)));
  TensorBuffers buffers{};
  setBuffer(buffers, Tensor::Tokens, tokenIds.data());
  setBuffer(buffers, Tensor::Lookback, lookback.data());
  setBuffer(buffers, Tensor::Features, features.data());
  if (Status status = run(Entry::Replay, rows, 0, buffers); !status)
    return status;
  return compiled.drafts() ? draftContext({count}) : Status();
}

/// Keeps the last `limit` rows of what waits and `count` new ones.
static void keepLast(std::vector<float> &kept, const float *rows, int64_t count,
                     int64_t width, int64_t limit) {
  int64_t added = std::min(count, limit);
  auto before = std::min(int64_t(kept.size()) / width, limit - added);
  kept.erase(kept.begin(), kept.end() - before * width);
  kept.insert(kept.end(), rows + (count - added) * width, rows + count * width);
}

Status ModelRunner::prompt(const std::vector<SequenceInput> &inputs,
                           Prefill prefill) {
  if (Status status = checkInputs(inputs); !status)
    return status;
  startRows(inputs);
  if (rows.rows() == 0)
    return Status();
  int64_t streamWidth = exec->rowElements(Tensor::Stream);
  int64_t preWidth = exec->rowElements(Tensor::Pre);
  stream.resize(size_t(rows.rows() * streamWidth));
  pre.resize(size_t(rows.rows() * preWidth));
  TensorBuffers buffers{};
  setBuffer(buffers, Tensor::Tokens, tokenIds.data());
  setBuffer(buffers, Tensor::Lookback, lookback.data());
  setBuffer(buffers, Tensor::Stream, stream.data());
  setBuffer(buffers, Tensor::Pre, pre.data());
  if (Status status = run(Entry::Prompt, rows, 0, buffers); !status)
    return status;

  int64_t limit = exec->lastRows(
      prefill == Prefill::Bounded ? Entry::BoundedTail : Entry::Tail);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SequenceInput &input = inputs[i];
    Session::Boundary &boundary = input.session->boundary();
    int64_t first = rows.extents[2 * i];
    keepLast(boundary.stream, stream.data() + first * streamWidth, input.count,
             streamWidth, limit);
    keepLast(boundary.pre, pre.data() + first * preWidth, input.count, preWidth,
             limit);
    boundary.rows = std::min(boundary.rows + input.count, limit);
    input.session->append(input.tokens, input.count);
  }
  return Status();
}

Status ModelRunner::tail(const std::vector<Session *> &sessions,
                         Prefill prefill) {
  rows.clear();
  tokenIds.clear();
  lookback.clear();
  outputRows.clear();
  firstOutput.clear();
  stream.clear();
  pre.clear();
  for (Session *session : sessions) {
    const Session::Boundary &boundary = session->boundary();
    int64_t first = session->length() - boundary.rows;
    rows.add(*session, first, boundary.rows);
    tokenIds.insert(tokenIds.end(), session->tokens().begin() + first,
                    session->tokens().end());
    addLookback(*session, first);
    stream.insert(stream.end(), boundary.stream.begin(), boundary.stream.end());
    pre.insert(pre.end(), boundary.pre.begin(), boundary.pre.end());
    firstOutput.push_back(int64_t(outputRows.size()));
    outputRows.push_back(int32_t(outputRows.size()));
  }
  if (rows.rows() == 0)
    return Status();
  TensorBuffers buffers = outputBuffers();
  setBuffer(buffers, Tensor::Stream, stream.data());
  setBuffer(buffers, Tensor::Pre, pre.data());
  // Less than a window behind earlier positions: those are in the rings.
  int64_t window = exec->lastRows(Entry::BoundedTail);
  bool bounded =
      prefill == Prefill::Bounded &&
      std::all_of(sessions.begin(), sessions.end(),
                  [&](const Session *session) {
                    int64_t waiting = session->boundary().rows;
                    return waiting >= window || waiting == session->length();
                  });
  Entry entry = bounded ? Entry::BoundedTail : Entry::Tail;
  if (Status status = run(entry, rows, int64_t(outputRows.size()), buffers);
      !status)
    return status;
  for (Session *session : sessions)
    session->boundary() = {};
  return Status();
}

const float *ModelRunner::logits(size_t input, int64_t output) const {
  return outputLogits.data() + (firstOutput[input] + output) * vocab();
}

Status ModelRunner::draftContext(const std::vector<int64_t> &accepted) {
  int64_t width = exec->rowElements(Tensor::Features);
  contextRows.clear();
  contextFeatures.clear();
  for (size_t i = 0; i < accepted.size(); ++i) {
    Session &session = *rows.sessions[i];
    int64_t position = session.length() - accepted[i];
    contextRows.add(session, position, accepted[i]);
    int64_t start = rows.extents[2 * i];
    int64_t row = start + position - rows.position[size_t(start)];
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
