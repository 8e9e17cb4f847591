//===- ModelRunnerPrompts.cpp - Prompts in phases -------------------------===//
//
// The decoder sees a prompt's last rows in calls of a chunk each, the oldest
// rows first, so that its buffers are no larger than those of the encoder. The
// last chunk shares its call with the tails of others.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Runtime/ModelRunner.h"

using namespace dsflash;

/// Keeps the last `limit` rows of the last `waiting` and `count` new ones.
static void keepLast(std::vector<float> &kept, int64_t waiting,
                     const float *rows, int64_t count, int64_t width,
                     int64_t limit) {
  int64_t added = std::min(count, limit);
  int64_t before = std::min(waiting, limit - added);
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

  int64_t behindOne = exec->lastRows(
      prefill == Prefill::Bounded ? Entry::BoundedTail : Entry::Tail);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SequenceInput &input = inputs[i];
    Session::Boundary &boundary = input.session->boundary();
    int64_t first = rows.extents[2 * i];
    int64_t limit = behindOne + std::max<int64_t>(input.outputs, 1) - 1;
    keepLast(boundary.stream, boundary.rows,
             stream.data() + first * streamWidth, input.count, streamWidth,
             limit);
    keepLast(boundary.pre, boundary.rows, pre.data() + first * preWidth,
             input.count, preWidth, limit);
    boundary.rows = std::min(boundary.rows + input.count, limit);
    input.session->append(input.tokens, input.count);
  }
  return tail(inputs, prefill);
}

Entry ModelRunner::tailOf(const SequenceInput &input, Prefill prefill) const {
  // Less than a window behind earlier positions: those are in the rings.
  int64_t waiting = input.session->boundary().rows;
  bool bounded =
      prefill == Prefill::Bounded &&
      (waiting == input.session->length() ||
       waiting >= exec->lastRows(Entry::BoundedTail) + input.outputs - 1);
  return bounded ? Entry::BoundedTail : Entry::Tail;
}

Status ModelRunner::tail(const std::vector<SequenceInput> &inputs,
                         Prefill prefill) {
  TailInputs exact, bounded;
  int64_t callsBehind = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SequenceInput &input = inputs[i];
    if (input.outputs == 0)
      continue;
    if (tailOf(input, prefill) == Entry::BoundedTail) {
      bounded.push_back(i);
      continue;
    }
    exact.push_back(i);
    int64_t waiting = input.session->boundary().rows;
    callsBehind = std::max(callsBehind, (waiting - 1) / tailRows(input));
  }
  placeResults(inputs, {&exact, &bounded});
  for (; !exact.empty() && callsBehind >= 0; --callsBehind)
    if (Status status = runTail(Entry::Tail, inputs, exact, callsBehind);
        !status)
      return status;
  return bounded.empty() ? Status()
                         : runTail(Entry::BoundedTail, inputs, bounded, 0);
}

void ModelRunner::placeResults(
    const std::vector<SequenceInput> &inputs,
    std::initializer_list<const TailInputs *> batches) {
  results.assign(inputs.size(), {});
  int64_t endRow = 0, outputs = 0;
  for (const TailInputs *batch : batches)
    for (size_t i : *batch) {
      const SequenceInput &input = inputs[i];
      int64_t count =
          std::min(input.session->boundary().rows,
                   compiled.module().sliding_window + input.outputs - 1);
      endRow += count;
      results[i] = {input.session->length(), endRow, outputs, count,
                    input.session};
      outputs += input.outputs;
    }
  resizeResults(endRow, outputs);
}

Status ModelRunner::runTail(Entry entry,
                            const std::vector<SequenceInput> &inputs,
                            const TailInputs &batch, int64_t callsBehind) {
  TailInputs called = startTail(inputs, batch, callsBehind);
  tailFeatures.resize(
      size_t(rows.rows() * exec->rowElements(Tensor::Features)));
  TensorBuffers buffers =
      outputBuffers(results[batch.front()].firstOutput, tailFeatures);
  setBuffer(
      buffers, Tensor::Stream,
      waitingRows(entry, Tensor::Stream, &Session::Boundary::stream, stream));
  setBuffer(buffers, Tensor::Pre,
            waitingRows(entry, Tensor::Pre, &Session::Boundary::pre, pre));
  setBuffer(buffers, Tensor::Wanted, wanted.data());
  Status status = run(entry, rows, int64_t(outputRows.size()), buffers);
  if (status)
    finishTail(called);
  return status;
}

ModelRunner::TailInputs
ModelRunner::startTail(const std::vector<SequenceInput> &inputs,
                       const TailInputs &batch, int64_t callsBehind) {
  clearRows();
  wanted.clear();
  TailInputs called;
  for (size_t i : batch) {
    const SequenceInput &input = inputs[i];
    Session &session = *input.session;
    int64_t waiting = session.boundary().rows;
    int64_t behind = std::min(waiting, callsBehind * tailRows(input));
    if (behind == waiting)
      continue;
    called.push_back(i);
    int64_t first = session.length() - waiting;
    rows.add(session, first, waiting - behind);
    tokenIds.insert(tokenIds.end(), session.tokens().begin() + first,
                    session.tokens().end() - behind);
    addLookback(session, first);
    wanted.push_back(int32_t(input.outputs - behind));
    for (int64_t output = 0; behind == 0 && output < input.outputs; ++output)
      outputRows.push_back(int32_t(outputRows.size()));
  }
  return called;
}

float *ModelRunner::waitingRows(Entry entry, Tensor tensor,
                                std::vector<float> Session::Boundary::*waiting,
                                std::vector<float> &gathered) {
  int64_t width = exec->rowElements(tensor);
  auto getFirst = [&](Session &session) {
    Session::Boundary &boundary = session.boundary();
    std::vector<float> &kept = boundary.*waiting;
    return kept.data() + (int64_t(kept.size()) - boundary.rows * width);
  };
  if (rows.sessions.size() == 1 && !exec->writes(entry, tensor))
    return getFirst(*rows.sessions.front());
  gathered.clear();
  for (size_t i = 0; i < rows.sessions.size(); ++i) {
    const float *first = getFirst(*rows.sessions[i]);
    gathered.insert(gathered.end(), first,
                    first + rows.extents[2 * i + 1] * width);
  }
  return gathered.data();
}

void ModelRunner::finishTail(const TailInputs &called) {
  int64_t width = exec->rowElements(Tensor::Features);
  for (size_t i = 0; i < called.size(); ++i) {
    const InputResults &result = results[called[i]];
    int64_t count = rows.extents[2 * i + 1];
    Session::Boundary &boundary = result.session->boundary();
    boundary.rows -= count;
    int64_t kept =
        std::clamp<int64_t>(result.features - boundary.rows, 0, count);
    auto end = tailFeatures.begin() + (rows.extents[2 * i] + count) * width;
    std::copy(end - kept * width, end,
              features.begin() +
                  (result.endRow - boundary.rows - kept) * width);
    if (boundary.rows == 0)
      boundary = {};
  }
}
