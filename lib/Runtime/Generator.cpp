//===- Generator.cpp - Prompts to text ------------------------------------===//

#include "dsflash/Runtime/Generator.h"

#include <algorithm>

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

  runner.setChunk(options.chunk);
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
  if (Status status = loop->step(states, chunks, prefill()); !status)
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
