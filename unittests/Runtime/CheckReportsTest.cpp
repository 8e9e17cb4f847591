//===- CheckReportsTest.cpp - What the checks of a model found ------------===//

#include "dsflash/Runtime/CheckReports.h"

#include "gtest/gtest.h"

#include <thread>
#include <vector>

using namespace dsflash;

namespace {

const dsf_check kChecks[] = {{"layers.{l}.attn.csa2", DSF_CHECK_NAN, 0},
                             {"mtp.{l}.ffn.experts", DSF_CHECK_EXPERT, 0},
                             {"embed", DSF_CHECK_ROW, 0},
                             {"layers.{l}.attn.csa2", DSF_CHECK_SLOT, 0},
                             {"later", 77, 0}};

std::string messageOf(const std::vector<CheckReport> &list) {
  dsf_module module{};
  module.checks = kChecks;
  module.check_count = 5;
  CheckReports reports;
  for (const CheckReport &report : list)
    reports.add(report);
  return reports.status(module).str();
}

TEST(CheckReports, NoneIsNoError) {
  EXPECT_TRUE(CheckReports().status(dsf_module{}).ok());
}

TEST(CheckReports, NameLayerOperationAndPosition) {
  EXPECT_EQ(messageOf({{0, 17, 123, 0, 0, 0}}),
            "layers.17.attn.csa2: position 123: NaN in result");
  EXPECT_EQ(messageOf({{1, 2, 0, 9, 8, 0}}),
            "mtp.2.ffn.experts: position 0: expert id 9 outside [0, 8)");
  EXPECT_EQ(messageOf({{2, -1, -1, 300, 256, 0}}),
            "embed: row 300 outside [0, 256)");
  EXPECT_EQ(messageOf({{3, 0, 14, 3, 13, 5}}),
            "layers.0.attn.csa2: position 14: ring slot 5 holds position 3, 13 "
            "expected");
  EXPECT_EQ(messageOf({{3, 0, 14, -1, 13, 5}}),
            "layers.0.attn.csa2: position 14: ring slot 5 holds no position, "
            "13 expected");
}

TEST(CheckReports, UnknownChecksAreErrors) {
  EXPECT_EQ(messageOf({{5, 0, 0, 0, 0, 0}}),
            "check 5: failed, but the module has no such check");
  EXPECT_EQ(messageOf({{-1, 0, 0, 0, 0, 0}}),
            "check -1: failed, but the module has no such check");
  EXPECT_EQ(messageOf({{4, 0, 1, 0, 0, 0}}),
            "later: position 1: check of kind 77 failed");
}

TEST(CheckReports, TheFirstLaunchAndItsLowestPosition) {
  EXPECT_EQ(messageOf({{0, 3, 9, 0, 0, 0},
                       {0, 3, 7, 0, 0, 0},
                       {0, 4, 2, 0, 0, 0},
                       {2, -1, 1, 5, 4, 0}}),
            "layers.3.attn.csa2: position 7: NaN in result");
}

TEST(CheckReports, FromManyThreads) {
  dsf_module module{};
  module.checks = kChecks;
  module.check_count = 5;
  CheckReports reports;
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&reports, t] {
      for (int64_t i = 0; i < 100; ++i)
        reports.add({0, 1, 100 * t + i + 5, 0, 0, 0});
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(reports.status(module).str(),
            "layers.1.attn.csa2: position 5: NaN in result");
}

} // namespace
