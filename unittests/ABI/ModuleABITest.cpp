//===- ModuleABITest.cpp - Sizes and places of the ABI structures ---------===//

#include "dsflash/ABI/ModuleABI.h"

#include "gtest/gtest.h"

#include <cstddef>

namespace {

// A module of another version is still asked for these two.
TEST(ModuleABI, VersionKeepsItsPlace) {
  EXPECT_EQ(offsetof(dsf_module, magic), 0u);
  EXPECT_EQ(offsetof(dsf_module, abi_version), 4u);
}

TEST(ModuleABI, Sizes) {
  EXPECT_EQ(sizeof(dsf_env), 48u);
  EXPECT_EQ(sizeof(dsf_call), 64u);
  EXPECT_EQ(sizeof(dsf_tensor), 32u);
  EXPECT_EQ(sizeof(dsf_entry), 56u);
  EXPECT_EQ(sizeof(dsf_weight), 80u);
  EXPECT_EQ(sizeof(dsf_state), 40u);
  EXPECT_EQ(sizeof(dsf_probe), 40u);
  EXPECT_EQ(sizeof(dsf_check), 16u);
  EXPECT_EQ(sizeof(dsf_kernel), 48u);
  EXPECT_EQ(sizeof(dsf_module), 208u);
}

TEST(ModuleABI, OffsetsThatCompiledCodeUses) {
  EXPECT_EQ(offsetof(dsf_env, parallel_for), 8u);
  EXPECT_EQ(offsetof(dsf_env, probe), 16u);
  EXPECT_EQ(offsetof(dsf_env, report), 24u);
  EXPECT_EQ(offsetof(dsf_env, launch), 32u);
  EXPECT_EQ(offsetof(dsf_call, weights), 8u);
  EXPECT_EQ(offsetof(dsf_call, states), 16u);
  EXPECT_EQ(offsetof(dsf_call, tensors), 24u);
  EXPECT_EQ(offsetof(dsf_call, workspace), 32u);
  EXPECT_EQ(offsetof(dsf_call, dims), 40u);
}

TEST(ModuleABI, OffsetsOfTheTables) {
  EXPECT_EQ(offsetof(dsf_tensor, type), 8u);
  EXPECT_EQ(offsetof(dsf_tensor, row_elements), 24u);
  EXPECT_EQ(offsetof(dsf_entry, function), 8u);
  EXPECT_EQ(offsetof(dsf_entry, tensors), 16u);
  EXPECT_EQ(offsetof(dsf_entry, workspace_fixed_bytes), 40u);
  EXPECT_EQ(offsetof(dsf_weight, rows), 24u);
  EXPECT_EQ(offsetof(dsf_weight, layers), 48u);
  EXPECT_EQ(offsetof(dsf_weight, slot), 72u);
  EXPECT_EQ(offsetof(dsf_state, positions_per_row), 32u);
  EXPECT_EQ(offsetof(dsf_probe, extents), 16u);
  EXPECT_EQ(offsetof(dsf_module, compiler), 8u);
  EXPECT_EQ(offsetof(dsf_module, entries), 40u);
  EXPECT_EQ(offsetof(dsf_module, weights), 56u);
  EXPECT_EQ(offsetof(dsf_module, states), 80u);
  EXPECT_EQ(offsetof(dsf_module, probes), 104u);
  EXPECT_EQ(offsetof(dsf_module, vocab_size), 120u);
  EXPECT_EQ(offsetof(dsf_module, sliding_window), 152u);
  EXPECT_EQ(offsetof(dsf_module, checks), 160u);
  EXPECT_EQ(offsetof(dsf_check, kind), 8u);
  EXPECT_EQ(offsetof(dsf_kernel, items_per_block), 16u);
  EXPECT_EQ(offsetof(dsf_kernel, constants), 32u);
  EXPECT_EQ(offsetof(dsf_device_code, cubin), 16u);
  EXPECT_EQ(offsetof(dsf_module, codes), 176u);
  EXPECT_EQ(offsetof(dsf_module, kernels), 192u);
}

} // namespace
