//===- DraftSchedule.cpp - How many drafts to verify ----------------------===//

#include "dsflash/Runtime/DraftSchedule.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace dsflash;

/// Steps of each kind that are measured first.
static constexpr int64_t kFirstSteps = 3;
/// Steps after which a kind that was not seen is measured again.
static constexpr int64_t kRefresh = 64;
/// What a verification counts one step later: some eight steps are remembered.
static constexpr double kTrustDecay = 0.875;

std::vector<double> dsflash::survivals(const std::vector<float> &confidences) {
  std::vector<double> products(confidences.begin(), confidences.end());
  std::partial_sum(products.begin(), products.end(), products.begin(),
                   std::multiplies<>());
  return products;
}

int64_t dsflash::verifiedLength(const std::vector<float> &confidences,
                                const StepCosts &costs, double trust) {
  double tokens = 1;
  int64_t drafts = 0;
  for (double survival : survivals(confidences)) {
    double gain = std::min(trust * survival, 1.0);
    double seconds = costs.draft + costs.verify(drafts);
    // Survival only falls and every row costs the same: the first draft that
    // lowers the rate is behind its maximum.
    if (gain * seconds <= tokens * costs.extraRow)
      return drafts;
    tokens += gain;
    ++drafts;
  }
  return drafts;
}

bool dsflash::isWorthDrafting(int64_t width, const StepCosts &costs,
                              double trust) {
  double gain = std::min(trust, 1.0) * double(width);
  return (1 + gain) * costs.row > costs.draft + costs.verify(width);
}

void DraftTrust::add(double promised, int64_t accepted) {
  expected = kTrustDecay * expected + promised;
  stood = kTrustDecay * stood + double(accepted);
}

void RunningMedian::add(double value) {
  values[size_t(added++) % kWindow] = value;
}

double RunningMedian::value() const {
  std::array<double, kWindow> sorted = values;
  double *end = sorted.data() + std::min<int64_t>(added, kWindow);
  double *middle = sorted.data() + (end - sorted.data() - 1) / 2;
  std::nth_element(sorted.data(), middle, end);
  return *middle;
}

DraftSchedule::Step DraftSchedule::next(int64_t count) {
  if (count != sequences) {
    DraftTrust kept = trust;
    *this = DraftSchedule(width);
    trust = kept;
  }
  sequences = count;
  ++sincePlain;
  ++sinceDrafts;
  if (row.count() < kFirstSteps && row.count() <= extraRow.count())
    return Step::Plain;
  if (extraRow.count() < kFirstSteps || draft.count() < kFirstSteps)
    return Step::Whole;
  if (sincePlain > kRefresh)
    return Step::Plain;
  if (sinceDrafts > kRefresh)
    return Step::Whole;
  return isWorthDrafting(width, costs(), trust.value()) ? Step::Scheduled
                                                        : Step::Plain;
}

void DraftSchedule::record(int64_t drafts, double draftSeconds,
                           double verifySeconds) {
  auto count = double(sequences);
  if (draftSeconds > 0)
    draft.add(draftSeconds / count);
  if (drafts == 0) {
    row.add(verifySeconds / count);
    sincePlain = 0;
    return;
  }
  double extra = verifySeconds - count * row.value();
  extraRow.add(std::max(extra, 0.0) / double(drafts));
  sinceDrafts = 0;
}

StepCosts DraftSchedule::costs() const {
  return {draft.value(), row.value(), extraRow.value()};
}
