//===- Drafting.h - Decode steps with DSpark drafts -------------*- C++ -*-===//
//
// A step proposes tokens with the draft layers, verifies them in one forward
// call and keeps those that plain decoding could have drawn (SPEC section 3,
// DSpark). Without drafts it is a plain decode step.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_DRAFTING_H
#define DSFLASH_RUNTIME_DRAFTING_H

#include "dsflash/Runtime/DraftSchedule.h"
#include "dsflash/Runtime/ModelRunner.h"
#include "dsflash/Runtime/Sampler.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace dsflash {

/// A sequence that is being generated.
struct DecodeState {
  Session session;
  Sampler sampler;
  /// Drawn, but not computed yet.
  int32_t last = 0;

  /// Tokens that the last step gained, and the logits [vocab] that each was
  /// drawn from; these live until the next call of the runner.
  std::vector<int32_t> gained;
  std::vector<const float *> gainedLogits;
};

/// What the steps of all sequences gained, before an end token or a limit cut
/// it.
struct StepCounts {
  int64_t steps = 0;
  int64_t gained = 0;
  /// Steps by number of accepted drafts, 0 to the draft width.
  std::vector<int64_t> accepted;
};

/// Drafts of one block, as the draft layers see them.
struct DraftBlock {
  std::vector<int32_t> tokens;
  std::vector<float> logits; ///< [tokens, vocab]
  std::vector<float> confidence;
};

/// A full block of greedy drafts behind a session whose next token is `token`.
Result<DraftBlock> draftGreedy(ModelRunner &runner, Session &session,
                               int32_t token);

/// Seconds since some moment.
double secondsNow();

class DraftingLoop {
public:
  using Clock = std::function<double()>;

  /// Drafts up to `width` tokens a step, at most dsf_module.draft_block; with
  /// 0 the draft layers need not have seen the sequences.
  DraftingLoop(ModelRunner &runner, int64_t width);
  /// Verifies only drafts that are worth their rows, by a schedule of what its
  /// steps cost in seconds of the clock (secondsNow, but in tests).
  DraftingLoop(ModelRunner &runner, int64_t width, Clock clock);

  /// One step for every sequence, in shared calls. The next tokens of `prompts`
  /// are rows of the same call, which is one in phases if they are read so;
  /// their results are inputs of the runner behind those of the states, and the
  /// draft layers see them too. Errors:
  /// logits that hold no token, a sequence at max_positions, a failure of
  /// compiled code.
  Status step(const std::vector<DecodeState *> &states,
              const std::vector<SequenceInput> &prompts = {},
              Prefill prefill = Prefill::Full);

  const StepCounts &counts() const { return total; }

private:
  /// Drafts of one sequence in this step.
  struct Proposal {
    std::vector<int32_t> tokens;
    /// Drafts that stand if the draft layers are right: the sum of survivals.
    double promised = 0;
    /// Of sampled drafts: what each was drawn from, [width][vocab].
    std::vector<std::vector<float>> distributions;
  };

  using Kind = DraftSchedule::Step;

  bool canDraft(const Session &session) const;
  Status propose(const std::vector<DecodeState *> &states, Kind kind);
  Status verify(const std::vector<DecodeState *> &states,
                const std::vector<SequenceInput> &prompts, Prefill prefill);
  /// Takes what each sequence gains from the verified rows; `kept` becomes the
  /// rows of each that stay.
  Status acceptAll(const std::vector<DecodeState *> &states,
                   std::vector<int64_t> &kept);
  /// Decides over the drafts of state i from its verified logits; sets gained
  /// and gainedLogits.
  void accept(DecodeState &state, const Proposal &proposal, size_t i);
  /// Draws what replaces a rejected draft: from max(p - q, 0).
  int32_t drawResidual(Sampler &sampler, const std::vector<float> &draft);

  ModelRunner &runner;
  int64_t width;
  /// Empty without a schedule.
  Clock clock;
  DraftSchedule schedule;
  StepCounts total;
  std::vector<Proposal> proposals;
  std::vector<float> target, residual;
  std::vector<int32_t> rows;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_DRAFTING_H
