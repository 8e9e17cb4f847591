//===- Drafting.cpp - Decode steps with DSpark drafts ---------------------===//

#include "dsflash/Runtime/Drafting.h"

#include <algorithm>
#include <chrono>

using namespace dsflash;

namespace {

std::string placeOf(const Session &session, int64_t position) {
  return "sequence " + std::to_string(session.index()) + ", position " +
         std::to_string(position);
}

/// Chooses the draft of a block's row from its logits [vocab].
using PickDraft =
    std::function<int32_t(size_t block, int64_t step, const float *logits)>;

/// Drafts of one block and how likely each is to stand.
struct Drafts {
  std::vector<int32_t> tokens;
  std::vector<float> confidences;
};

/// Drafts `width` tokens in each session, row by row, from the token that each
/// continues with.
Result<std::vector<Drafts>> draftBlocks(ModelRunner &runner,
                                        const std::vector<Session *> &sessions,
                                        std::vector<int32_t> previous,
                                        int64_t width, const PickDraft &pick) {
  if (Status status = runner.draft(sessions, previous); !status)
    return status;
  int64_t vocab = runner.model().module().vocab_size;
  std::vector<Drafts> drafts(sessions.size());
  for (int64_t step = 0; step < width; ++step) {
    if (Status status = runner.markov(step, previous); !status)
      return status;
    for (size_t i = 0; i < sessions.size(); ++i) {
      const float *logits = runner.draftLogits(i, step);
      std::string where =
          "draft of " + placeOf(*sessions[i], sessions[i]->length() + step);
      if (Status status = checkLogits(where, logits, vocab); !status)
        return status;
      previous[i] = pick(i, step, logits);
      drafts[i].tokens.push_back(previous[i]);
      drafts[i].confidences.push_back(runner.confidence(i, step));
    }
  }
  return drafts;
}

} // namespace

double dsflash::secondsNow() {
  std::chrono::duration<double> time =
      std::chrono::steady_clock::now().time_since_epoch();
  return time.count();
}

Result<DraftBlock> dsflash::draftGreedy(ModelRunner &runner, Session &session,
                                        int32_t token) {
  const dsf_module &module = runner.model().module();
  DraftBlock block;
  Result<std::vector<Drafts>> drafts =
      draftBlocks(runner, {&session}, {token}, module.draft_block,
                  [&](size_t, int64_t, const float *logits) {
                    block.logits.insert(block.logits.end(), logits,
                                        logits + module.vocab_size);
                    return argmax(logits, module.vocab_size);
                  });
  if (!drafts)
    return drafts.status();
  block.tokens = std::move(drafts->front().tokens);
  block.confidence = std::move(drafts->front().confidences);
  return block;
}

DraftingLoop::DraftingLoop(ModelRunner &runner, int64_t width)
    : DraftingLoop(runner, width, Clock()) {}

DraftingLoop::DraftingLoop(ModelRunner &runner, int64_t width, Clock clock)
    : runner(runner), width(width), clock(std::move(clock)), schedule(width) {
  if (width > 0)
    total.accepted.assign(size_t(width) + 1, 0);
}

bool DraftingLoop::canDraft(const Session &session) const {
  const dsf_module &module = runner.model().module();
  return width > 0 &&
         session.length() + module.draft_block < module.max_positions;
}

Status DraftingLoop::step(const std::vector<DecodeState *> &states,
                          const std::vector<SequenceInput> &prompts,
                          Prefill prefill) {
  if (states.empty() && prompts.empty())
    return Status();
  TimelineScope span(states.empty() ? nullptr : runner.timeline(), "step",
                     "sequences", int64_t(states.size()));
  // Beside a prompt's rows drafts cost next to nothing.
  bool isMeasured = clock && prompts.empty();
  Kind kind = isMeasured ? schedule.next(int64_t(states.size())) : Kind::Whole;
  double start = isMeasured ? clock() : 0;
  if (Status status = propose(states, kind); !status)
    return status;
  double drafted = isMeasured ? clock() : 0;
  if (Status status = verify(states, prompts, prefill); !status)
    return status;
  if (isMeasured) {
    int64_t drafts = 0;
    for (const Proposal &proposal : proposals)
      drafts += int64_t(proposal.tokens.size());
    schedule.record(drafts, kind == Kind::Plain ? 0 : drafted - start,
                    clock() - drafted);
  }
  return Status();
}

Status DraftingLoop::propose(const std::vector<DecodeState *> &states,
                             Kind kind) {
  proposals.resize(states.size());
  std::vector<size_t> drafting;
  std::vector<Session *> sessions;
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < states.size(); ++i) {
    proposals[i].tokens.clear();
    if (kind == Kind::Plain || !canDraft(states[i]->session))
      continue;
    drafting.push_back(i);
    sessions.push_back(&states[i]->session);
    tokens.push_back(states[i]->last);
  }
  if (drafting.empty())
    return Status();

  TimelineScope span(runner.timeline(), "propose", "sequences",
                     int64_t(drafting.size()));
  int64_t vocab = runner.model().module().vocab_size;
  auto pick = [&](size_t block, int64_t step, const float *logits) {
    Sampler &sampler = states[drafting[block]]->sampler;
    if (sampler.greedy())
      return argmax(logits, vocab);
    Proposal &proposal = proposals[drafting[block]];
    proposal.distributions.resize(size_t(width));
    std::vector<float> &distribution = proposal.distributions[size_t(step)];
    sampler.distribution(logits, vocab, distribution);
    return sampler.draw(distribution);
  };
  Result<std::vector<Drafts>> drafts =
      draftBlocks(runner, sessions, tokens, width, pick);
  if (!drafts)
    return drafts.status();
  for (size_t block = 0; block < drafting.size(); ++block) {
    Drafts &drawn = (*drafts)[block];
    if (kind == Kind::Scheduled)
      drawn.tokens.resize(size_t(schedule.length(drawn.confidences)));
    drawn.confidences.resize(drawn.tokens.size());
    Proposal &proposal = proposals[drafting[block]];
    proposal.promised = 0;
    for (double survival : survivals(drawn.confidences))
      proposal.promised += survival;
    proposal.tokens = std::move(drawn.tokens);
  }
  return Status();
}

Status DraftingLoop::verify(const std::vector<DecodeState *> &states,
                            const std::vector<SequenceInput> &prompts,
                            Prefill prefill) {
  rows.clear();
  for (size_t i = 0; i < states.size(); ++i) {
    rows.push_back(states[i]->last);
    rows.insert(rows.end(), proposals[i].tokens.begin(),
                proposals[i].tokens.end());
  }
  std::vector<SequenceInput> inputs;
  const int32_t *next = rows.data();
  for (size_t i = 0; i < states.size(); ++i) {
    auto count = int64_t(proposals[i].tokens.size()) + 1;
    inputs.push_back({&states[i]->session, next, count, count});
    next += count;
  }
  inputs.insert(inputs.end(), prompts.begin(), prompts.end());
  TimelineScope span(states.empty() ? nullptr : runner.timeline(), "verify",
                     "rows", int64_t(rows.size()));
  bool inPhases = prefill != Prefill::Full && !prompts.empty();
  if (Status status =
          inPhases ? runner.prompt(inputs, prefill) : runner.forward(inputs);
      !status)
    return status;

  std::vector<int64_t> kept;
  if (Status status = acceptAll(states, kept); !status)
    return status;
  for (size_t i = states.size(); i < inputs.size(); ++i)
    kept.push_back(runner.featureRows(i));
  return width > 0 ? runner.draftContext(kept) : Status();
}

Status DraftingLoop::acceptAll(const std::vector<DecodeState *> &states,
                               std::vector<int64_t> &kept) {
  TimelineScope span(states.empty() ? nullptr : runner.timeline(), "sample",
                     "sequences", int64_t(states.size()));
  int64_t vocab = runner.model().module().vocab_size;
  for (size_t i = 0; i < states.size(); ++i) {
    DecodeState &state = *states[i];
    int64_t count = int64_t(proposals[i].tokens.size()) + 1;
    int64_t first = state.session.length() - count;
    for (int64_t row = 0; row < count; ++row)
      if (Status status = checkLogits(placeOf(state.session, first + row),
                                      runner.logits(i, row), vocab);
          !status)
        return status;
    accept(state, proposals[i], i);
    kept.push_back(int64_t(state.gained.size()));
    state.session.truncate(first + kept.back());
    state.last = state.gained.back();
    ++total.steps;
    total.gained += kept.back();
    if (width > 0)
      ++total.accepted[state.gained.size() - 1];
    if (!proposals[i].tokens.empty())
      schedule.recordAccepted(proposals[i].promised, kept.back() - 1);
  }
  return Status();
}

void DraftingLoop::accept(DecodeState &state, const Proposal &proposal,
                          size_t i) {
  int64_t vocab = runner.model().module().vocab_size;
  Sampler &sampler = state.sampler;
  state.gained.clear();
  state.gainedLogits.clear();
  auto gain = [&](int32_t token, const float *logits) {
    state.gained.push_back(token);
    state.gainedLogits.push_back(logits);
  };
  for (size_t step = 0; step < proposal.tokens.size(); ++step) {
    const float *logits = runner.logits(i, int64_t(step));
    int32_t draft = proposal.tokens[step];
    if (sampler.greedy()) {
      int32_t best = argmax(logits, vocab);
      gain(best, logits);
      if (best != draft)
        return;
      continue;
    }
    const std::vector<float> &drawnFrom = proposal.distributions[step];
    sampler.distribution(logits, vocab, target);
    if (sampler.uniform() * drawnFrom[draft] >= target[draft])
      return gain(drawResidual(sampler, drawnFrom), logits);
    gain(draft, logits);
  }
  const float *logits = runner.logits(i, int64_t(proposal.tokens.size()));
  gain(sampler.sample(logits, vocab), logits);
}

int32_t DraftingLoop::drawResidual(Sampler &sampler,
                                   const std::vector<float> &draft) {
  residual.resize(target.size());
  bool any = false;
  for (size_t i = 0; i < target.size(); ++i) {
    residual[i] = std::max(target[i] - draft[i], 0.0f);
    any |= residual[i] > 0;
  }
  // Equal distributions reject only by rounding.
  return sampler.draw(any ? residual : target);
}
