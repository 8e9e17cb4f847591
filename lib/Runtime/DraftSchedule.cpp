//===- DraftSchedule.cpp - How many drafts to verify ----------------------===//

#include "dsflash/Runtime/DraftSchedule.h"

#include <algorithm>
#include <chrono>
#include <limits>

using namespace dsflash;

namespace {

/// Runs the parts of a step on a sequence of token 0.
class CostProbe {
public:
  CostProbe(ModelRunner &runner, Session session, int64_t width)
      : runner(runner), session(std::move(session)), tokens(size_t(width) + 1) {
  }

  Status verify(int64_t rows) {
    session.truncate(0);
    return runner.forward({{&session, tokens.data(), rows, rows}});
  }

  Status draft() {
    if (Status status = runner.draft({&session}, {0}); !status)
      return status;
    for (size_t step = 0; step + 1 < tokens.size(); ++step)
      if (Status status = runner.markov(int64_t(step), {0}); !status)
        return status;
    return Status();
  }

  Status see(int64_t rows) { return runner.draftContext({rows}); }

private:
  ModelRunner &runner;
  Session session;
  std::vector<int32_t> tokens;
};

/// Shortest time of a few runs; other work on the machine only adds to it.
template <typename Part> Result<double> shortestTime(Part part) {
  constexpr int kRuns = 3;
  double shortest = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    auto start = std::chrono::steady_clock::now();
    if (Status status = part(); !status)
      return status;
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, time.count());
  }
  return shortest;
}

} // namespace

Result<StepCosts> dsflash::measureStepCosts(ModelRunner &runner,
                                            int64_t width) {
  Result<Session> session = Session::create(
      runner.model().module(), /*index=*/0, runner.executor().device());
  if (!session)
    return session.status();
  Timeline *timeline = runner.timeline();
  runner.setTimeline(nullptr);
  CostProbe probe(runner, std::move(*session), width);
  Result<double> widest = shortestTime([&] { return probe.verify(width + 1); });
  Result<double> single = shortestTime([&] { return probe.verify(1); });
  Status seen = single ? probe.see(1) : single.status();
  Result<double> draft =
      seen ? shortestTime([&] { return probe.draft(); }) : Result<double>(seen);
  runner.setTimeline(timeline);
  if (!widest)
    return widest.status();
  if (!draft)
    return draft.status();
  return StepCosts{*draft, *single,
                   std::max(*widest - *single, 0.0) / double(width)};
}

int64_t dsflash::verifiedLength(const std::vector<float> &confidences,
                                const StepCosts &costs) {
  double survival = 1, tokens = 1;
  for (size_t drafts = 0; drafts < confidences.size(); ++drafts) {
    survival *= confidences[drafts];
    double seconds = costs.draft + costs.verify(int64_t(drafts));
    // Survival only falls and every row costs the same: the first draft that
    // lowers the rate is behind its maximum.
    if (survival * seconds <= tokens * costs.extraRow)
      return int64_t(drafts);
    tokens += survival;
  }
  return int64_t(confidences.size());
}

bool dsflash::isWorthDrafting(int64_t width, const StepCosts &costs) {
  return double(width + 1) * costs.row > costs.draft + costs.verify(width);
}
