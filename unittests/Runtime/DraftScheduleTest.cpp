//===- DraftScheduleTest.cpp - How many drafts to verify ------------------===//

#include "dsflash/Runtime/DraftSchedule.h"
#include "dsflash/Runtime/Sampler.h"

#include "gtest/gtest.h"

using namespace dsflash;

namespace {

TEST(DraftSchedule, MaximizesTokensASecond) {
  // 1/2, 2/3, 2.5/4.
  EXPECT_EQ(verifiedLength({1, 0.5}, {1, 1, 1}), 1);
  // 1/4, 1.75/4.5, 2.3125/5, 2.5938/5.5, 2.7344/6.
  EXPECT_EQ(verifiedLength({0.75, 0.75, 0.5, 0.5}, {2, 2, 0.5}), 3);
  // Rows that cost nothing; drafts that never stand; no drafts.
  EXPECT_EQ(verifiedLength({0.9f, 0.1f, 0.01f}, {1, 1, 0}), 3);
  EXPECT_EQ(verifiedLength({0, 1, 1}, {1, 1, 0.1}), 0);
  EXPECT_EQ(verifiedLength({}, {1, 1, 1}), 0);
}

TEST(DraftSchedule, EqualsASearchOverAllLengths) {
  Sampler sampler({});
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<float> confidences(5);
    for (float &confidence : confidences)
      confidence = float(sampler.uniform());
    StepCosts costs{sampler.uniform(), sampler.uniform() + 0.1,
                    sampler.uniform() / 2};
    double survival = 1, tokens = 1, best = 1 / (costs.draft + costs.verify(0));
    int64_t length = 0;
    for (int64_t i = 1; i <= 5; ++i) {
      survival *= confidences[size_t(i) - 1];
      tokens += survival;
      double rate = tokens / (costs.draft + costs.verify(i));
      if (rate > best) {
        best = rate;
        length = i;
      }
    }
    EXPECT_EQ(verifiedLength(confidences, costs), length);
  }
}

TEST(DraftSchedule, RunningMedian) {
  RunningMedian median;
  median.add(5);
  EXPECT_EQ(median.value(), 5);
  for (double value : {1, 900, 2, 3})
    median.add(value);
  EXPECT_EQ(median.value(), 3);
  // Only the last nine count.
  for (int i = 0; i < 9; ++i)
    median.add(40 + i);
  EXPECT_EQ(median.value(), 44);
  EXPECT_EQ(median.count(), 14);
}

// Half as many drafts stand as the confidences promise: 1.5/4, 2/5, 2.5/6.
// With twice as many no draft stands more often than always: 2/4, 3/5, 3.5/6.
TEST(DraftSchedule, SurvivalIsCorrectedByWhatStood) {
  EXPECT_EQ(survivals({1, 0.5, 0.5}), (std::vector<double>{1, 0.5, 0.25}));
  StepCosts costs{2, 1, 1};
  EXPECT_EQ(verifiedLength({1, 1, 1}, costs, 0.5), 3);
  EXPECT_EQ(verifiedLength({1, 1, 0.5}, costs, 2), 3);
  EXPECT_EQ(verifiedLength({1, 1, 0.5}, costs, 0.5), 2);
  EXPECT_EQ(verifiedLength({1, 1, 1}, costs, 0.1), 0);
  EXPECT_FALSE(isWorthDrafting(5, {1, 1, 0.2}, 0.3));
  EXPECT_TRUE(isWorthDrafting(5, {1, 1, 0.2}, 0.5));
}

TEST(DraftSchedule, TrustFollowsTheLastSteps) {
  DraftTrust trust;
  EXPECT_EQ(trust.value(), 1);
  // Confidences that are right on average.
  for (int i = 0; i < 100; ++i)
    trust.add(2.5, i % 2 ? 5 : 0);
  EXPECT_NEAR(trust.value(), 1, 0.1);
  for (int i = 0; i < 30; ++i)
    trust.add(5, 0);
  EXPECT_LT(trust.value(), 0.05);
  for (int i = 0; i < 30; ++i)
    trust.add(5, 5);
  EXPECT_GT(trust.value(), 0.95);
}

/// Plays steps that take `costs` for each sequence.
class Player {
public:
  using Step = DraftSchedule::Step;
  explicit Player(int64_t width) : width(width), schedule(width) {}

  Step play(int64_t sequences, const StepCosts &costs) {
    Step step = schedule.next(sequences);
    int64_t drafts = step == Step::Plain ? 0 : width;
    if (drafts > 0)
      schedule.recordAccepted(double(drafts), right);
    schedule.record(drafts * sequences,
                    step == Step::Plain ? 0 : costs.draft * double(sequences),
                    costs.verify(drafts) * double(sequences));
    return step;
  }
  int64_t count(Step step, int steps, int64_t sequences,
                const StepCosts &costs) {
    int64_t found = 0;
    for (int i = 0; i < steps; ++i)
      found += play(sequences, costs) == step;
    return found;
  }

  int64_t width;
  DraftSchedule schedule;
  /// Drafts that stand of those that the draft layers are sure of.
  int64_t right = 4;
};

TEST(DraftSchedule, MeasuresTheFirstSteps) {
  Player player(4);
  StepCosts costs{0.5, 2, 0.25};
  EXPECT_EQ(player.count(Player::Step::Plain, 6, 1, costs), 3);
  EXPECT_EQ(player.play(1, costs), Player::Step::Scheduled);
  EXPECT_DOUBLE_EQ(player.schedule.costs().draft, 0.5);
  EXPECT_DOUBLE_EQ(player.schedule.costs().row, 2);
  EXPECT_DOUBLE_EQ(player.schedule.costs().extraRow, 0.25);
  // Steps of another number of sequences are measured anew, for each sequence.
  costs = {0.2, 0.5, 0.3};
  EXPECT_EQ(player.count(Player::Step::Plain, 6, 3, costs), 3);
  EXPECT_NEAR(player.schedule.costs().draft, 0.2, 1e-12);
  EXPECT_NEAR(player.schedule.costs().extraRow, 0.3, 1e-12);
}

TEST(DraftSchedule, OneSlowStepChangesNothing) {
  Player player(4);
  StepCosts usual{0.5, 2, 0.25}, slow{50, 200, 25};
  player.play(1, slow);
  player.count(Player::Step::Plain, 5, 1, usual);
  EXPECT_DOUBLE_EQ(player.schedule.costs().row, 2);
  EXPECT_DOUBLE_EQ(player.schedule.costs().draft, 0.5);
  player.play(1, slow);
  EXPECT_EQ(player.play(1, usual), Player::Step::Scheduled);
}

TEST(DraftSchedule, KindsThatWereNotSeenAreMeasuredAgain) {
  Player player(4);
  StepCosts worth{0.5, 2, 0.25}, useless{3, 1, 1};
  player.count(Player::Step::Plain, 6, 1, worth);
  EXPECT_EQ(player.count(Player::Step::Plain, 650, 1, worth), 10);
  player = Player(4);
  player.count(Player::Step::Plain, 6, 1, useless);
  EXPECT_EQ(player.count(Player::Step::Whole, 650, 1, useless), 10);
  // Costs that were measured under load are forgotten.
  player.count(Player::Step::Plain, 5 * 65, 1, worth);
  EXPECT_GT(player.count(Player::Step::Scheduled, 100, 1, worth), 90);
}

// Drafts of which the draft layers are sure and none stands are dropped, but
// for a try now and then, and taken up again when they stand.
TEST(DraftSchedule, DraftsThatNeverStandAreDropped) {
  Player player(4);
  StepCosts costs{0.5, 2, 0.25};
  EXPECT_GT(player.count(Player::Step::Scheduled, 100, 1, costs), 90);
  player.right = 0;
  player.count(Player::Step::Plain, 20, 1, costs);
  EXPECT_GT(player.count(Player::Step::Plain, 650, 1, costs), 630);
  EXPECT_LE(player.schedule.length({1, 1, 1, 1}), 1);
  // A batch of another size has the same draft layers.
  player.count(Player::Step::Plain, 6, 2, costs);
  EXPECT_GT(player.count(Player::Step::Plain, 100, 2, costs), 95);
  player.right = 4;
  player.count(Player::Step::Plain, 5 * 65, 2, costs);
  EXPECT_GT(player.count(Player::Step::Scheduled, 100, 2, costs), 90);
}

TEST(DraftSchedule, DraftsThatCannotPay) {
  EXPECT_TRUE(isWorthDrafting(5, {1, 1, 0.5}));
  EXPECT_FALSE(isWorthDrafting(5, {1, 1, 1}));
  EXPECT_FALSE(isWorthDrafting(1, {1, 1, 0.1}));
}

} // namespace
