//===- Generator.h - Prompts to text ----------------------------*- C++ -*-===//
//
// Serves sequences side by side until each has met its end token, a stop text
// or its length: the prompts are read in chunks, and whoever has read its own
// generates while the others still read.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_GENERATOR_H
#define DSFLASH_RUNTIME_GENERATOR_H

#include "dsflash/Runtime/Drafting.h"
#include "dsflash/Runtime/Sampler.h"
#include "dsflash/Runtime/SessionFile.h"
#include "dsflash/Runtime/Statistics.h"
#include "dsflash/Runtime/TextStream.h"
#include "dsflash/Runtime/Trace.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

struct GenerationOptions {
  /// New tokens of each sequence, at most; also bounded by max_positions.
  int64_t maxTokens = 128;
  /// Every sequence draws from its own generator with this seed, so that it
  /// gets the text that it would get alone.
  SamplingOptions sampling;
  std::vector<std::string> stops;
  /// Stop texts count only behind this text; empty: everywhere.
  std::string stopsBehind;
  bool ignoreEos = false;
  /// Prompt positions of a sequence in one call, of its exact tail too.
  int64_t chunk = kPromptChunk;
  /// Drafts a step, at most draft_block of the model; 0: none.
  int64_t draftWidth = 0;
  /// Verify only the drafts that are worth it, by what the steps so far cost,
  /// and draft nothing if that cannot pay. Then the draws of a seed depend on
  /// the machine; greedy text does not.
  bool scheduleDrafts = false;
  /// A trace sees every layer of every token, whatever is said here.
  Prefill prefill = Prefill::Exact;
  /// Keep the logits of all computed prompt positions and generated tokens.
  bool keepLogits = false;
};

enum class FinishReason { Length, EndToken, StopText, Interrupted };
const char *finishReasonName(FinishReason reason);

struct SequenceResult {
  /// Of the first prompt token; positive behind a session that went before.
  int64_t firstPosition = 0;
  /// With the tokens that a session had waiting.
  std::vector<int32_t> promptTokens;
  /// All drawn tokens, an end token included.
  std::vector<int32_t> tokens;
  /// Empty if the model has no tokenizer.
  std::string text;
  FinishReason finish = FinishReason::Length;
  // With keepLogits, [tokens, vocab] each; of the prompt the last positions,
  // all of them with a full prefill.
  std::vector<float> promptLogits;
  std::vector<float> generatedLogits;
};

/// Called as things happen; all may be empty.
struct GenerationCallbacks {
  /// Text of a sequence that became certain, whole characters.
  std::function<void(int64_t sequence, std::string_view text)> text;
  /// A token of a sequence.
  std::function<void(int64_t sequence, int32_t token)> token;
  /// Prompt tokens read so far, of so many.
  std::function<void(int64_t done, int64_t total)> progress;
  /// Asked between calls of the model; true ends all sequences as they are.
  std::function<bool()> interrupted;
};

class Generator {
public:
  /// `trace` may be null; it sees the prompts.
  Generator(ModelRunner &runner, const GenerationOptions &options,
            GenerationCallbacks callbacks = {}, Trace *trace = nullptr);

  /// Lets every sequence of the next run go on from a fork of this one.
  void continueFrom(Continuation start) { before = std::move(start); }

  /// Serves all prompts as one batch. What all of several prompts begin with
  /// is computed once. A prompt may be empty behind a session with waiting
  /// tokens. Errors: options that the model cannot
  /// serve; an empty prompt, an id outside the vocabulary or a prompt longer
  /// than max_positions, all listed before anything is run; logits without a
  /// token; a failure of compiled code.
  Result<std::vector<SequenceResult>>
  run(const std::vector<std::vector<int32_t>> &prompts);

  /// A sequence of the last run, to be saved or continued.
  Continuation takeSequence(size_t index);

  /// Times and counts of the last run; loadSeconds is the caller's.
  const Statistics &statistics() const { return stats; }

private:
  struct Sequence {
    DecodeState state;
    TextStream stream;
    SequenceResult result;
    /// After a run: tokens that it did not compute.
    std::vector<int32_t> waiting;
    int64_t promptRead = 0;
    /// Best token behind the prompt.
    int32_t bestFirst = 0;
    bool finished = false;

    bool isRead() const {
      return promptRead == int64_t(result.promptTokens.size());
    }
  };

  Status checkPrompts(const std::vector<std::vector<int32_t>> &prompts) const;
  Status createSequences(const std::vector<std::vector<int32_t>> &prompts);
  Result<Session> createSession(int64_t index) const;
  /// Computes what all prompts begin with in the first sequence and forks it.
  Status readSharedPrefix();
  /// Advances all sequences until they are finished.
  Status serve();
  /// How the prompts of this run are read.
  Prefill prefill() const {
    return runner.hasPhases() && !trace ? options.prefill : Prefill::Full;
  }
  /// The next chunk of up to `limit` tokens of each prompt that is being read
  /// and a decode step of the others, in one call.
  Status advance(const std::vector<Sequence *> &reading, int64_t limit,
                 const std::vector<Sequence *> &decoding);
  /// The next tokens of each prompt.
  std::vector<SequenceInput> nextChunks(const std::vector<Sequence *> &batch,
                                        int64_t limit) const;
  /// Takes the results of a chunk; draws the first token behind a whole prompt.
  Status finishChunk(Sequence &sequence, size_t input, int64_t count,
                     int64_t outputs);
  /// After a chunk of so many tokens: the first draft block behind each prompt
  /// that is read.
  Status traceDrafts(const std::vector<Sequence *> &batch,
                     const std::vector<int64_t> &counts);
  void takeGained(Sequence &sequence);
  void noteProgress();
  bool isInterrupted() const {
    return callbacks.interrupted && callbacks.interrupted();
  }
  void end(Sequence &sequence, FinishReason reason);
  void takeToken(Sequence &sequence, int32_t token, const float *logits);
  void emit(Sequence &sequence, const std::string &text);
  /// Positions of all tokens of a sequence.
  static int64_t lengthOf(const Sequence &sequence);
  static std::vector<int32_t> uncomputed(const Sequence &sequence);
  int64_t roomFor(const Sequence &sequence) const;
  void finishStatistics();

  ModelRunner &runner;
  GenerationOptions options;
  GenerationCallbacks callbacks;
  Trace *trace;
  const dsf_module &module;
  std::optional<DraftingLoop> loop;
  std::optional<Continuation> before;
  std::vector<Sequence> sequences;
  Statistics stats;
  /// When the run and its first decode step began.
  double started = 0, decodeStarted = 0;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_GENERATOR_H
