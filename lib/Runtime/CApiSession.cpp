//===- CApiSession.cpp - A sequence of the C API --------------------------===//

#include "CApiSession.h"

#include "dsflash/Runtime/SessionFile.h"

#include <algorithm>

using namespace dsflash;

dsf_status dsf_session::feed(const int32_t *ids, size_t count, bool more) {
  const dsf_module &module = model->module();
  if (count > size_t(module.max_positions - length()))
    return fail(DSF_ERROR_INPUT,
                "session: " + std::to_string(size_t(length()) + count) +
                    " positions, the model has at most " +
                    std::to_string(module.max_positions));
  if (Status faults = checkTokens("session", ids, int64_t(count), length(),
                                  module.vocab_size);
      !faults)
    return fail(DSF_ERROR_INPUT, faults);
  waiting.insert(waiting.end(), ids, ids + count);
  if (waiting.empty())
    return DSF_OK;
  hasLogits = false;
  Status status = compute(more);
  if (status && !more)
    status = checkLogits("session, position " + std::to_string(length() - 1),
                         runner->logits(0, 0), module.vocab_size);
  if (!status) {
    clear();
    return fail(DSF_ERROR_RUN, status);
  }
  hasLogits = !more;
  return DSF_OK;
}

Status dsf_session::compute(bool more) {
  size_t ready = waiting.size() - (more ? 1 : 0);
  // A single token is a decode step, unless the tail of a prompt is due.
  bool phases = runner->hasPhases() &&
                (more || ready > 1 || state.session.boundary().rows > 0);
  for (size_t done = 0; done < ready;) {
    size_t count = std::min(ready - done, size_t(kPromptChunk));
    bool last = done + count == ready;
    SequenceInput input{&state.session, waiting.data() + done, int64_t(count),
                        int64_t(last && !more)};
    Status status = phases ? runner->prompt({input}, Prefill::Exact)
                           : runner->forward({input});
    if (status && drafts > 0)
      status = runner->draftContext({runner->featureRows(0)});
    if (!status)
      return status;
    done += count;
  }
  waiting.erase(waiting.begin(), waiting.begin() + int64_t(ready));
  return Status();
}

dsf_status dsf_session::generate(std::vector<int32_t> &ids) {
  const dsf_module &module = model->module();
  if (length() == module.max_positions)
    return fail(DSF_ERROR_INPUT, "session: the model has at most " +
                                     std::to_string(module.max_positions) +
                                     " positions");
  if (hasLogits) {
    ids = {state.sampler.sample(runner->logits(0, 0), module.vocab_size)};
    waiting = ids;
    hasLogits = false;
    return DSF_OK;
  }
  if (waiting.size() != 1 || state.session.boundary().rows > 0)
    return fail(DSF_ERROR_ARGUMENT,
                "dsf_session_generate: no logits; finish the tokens with "
                "dsf_session_feed(session, NULL, 0, 0)");
  if (Status status = decode(); !status) {
    clear();
    return fail(DSF_ERROR_RUN, status);
  }
  ids = state.gained;
  return DSF_OK;
}

Status dsf_session::decode() {
  if (!loop)
    loop.emplace(*runner, drafts,
                 schedulesDrafts ? secondsNow : DraftingLoop::Clock());
  state.last = waiting[0];
  int64_t before = length();
  if (Status status = loop->step({&state}); !status)
    return status;
  int64_t room = model->module().max_positions - before;
  auto last =
      state.gained.begin() + std::min(room, int64_t(state.gained.size()));
  auto end = std::find(state.gained.begin(), last, model->manifest().eosToken);
  state.gained.erase(end == last ? last : end + 1, state.gained.end());
  state.session.truncate(before + int64_t(state.gained.size()) - 1);
  waiting = {state.gained.back()};
  return Status();
}

Status dsf_session::truncate(int64_t newLength) {
  std::vector<int32_t> tokens = state.session.tokens();
  tokens.insert(tokens.end(), waiting.begin(), waiting.end());
  int64_t computed = state.session.length();
  int64_t kept = std::min(computed, std::max<int64_t>(newLength - 1, 0));
  waiting.assign(tokens.begin() + kept, tokens.begin() + newLength);
  hasLogits = false;
  return kept < computed ? dropTokens(*runner, state.session, kept) : Status();
}

void dsf_session::clear() {
  state.session.truncate(0);
  waiting.clear();
  hasLogits = false;
}
