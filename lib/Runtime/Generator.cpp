//===- Generator.cpp - Prompts to text ------------------------------------===//

#include "dsflash/Runtime/Generator.h"

#include <algorithm>
#include <numeric>

using namespace dsflash;

const char *dsflash::finishReasonName(FinishReason reason) {
  switch (reason) {
  case FinishReason::Length:
    return "length";
  case FinishReason::EndToken:
    return "end";
  case FinishReason::StopText:
    return "stop";
  case FinishReason::Interrupted:
    return "interrupted";
  }
  return "";
}

Generator::Generator(ModelRunner &runner, const GenerationOptions &options,
                     GenerationCallbacks callbacks, Trace *trace)
    : runner(runner), options(options), callbacks(std::move(callbacks)),
      trace(trace), module(runner.model().module()) {}

Status Generator::checkPrompts(
    const std::vector<std::vector<int32_t>> &prompts) const {
  Status faults;
  if (options.draftWidth > module.draft_block)
    faults.add("draft", module.draft_block == 0
                            ? "the model has no draft layers"
                            : std::to_string(options.draftWidth) +
                                  " tokens a step, the model drafts at most " +
                                  std::to_string(module.draft_block));
  if (options.prefill == Prefill::Bounded && (trace || !runner.hasPhases()))
    faults.add("prefill", trace ? "a trace needs every layer of every token; "
                                  "use full or exact"
                                : "the model has no decoder to bound; use "
                                  "full or exact");
  if (options.chunk < 1)
    faults.add("chunk", "must be at least 1");
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::string where = "prompt " + std::to_string(i);
    auto count = int64_t(prompts[i].size());
    int64_t length = count + (before ? before->length() : 0);
    if (count == 0 && (!before || before->waiting.empty()))
      faults.add(where, "no tokens");
    if (length > module.max_positions)
      faults.add(where,
                 std::to_string(length) + " tokens, the model has at most " +
                     std::to_string(module.max_positions) + " positions");
    faults.add(checkTokens(where, prompts[i].data(), count, length - count,
                           module.vocab_size));
  }
  return faults;
}

Status
Generator::createSequences(const std::vector<std::vector<int32_t>> &prompts) {
  sequences.clear();
  for (const std::vector<int32_t> &prompt : prompts) {
    Result<Session> session = createSession(int64_t(sequences.size()));
    if (!session)
      return session.status();
    SequenceResult result;
    result.firstPosition = session->length();
    if (before)
      result.promptTokens = before->waiting;
    result.promptTokens.insert(result.promptTokens.end(), prompt.begin(),
                               prompt.end());
    stats.reusedTokens += result.firstPosition;
    stats.promptTokens +=
        result.firstPosition + int64_t(result.promptTokens.size());
    sequences.push_back(
        {{std::move(*session), Sampler(options.sampling), 0, {}, {}},
         TextStream(options.stops, options.stopsBehind),
         std::move(result),
         {}});
  }
  before.reset();
  return Status();
}

Result<Session> Generator::createSession(int64_t index) const {
  return before ? before->session.fork(index)
                : Session::create(module, index, runner.executor().device());
}

Result<std::vector<SequenceResult>>
Generator::run(const std::vector<std::vector<int32_t>> &prompts) {
  stats = Statistics();
  if (Status status = checkPrompts(prompts); !status)
    return status;
  if (Status status = createSequences(prompts); !status)
    return status;

  loop.emplace(runner, options.draftWidth,
               options.scheduleDrafts ? secondsNow : DraftingLoop::Clock());
  started = secondsNow();
  decodeStarted = 0;
  // Logits and observations are wanted of every position of every sequence.
  Status status;
  if (!options.keepLogits && !trace)
    status = readSharedPrefix();
  if (status)
    status = serve();
  runner.setObserver(nullptr);
  if (!status)
    return status;
  finishStatistics();

  std::vector<SequenceResult> results;
  for (Sequence &sequence : sequences) {
    sequence.waiting = uncomputed(sequence);
    results.push_back(std::move(sequence.result));
  }
  return results;
}

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

Status Generator::serve() {
  while (true) {
    std::vector<Sequence *> reading, decoding;
    for (Sequence &sequence : sequences)
      if (!sequence.finished)
        (sequence.isRead() ? decoding : reading).push_back(&sequence);
    if (reading.empty() && decoding.empty())
      return Status();
    if (isInterrupted()) {
      for (Sequence &sequence : sequences)
        if (!sequence.finished)
          end(sequence, FinishReason::Interrupted);
      return Status();
    }
    // A trace sees prompts alone.
    if (trace && !reading.empty())
      decoding.clear();
    if (Status status = advance(reading, options.chunk, decoding); !status)
      return status;
  }
}

Status Generator::advance(const std::vector<Sequence *> &reading, int64_t limit,
                          const std::vector<Sequence *> &decoding) {
  std::vector<SequenceInput> chunks = nextChunks(reading, limit);
  std::vector<DecodeState *> states;
  for (Sequence *sequence : decoding)
    states.push_back(&sequence->state);
  if (!states.empty() && decodeStarted == 0)
    decodeStarted = secondsNow();
  std::optional<TimelineScope> span;
  if (!chunks.empty())
    span.emplace(runner.timeline(), "prompt chunk", "sequences",
                 int64_t(chunks.size()));
  runner.setObserver(chunks.empty() ? nullptr : trace);
  if (readsInPhases()) {
    if (Status status = readInPhases(reading, chunks); !status)
      return status;
    chunks.clear();
  }
  if (Status status = loop->step(states, chunks); !status)
    return status;
  std::vector<int64_t> counts;
  for (size_t i = 0; i < chunks.size(); ++i) {
    counts.push_back(chunks[i].count);
    if (Status status = finishChunk(*reading[i], states.size() + i,
                                    chunks[i].count, chunks[i].outputs);
        !status)
      return status;
  }
  for (Sequence *sequence : decoding)
    takeGained(*sequence);
  if (!reading.empty())
    noteProgress();
  return trace && runner.model().drafts() ? traceDrafts(reading, counts)
                                          : Status();
}

void Generator::noteProgress() {
  stats.promptSeconds = secondsNow() - started;
  if (!callbacks.progress)
    return;
  int64_t done = 0;
  for (const Sequence &sequence : sequences)
    done += sequence.result.firstPosition + sequence.promptRead;
  callbacks.progress(done, stats.promptTokens);
}

std::vector<SequenceInput>
Generator::nextChunks(const std::vector<Sequence *> &batch,
                      int64_t limit) const {
  std::vector<SequenceInput> inputs;
  for (Sequence *sequence : batch) {
    const std::vector<int32_t> &prompt = sequence->result.promptTokens;
    int64_t left = int64_t(prompt.size()) - sequence->promptRead;
    int64_t count = std::min({left, limit, options.chunk});
    int64_t outputs = options.keepLogits ? count : count == left;
    inputs.push_back({&sequence->state.session,
                      prompt.data() + sequence->promptRead, count, outputs});
  }
  return inputs;
}

Status Generator::readInPhases(const std::vector<Sequence *> &batch,
                               const std::vector<SequenceInput> &inputs) {
  if (inputs.empty())
    return Status();
  if (Status status = runner.prompt(inputs, options.prefill); !status)
    return status;
  std::vector<Sequence *> whole;
  std::vector<Session *> sessions;
  std::vector<int64_t> counts;
  for (size_t i = 0; i < batch.size(); ++i) {
    Sequence &sequence = *batch[i];
    int64_t read = sequence.promptRead + inputs[i].count;
    if (read < int64_t(sequence.result.promptTokens.size())) {
      sequence.promptRead = read;
      continue;
    }
    whole.push_back(&sequence);
    sessions.push_back(&sequence.state.session);
    counts.push_back(std::min(sessions.back()->boundary().rows,
                              runner.model().module().sliding_window));
  }
  if (Status status = runner.tail(sessions, options.prefill); !status)
    return status;
  if (options.draftWidth > 0)
    if (Status status = runner.draftContext(counts); !status)
      return status;
  for (size_t i = 0; i < whole.size(); ++i) {
    int64_t left =
        int64_t(whole[i]->result.promptTokens.size()) - whole[i]->promptRead;
    if (Status status = finishChunk(*whole[i], i, left, /*outputs=*/1); !status)
      return status;
  }
  return Status();
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

void Generator::takeGained(Sequence &sequence) {
  DecodeState &state = sequence.state;
  for (size_t i = 0; i < state.gained.size() && !sequence.finished; ++i)
    takeToken(sequence, state.gained[i], state.gainedLogits[i]);
  if (sequence.finished)
    state.session.truncate(lengthOf(sequence) - 1);
}

void Generator::takeToken(Sequence &sequence, int32_t token,
                          const float *logits) {
  SequenceResult &result = sequence.result;
  int64_t index = sequence.state.session.index();
  result.tokens.push_back(token);
  if (++stats.generatedTokens == 1)
    stats.timeToFirstToken = secondsNow() - started;
  if (options.keepLogits)
    result.generatedLogits.insert(result.generatedLogits.end(), logits,
                                  logits + module.vocab_size);
  if (callbacks.token)
    callbacks.token(index, token);

  const Tokenizer *tokenizer = runner.model().tokenizer();
  bool ends = token == runner.model().manifest().eosToken;
  if (tokenizer && !ends && token < tokenizer->vocabSize())
    emit(sequence, sequence.stream.feed(tokenizer->bytes(token)));

  if (sequence.stream.stopped())
    end(sequence, FinishReason::StopText);
  else if (ends && !options.ignoreEos)
    end(sequence, FinishReason::EndToken);
  else if (roomFor(sequence) <= 0)
    end(sequence, FinishReason::Length);
}

void Generator::end(Sequence &sequence, FinishReason reason) {
  sequence.result.finish = reason;
  sequence.finished = true;
  emit(sequence, sequence.stream.finish());
}

void Generator::emit(Sequence &sequence, const std::string &text) {
  if (text.empty())
    return;
  sequence.result.text += text;
  if (callbacks.text)
    callbacks.text(sequence.state.session.index(), text);
}

int64_t Generator::lengthOf(const Sequence &sequence) {
  const SequenceResult &result = sequence.result;
  return result.firstPosition +
         int64_t(result.promptTokens.size() + result.tokens.size());
}

std::vector<int32_t> Generator::uncomputed(const Sequence &sequence) {
  std::vector<int32_t> tokens = sequence.result.promptTokens;
  tokens.insert(tokens.end(), sequence.result.tokens.begin(),
                sequence.result.tokens.end());
  int64_t computed =
      sequence.state.session.length() - sequence.result.firstPosition;
  return {tokens.begin() + computed, tokens.end()};
}

int64_t Generator::roomFor(const Sequence &sequence) const {
  // The last token drawn is never computed.
  return std::min(options.maxTokens - int64_t(sequence.result.tokens.size()),
                  module.max_positions + 1 - lengthOf(sequence));
}

Continuation Generator::takeSequence(size_t index) {
  Sequence &sequence = sequences[index];
  return {std::move(sequence.state.session), std::move(sequence.waiting)};
}

void Generator::finishStatistics() {
  const Model &model = runner.model();
  stats.steps = loop->counts();
  if (stats.generatedTokens == 0)
    stats.timeToFirstToken = stats.promptSeconds;
  if (decodeStarted > 0)
    stats.generateSeconds = secondsNow() - decodeStarted;
  stats.kvBytesPerToken = model.kvBytesPerToken();
  for (const Sequence &sequence : sequences)
    stats.kvBytes += model.kvBytes(sequence.state.session.length());
  stats.peakMemoryBytes = peakMemoryBytes();
  stats.weightBytesRead = model.weights()->bytesRead();
}
