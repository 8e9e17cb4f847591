//===- BenchResultsTest.cpp - Fractions and JSON keys
//-----------------------===//

#include "dsflash/Bench/ContextBench.h"
#include "dsflash/Bench/KernelBench.h"
#include "dsflash/Bench/ModelBench.h"
#include "dsflash/Model/Checkpoint.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace dsflash;

namespace {

/// 20 GB/s and 100 GFLOP/s.
MachineLimits roundLimits() {
  MachineLimits limits;
  limits.threads = 2;
  limits.memory = 20e9;
  limits.fp32 = 100e9;
  limits.int8 = 400e9;
  return limits;
}

TEST(MachineLimits, JsonOfAMissingInstructionIsNull) {
  EXPECT_EQ(roundLimits().json(), nlohmann::json({{"memory_gb_s", 20.0},
                                                  {"fp32_gflop_s", 100.0},
                                                  {"bf16_gflop_s", nullptr},
                                                  {"int8_gop_s", 400.0},
                                                  {"threads", 2}}));
}

TEST(ModelBench, FractionsOfTheLimits) {
  ModelBench bench;
  bench.limits = roundLimits();
  bench.work.weightBytes = 2e9;
  bench.work.promptProducts = 1e9;
  bench.speeds.push_back({512, 10, 4});
  // 2 GFLOP * 10/s of 100 GFLOP/s; 2 GB * 4/s of 20 GB/s.
  EXPECT_DOUBLE_EQ(bench.promptFraction(bench.speeds[0]).value(), 0.2);
  EXPECT_DOUBLE_EQ(bench.generateFraction(bench.speeds[0]), 0.4);
  EXPECT_EQ(bench.json()["model"][0]["context"], 512);
  EXPECT_EQ(bench.json()["model"][0]["fraction"], 0.4);
}

TEST(ModelBench, PrefillsBesideAFullOne) {
  ModelBench bench;
  bench.limits = roundLimits();
  bench.work.promptProducts = 1e9;
  bench.speeds = {
      {0, 10, 4}, {0, 20, 4, Prefill::Exact}, {9, 5, 4, Prefill::Bounded}};
  EXPECT_EQ(bench.partOfFull(bench.speeds[0]), 1);
  EXPECT_EQ(bench.partOfFull(bench.speeds[1]), 0.5);
  // Behind another context; and some layers skip its rows.
  EXPECT_EQ(bench.partOfFull(bench.speeds[2]), std::nullopt);
  EXPECT_EQ(bench.promptFraction(bench.speeds[2]), std::nullopt);
  nlohmann::json row = bench.json()["model"][2];
  EXPECT_EQ(row["prefill"], "bounded");
  EXPECT_TRUE(row["prompt_part_of_full"].is_null());
  EXPECT_TRUE(row["prompt_fraction"].is_null());
}

TEST(ContextBench, GrowthAndBytesOutsideTheScan) {
  ContextBench bench;
  nlohmann::json work = {{"tokens", 4096},
                         {"rows_scanned", 10},
                         {"rows_in_candidates", 4},
                         {"bytes_weights", 1000000},
                         {"bytes_window", 200000},
                         {"bytes_global_kv", 30000},
                         {"bytes_candidate_keys", 0},
                         {"bytes_scanned_keys", 7},
                         {"flops_products", 1000000000},
                         {"flops_attention", 0},
                         {"flops_index", 500000000}};
  bench.steps = {{4096, 4000000, 3645440, 0.5, 0.1, 0.2, 4, work},
                 {8192, 8096000, 7290880, 1, 0.2, 0.2, {}, nullptr}};
  bench.growth = {{"tokens", 8192},
                  {"over_tokens", 4096},
                  {"alike", 1.5},
                  {"fp4_at_half", 1.25},
                  {"fp4_at_quarter", 1.125}};
  std::string table = bench.table();
  EXPECT_NE(table.find("1.23     1.500\n"), std::string::npos) << table;
  EXPECT_NE(table.find(" 1000.0 "), std::string::npos) << table;
  EXPECT_NE(table.find("200.00             4            10             4"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("1.500 with all alike, 1.250 with FP4 x FP4 at half, "
                       "1.125 at a quarter"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("time of a step: 2.000"), std::string::npos) << table;
}

TEST(ModelBench, WorkOfATokenOfThePublishedConfig) {
  Result<ModelConfig> config = loadModelConfig(
      DSFLASH_SOURCE_DIR "/models/deepseek-v4.1-flash/config.json");
  ASSERT_TRUE(config.ok());
  TokenWork work = tokenWork(*config);
  double head = double(config->vocab_size) * double(config->hidden_size);
  // SPEC section 1: 16.13e9 active parameters; the logits are not of a prompt.
  EXPECT_NEAR(work.promptProducts + head, 16.13e9, 0.01e9);
  // Between 4.25 bits, if all were FP4, and bf16.
  EXPECT_GT(work.weightBytes, 16.13e9 * 4.25 / 8);
  EXPECT_LT(work.weightBytes, 16.13e9 * 2);
}

TEST(KernelBench, TheTighterLimitCounts) {
  KernelBench bench;
  bench.limits = roundLimits();
  // 1 s of memory in 2 s, 4 s of products in 5 s, no work known.
  bench.kernels.push_back({"linear_64x32_bf16", "decode", 3, 2.0, 20e9, 10e9});
  bench.kernels.push_back({"linear_8x16_e2m1", "prefill", 1, 5.0, 20e9, 400e9});
  bench.kernels.push_back({"rms_norm_1x64_bf16", "decode", 1, 1.0, {}, {}});
  nlohmann::json rows = bench.json()["kernels"];
  EXPECT_EQ(rows[0]["limit"], "memory");
  EXPECT_EQ(rows[0]["fraction"], 0.5);
  EXPECT_EQ(rows[0]["gb_s"], 10.0);
  EXPECT_EQ(rows[0]["gflop_s"], 5.0);
  EXPECT_EQ(rows[0]["shape"], "64x32_bf16");
  EXPECT_EQ(rows[1]["limit"], "compute");
  EXPECT_EQ(rows[1]["fraction"], 0.8);
  EXPECT_EQ(rows[2]["shape"], "1x64_bf16");
  EXPECT_TRUE(rows[2]["limit"].is_null());
  EXPECT_TRUE(rows[2]["fraction"].is_null());
}

} // namespace
