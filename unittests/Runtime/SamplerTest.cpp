//===- SamplerTest.cpp ----------------------------------------------------===//

#include "dsflash/Runtime/Sampler.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace dsflash;

namespace {

SamplingOptions with(double temperature, double topP, uint64_t seed = 0) {
  SamplingOptions options;
  options.temperature = temperature;
  options.topP = topP;
  options.seed = seed;
  return options;
}

std::vector<float> distribution(const std::vector<float> &logits,
                                double temperature, double topP) {
  std::vector<float> result;
  Sampler(with(temperature, topP))
      .distribution(logits.data(), int64_t(logits.size()), result);
  return result;
}

TEST(Sampler, TiesGoToTheLowerId) {
  const float logits[] = {1, 3, 3, -2, 3};
  EXPECT_EQ(argmax(logits, 5), 1);
  const float zeros[] = {-0.0f, 0.0f};
  EXPECT_EQ(argmax(zeros, 2), 0);
}

TEST(Sampler, ZeroTemperatureIsGreedy) {
  const float logits[] = {0, 1, 5, 4.9f};
  Sampler sampler(with(0, 0.5));
  EXPECT_TRUE(sampler.greedy());
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(sampler.sample(logits, 4), 2);
}

TEST(Sampler, TemperatureScales) {
  std::vector<float> p =
      distribution({0, std::log(2.0f), std::log(5.0f)}, 1, 1);
  EXPECT_NEAR(p[0], 0.125, 1e-6);
  EXPECT_NEAR(p[1], 0.25, 1e-6);
  EXPECT_NEAR(p[2], 0.625, 1e-6);
  p = distribution({0, std::log(4.0f)}, 2, 1);
  EXPECT_NEAR(p[1], 2.0 / 3, 1e-6);
}

TEST(Sampler, TopPKeepsTheSmallestSet) {
  std::vector<float> logits = {std::log(.5f), std::log(.3f), std::log(.1f),
                               std::log(.1f)};
  std::vector<float> p = distribution(logits, 1, 0.75);
  EXPECT_NEAR(p[0], .5 / .8, 1e-6);
  EXPECT_NEAR(p[1], .3 / .8, 1e-6);
  EXPECT_EQ(p[2], 0);
  EXPECT_EQ(p[3], 0);
  // Of two equal ones at the cut the lower id stays.
  p = distribution(logits, 1, 0.85);
  EXPECT_GT(p[2], 0);
  EXPECT_EQ(p[3], 0);
  // At least one token stays.
  p = distribution(logits, 1, 0);
  EXPECT_FLOAT_EQ(p[0], 1);
}

TEST(Sampler, FrequenciesFollowProbabilities) {
  std::vector<float> logits = {std::log(.6f), std::log(.3f), std::log(.1f)};
  Sampler sampler(with(1, 1, 42));
  int counts[3] = {};
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i)
    ++counts[sampler.sample(logits.data(), 3)];
  // Four standard deviations.
  EXPECT_NEAR(counts[0] / double(draws), .6, .014);
  EXPECT_NEAR(counts[1] / double(draws), .3, .013);
  EXPECT_NEAR(counts[2] / double(draws), .1, .009);
}

TEST(Sampler, SameSeedSameDraws) {
  std::vector<float> logits(50, 0.0f);
  auto draws = [&](uint64_t seed) {
    Sampler sampler(with(1, 1, seed));
    std::vector<int32_t> result;
    for (int i = 0; i < 30; ++i)
      result.push_back(sampler.sample(logits.data(), 50));
    return result;
  };
  EXPECT_EQ(draws(7), draws(7));
  EXPECT_NE(draws(7), draws(8));
}

TEST(Sampler, ImpossibleTokensAreNeverDrawn) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float logits[] = {-infinity, 0, -infinity};
  Sampler sampler(with(1, 1));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(sampler.sample(logits, 3), 1);
}

TEST(Sampler, BadLogitsAreNamed) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float good[] = {-infinity, 0};
  EXPECT_TRUE(checkLogits("here", good, 2).ok());
  const float nan[] = {0, std::nanf("")};
  EXPECT_EQ(
      checkLogits("here", nan, 2).str(),
      "here: the logit of token 1 is NaN (dsflash-compile --checked names "
      "the layer and operation that made it)");
  const float infinite[] = {infinity, 0};
  EXPECT_EQ(checkLogits("here", infinite, 2).str(),
            "here: the logit of token 0 is infinite");
  const float none[] = {-infinity, -infinity};
  EXPECT_EQ(checkLogits("here", none, 2).str(),
            "here: all logits are -infinity");
}

} // namespace
