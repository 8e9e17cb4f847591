//===- CompressorTest.cpp - Pooled groups and global rows -----------------===//

#include "CompiledModel.h"
#include "dsflash/ABI/QuantFormats.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dsflash_test;

namespace {
constexpr int64_t dim = 32;

std::string getModel(int64_t ratio, const std::string &format) {
  return "!global = !dsflash.global_kv<rows = 64, dim = 32, ratio = " +
         std::to_string(ratio) + ", <" + format + R"(>>
!pending = !dsflash.pending<slots = 9, dim = 32>
!ids = tensor<?xi32>
!rows = tensor<?x32xf32>
module {
  func.func @forward(
      %kv: !rows {dsflash.name = "kv", dsflash.dim = "rows"},
      %gate: !rows {dsflash.name = "gate", dsflash.dim = "rows"},
      %sequence: !ids {dsflash.name = "sequence", dsflash.dim = "rows"},
      %position: !ids {dsflash.name = "position", dsflash.dim = "rows"},
      %extents: tensor<?x2xi32> {dsflash.name = "extents", dsflash.dim = "sequences"},
      %pending: !pending {dsflash.name = "pending"},
      %global: !global {dsflash.name = "global"})
      -> (!rows {dsflash.name = "latent", dsflash.dim = "rows"},
          !rows {dsflash.name = "loaded", dsflash.dim = "rows"}) {
    %latent, %after = dsflash.compress %kv, %gate pending %pending
      rows(%sequence, %position, %extents) {ratio = )" +
         std::to_string(ratio) + R"( : i64}
      : (!rows, !rows, !pending, !ids, !ids, tensor<?x2xi32>) -> (!rows, !pending)
    %kept = dsflash.append %latent to %global rows(%sequence, %position)
      : (!rows, !global, !ids, !ids) -> !global
    %loaded = dsflash.load %kept rows(%sequence, %position)
      : (!global, !ids, !ids) -> !rows
    return %latent, %loaded : !rows, !rows
  }
})";
}

/// The latent of the rows' groups (SPEC section 3, compressor), in the rows
/// that complete them.
Floats getLatents(const Floats &kv, const Floats &gate, int64_t ratio) {
  Floats latents(kv.size());
  int64_t count = int64_t(kv.size()) / dim;
  for (int64_t last = ratio - 1; last < count; last += ratio)
    for (int64_t f = 0; f < dim; ++f) {
      double sum = 0, weights = 0;
      for (int64_t p = last - ratio + 1; p <= last; ++p) {
        double weight = std::exp(double(gate[p * dim + f]));
        sum += weight * kv[p * dim + f];
        weights += weight;
      }
      latents[last * dim + f] = float(sum / weights);
    }
  return latents;
}

struct Result {
  Floats latent, loaded;
  State state;
};

/// Runs all rows of one sequence in calls of at most `chunk` rows.
Result run(CompiledModel &module, Floats kv, Floats gate, int32_t chunk) {
  Result result{Floats(kv.size()), Floats(kv.size()), module.makeState()};
  int32_t length = int32_t(kv.size() / dim);
  for (int32_t first = 0; first < length; first += chunk)
    module.run(Rows({{first, std::min(chunk, length - first)}}),
               {&result.state},
               {{"kv", &kv[first * dim]},
                {"gate", &gate[first * dim]},
                {"latent", &result.latent[first * dim]},
                {"loaded", &result.loaded[first * dim]}});
  return result;
}

TEST(CompressorTest, EveryChunkingGivesTheSameBits) {
  std::mt19937 random(3);
  for (int64_t ratio : {2, 4}) {
    CompiledModel module(getModel(ratio, "f32"));
    Floats kv = randomFloats(random, 27 * dim);
    Floats gate = randomFloats(random, 27 * dim, 8);
    Result whole = run(module, kv, gate, 27);
    Floats expected = getLatents(kv, gate, ratio);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(whole.latent[i], expected[i]) << i;
    EXPECT_EQ(whole.loaded, whole.latent);
    for (int32_t chunk : {1, 2, 3, 5, 9, 10}) {
      Result other = run(module, kv, gate, chunk);
      EXPECT_EQ(other.latent, whole.latent) << chunk;
      EXPECT_EQ(other.loaded, whole.loaded) << chunk;
      EXPECT_TRUE(other.state == whole.state) << chunk;
    }
  }
}

// Gates that exp alone would take out of range.
TEST(CompressorTest, LargeGates) {
  std::mt19937 random(4);
  CompiledModel module(getModel(2, "f32"));
  Floats kv = randomFloats(random, 2 * dim), gate(2 * dim, 200.0f);
  Result result = run(module, kv, gate, 2);
  for (int64_t f = 0; f < dim; ++f)
    EXPECT_NEAR(result.latent[dim + f], (kv[f] + kv[dim + f]) / 2, 1e-6);
}

// CASES 31: packed as SPEC section 2 says, zeros too.
TEST(CompressorTest, PackedRows) {
  std::mt19937 random(5);
  CompiledModel module(getModel(2, "e2m1, e4m3, [1, 16]"));
  Floats kv = randomFloats(random, 8 * dim, 3);
  std::fill_n(kv.begin() + 4 * dim, 2 * dim, 0.0f);
  Result result = run(module, kv, Floats(kv.size()), 3);
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t first = 0; first < dim; first += 16) {
      const float *latent = &result.latent[(2 * row + 1) * dim + first];
      const float *loaded = &result.loaded[(2 * row + 1) * dim + first];
      uint8_t packed[8];
      float scale = dsf_e4m3_decode(dsf_fp4_kv_quantize(latent, packed));
      for (int64_t i = 0; i < 16; ++i)
        EXPECT_EQ(loaded[i],
                  dsf_e2m1_decode(packed[i / 2] >> (i % 2 * 4) & 15) * scale);
    }
}
} // namespace
