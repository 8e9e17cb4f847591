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

TEST(DraftSchedule, DraftsThatCannotPay) {
  EXPECT_TRUE(isWorthDrafting(5, {1, 1, 0.5}));
  EXPECT_FALSE(isWorthDrafting(5, {1, 1, 1}));
  EXPECT_FALSE(isWorthDrafting(1, {1, 1, 0.1}));
}

} // namespace
