//===- GeneratorPrompts.cpp - How the generator reads prompts -------------===//

#include "dsflash/Runtime/Generator.h"

#include <algorithm>

using namespace dsflash;

/// Tokens that all prompts begin with; at least one is left of each.
static int64_t sharedPrefix(const std::vector<std::vector<int32_t>> &prompts) {
  const std::vector<int32_t> &first = prompts.front();
  size_t length = first.size() - 1;
  for (const std::vector<int32_t> &prompt : prompts) {
    length = std::min(length, prompt.size() - 1);
    auto end = first.begin() + int64_t(length);
    length = size_t(std::mismatch(first.begin(), end, prompt.begin()).first -
                    first.begin());
  }
  return int64_t(length);
}

Status Generator::readSharedPrefix() {
  if (sequences.size() < 2)
    return Status();
  std::vector<std::vector<int32_t>> prompts;
  for (const Sequence &sequence : sequences)
    prompts.push_back(sequence.result.promptTokens);
  int64_t shared = sharedPrefix(prompts);
  Sequence &first = sequences.front();
  while (first.promptRead < shared && !isInterrupted())
    if (Status status = advance({&first}, shared - first.promptRead, {});
        !status)
      return status;
  if (first.promptRead == 0)
    return Status();
  for (size_t i = 1; i < sequences.size(); ++i) {
    Result<Session> session = first.state.session.fork(int64_t(i));
    if (!session)
      return session.status();
    sequences[i].state.session = std::move(*session);
    sequences[i].promptRead = first.promptRead;
    stats.reusedTokens += first.promptRead;
  }
  return Status();
}

std::vector<SequenceInput>
Generator::nextChunks(const std::vector<Sequence *> &batch,
                      int64_t limit) const {
  std::vector<SequenceInput> inputs;
  for (Sequence *sequence : batch) {
    const std::vector<int32_t> &prompt = sequence->result.promptTokens;
    int64_t left = int64_t(prompt.size()) - sequence->promptRead;
    int64_t count = std::min({left, limit, options.chunk});
    bool all = options.keepLogits && prefill() == Prefill::Full;
    int64_t outputs = all ? count : count == left;
    inputs.push_back({&sequence->state.session,
                      prompt.data() + sequence->promptRead, count, outputs});
  }
  return inputs;
}

Status Generator::finishChunk(Sequence &sequence, size_t input, int64_t count,
                              int64_t outputs) {
  SequenceResult &result = sequence.result;
  sequence.promptRead += count;
  if (options.keepLogits) {
    const float *logits = runner.logits(input, 0);
    result.promptLogits.insert(result.promptLogits.end(), logits,
                               logits + outputs * module.vocab_size);
  }
  if (!sequence.isRead())
    return Status();
  const float *logits = runner.logits(input, outputs - 1);
  const Session &session = sequence.state.session;
  if (Status status =
          checkLogits("sequence " + std::to_string(session.index()) +
                          ", position " + std::to_string(session.length() - 1),
                      logits, module.vocab_size);
      !status)
    return status;
  sequence.bestFirst = argmax(logits, module.vocab_size);
  if (roomFor(sequence) <= 0) {
    sequence.finished = true;
    return Status();
  }
  sequence.state.last =
      sequence.state.sampler.sample(logits, module.vocab_size);
  takeToken(sequence, sequence.state.last, logits);
  return Status();
}

Status Generator::traceDrafts(const std::vector<Sequence *> &batch,
                              const std::vector<int64_t> &counts) {
  // Without drafts in the steps the draft layers have not seen these rows.
  if (options.draftWidth == 0)
    if (Status status = runner.draftContext(counts); !status)
      return status;
  for (Sequence *sequence : batch) {
    Session &session = sequence->state.session;
    if (!sequence->isRead() ||
        session.length() + module.draft_block > module.max_positions)
      continue;
    Result<DraftBlock> block =
        draftGreedy(runner, session, sequence->bestFirst);
    if (!block)
      return block.status();
    trace->addDraft(session.index(), std::move(*block));
  }
  return Status();
}
