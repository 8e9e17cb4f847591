//===- RopeTest.cpp - Rotary frequencies ----------------------------------===//

#include "dsflash/Model/Rope.h"
#include "TestConfigs.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dsflash;

namespace {

struct Sample {
  size_t pair;
  double frequency;
};

/// pow differs by an ulp between libraries, the rest is exact.
void expectFrequencies(const std::vector<float> &got,
                       std::initializer_list<Sample> expected) {
  for (const Sample &sample : expected)
    EXPECT_NEAR(got[sample.pair] / sample.frequency, 1, std::ldexp(1, -22))
        << "pair " << sample.pair;
}

TEST(Rope, PublishedModel) {
  auto config = loadModelConfig(test::kPublishedConfig);
  ASSERT_TRUE(config.ok()) << config.status().str();
  std::vector<float> plain = ropeFrequencies(*config, false);
  ASSERT_EQ(plain.size(), 32u);
  expectFrequencies(plain, {{0, 1.0},
                            {1, 0.7498942017555237},
                            {5, 0.23713736236095428},
                            {16, 0.009999999776482582},
                            {25, 0.0007498941849917173},
                            {31, 0.0001333521504420787}});
  std::vector<float> yarn = ropeFrequencies(*config, true);
  ASSERT_EQ(yarn.size(), 32u);
  // Kept as they are, on the ramp, and divided by the factor.
  expectFrequencies(yarn, {{0, 1.0},
                           {1, 0.687656044960022},
                           {5, 0.15376456081867218},
                           {16, 0.0022656249348074198},
                           {20, 0.0002969777851831168},
                           {25, 5.372312443796545e-06},
                           {31, 5.680529397977807e-07}});
}

TEST(Rope, WithoutScalingCompressedLayersKeepTheirBase) {
  nlohmann::json document = test::smallConfig();
  document["text_config"]["rope_scaling"] = nullptr;
  std::vector<float> got = ropeFrequencies(test::validConfig(document), true);
  ASSERT_EQ(got.size(), 8u);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i] * std::pow(160000.0, i / 8.0), 1, std::ldexp(1, -22));
}

} // namespace
