//===- IndexerTest.cpp - Selection of global rows -------------------------===//

#include "CompiledModel.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace dsflash_test;

namespace {
constexpr int64_t heads = 4, dim = 16, blockSize = 4;
constexpr int64_t mostKeys = 16384;
constexpr float infinity = std::numeric_limits<float>::infinity();

std::string getModel(int64_t wanted, int64_t blocks, int64_t ratio) {
  auto table = [](int64_t columns) {
    return "tensor<?x" + std::to_string(columns) + "xi32>";
  };
  std::string selection = table(wanted), kept = table(blocks);
  std::string types = "tensor<?x64xf32>, tensor<?x4xf32>, !keys, !ids, !ids";
  std::string attributes = " {dsflash.dim = \"rows\", dsflash.name = ";
  return "!keys = !dsflash.index_keys<rows = " + std::to_string(mostKeys) +
         ", dim = 16, ratio = " + std::to_string(ratio) + R"(, <f32>>
!ids = tensor<?xi32>
module {
  func.func @forward(
      %q: tensor<?x64xf32> {dsflash.name = "q", dsflash.dim = "rows"},
      %weights: tensor<?x4xf32> {dsflash.name = "weights", dsflash.dim = "rows"},
      %sequence: !ids {dsflash.name = "sequence", dsflash.dim = "rows"},
      %position: !ids {dsflash.name = "position", dsflash.dim = "rows"},
      %keys: !keys {dsflash.name = "keys"})
      -> ()" +
         selection + attributes + "\"plain\"}, " + selection + attributes +
         "\"full\"}, " + kept + attributes + "\"kept\"}, " + selection +
         attributes + R"("inside"}) {
    %0 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
      : ()" +
         types + ") -> " + selection + R"(
    %1:2 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
      {block_size = 4 : i64} : ()" +
         types + ") -> (" + selection + ", " + kept + R"()
    %2 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
      candidates %1#1 {block_size = 4 : i64} : ()" +
         types + ", " + kept + ") -> " + selection +
         "\n    return %0, %1#0, %1#1, %2 : " + selection + ", " + selection +
         ", " + kept + ", " + selection + "\n  }\n}\n";
}

/// The best entries, ties to the lower one, ascending, then -1.
Ints pick(const Floats &scores, int64_t wanted, float lowest) {
  Ints order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(std::remove_if(order.begin(), order.end(),
                             [&](int32_t i) { return !(scores[i] > lowest); }),
              order.end());
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  order.resize(std::min<size_t>(order.size(), wanted));
  std::sort(order.begin(), order.end());
  order.resize(wanted, -1);
  return order;
}

/// Compiled once for all tests.
CompiledModel &getModule(int64_t wanted, int64_t blocks, int64_t ratio) {
  static std::map<std::string, std::unique_ptr<CompiledModel>> modules;
  std::string text = getModel(wanted, blocks, ratio);
  std::unique_ptr<CompiledModel> &module = modules[text];
  if (!module)
    module = std::make_unique<CompiledModel>(text);
  return *module;
}

struct Selections {
  Ints plain, full, kept, inside;
};

class IndexerTest : public testing::Test {
protected:
  std::mt19937 random{11};

  /// Small integers: every order of summation gives the same scores, and many
  /// of them are equal.
  Floats smallIntegers(size_t count) {
    Floats result(count);
    for (float &value : result)
      value = float(int(random() % 5) - 2);
    return result;
  }

  void check(int64_t wanted, int64_t blocks, int32_t ratio, int32_t first,
             int32_t count, float special = 0) {
    CompiledModel &module = getModule(wanted, blocks, ratio);
    State state = module.makeState();
    int64_t keyCount = (first + count) / ratio;
    Floats keys = smallIntegers(keyCount * dim);
    Floats q = smallIntegers(count * heads * dim);
    Floats weights = smallIntegers(count * heads);
    for (int64_t j = 0; special != 0 && j < keyCount; j += 3)
      keys[j * dim] = special;
    // What lies behind is not there yet.
    std::fill_n(state.floats("keys"), mostKeys * dim, infinity);
    std::copy(keys.begin(), keys.end(), state.floats("keys"));

    Selections actual;
    for (Ints *table : {&actual.plain, &actual.full, &actual.inside})
      table->resize(count * wanted);
    actual.kept.resize(count * blocks);
    module.run(Rows({{first, count}}), {&state},
               {{"q", q.data()},
                {"weights", weights.data()},
                {"plain", actual.plain.data()},
                {"full", actual.full.data()},
                {"kept", actual.kept.data()},
                {"inside", actual.inside.data()}});

    for (int64_t i = 0; i < count; ++i) {
      int64_t reach = (first + i + 1) / ratio;
      Floats scores =
          getScores(&q[i * heads * dim], &weights[i * heads], keys, reach);
      auto row = [&](const Ints &table, int64_t columns) {
        return Ints(table.begin() + i * columns,
                    table.begin() + (i + 1) * columns);
      };
      Ints all = pick(scores, wanted, -infinity);
      EXPECT_EQ(row(actual.plain, wanted), all) << i;
      EXPECT_EQ(row(actual.full, wanted), all) << i;
      Ints kept = getKept(scores, blocks);
      EXPECT_EQ(row(actual.kept, blocks), kept) << i;
      Floats inside = scores;
      for (int64_t j = 0; j < reach; ++j)
        if (std::find(kept.begin(), kept.end(), j / blockSize) == kept.end())
          inside[j] = -infinity;
      EXPECT_EQ(row(actual.inside, wanted), pick(inside, wanted, -infinity))
          << i;
    }
  }

private:
  static Floats getScores(const float *q, const float *weights,
                          const Floats &keys, int64_t reach) {
    Floats scores(reach);
    for (int64_t j = 0; j < reach; ++j)
      for (int64_t h = 0; h < heads; ++h) {
        float dot = 0;
        for (int64_t f = 0; f < dim; ++f)
          dot += q[h * dim + f] * keys[j * dim + f];
        scores[j] += weights[h] * (dot < 0 ? 0 : dot);
      }
    return scores;
  }

  static Ints getKept(const Floats &scores, int64_t blocks) {
    int64_t count = (int64_t(scores.size()) + blockSize - 1) / blockSize;
    Floats best(count, std::numeric_limits<float>::lowest());
    for (size_t j = 0; j < scores.size(); ++j)
      if (scores[j] > best[j / blockSize])
        best[j / blockSize] = scores[j];
    if (count)
      best.back() = infinity;
    return pick(best, blocks, -infinity);
  }
};

// CASES 5: fewer rows than k.
TEST_F(IndexerTest, ShortContexts) {
  check(/*wanted=*/6, /*blocks=*/3, /*ratio=*/1, 7, 0);
  check(/*wanted=*/6, /*blocks=*/3, /*ratio=*/1, 0, 12);
  check(/*wanted=*/6, /*blocks=*/3, /*ratio=*/2, 0, 15);
}

// More than the buffers hold, many times; CASES 27: many scores are equal.
TEST_F(IndexerTest, LongContexts) {
  check(/*wanted=*/6, /*blocks=*/3, /*ratio=*/1, 900, 5);
  check(/*wanted=*/40, /*blocks=*/20, /*ratio=*/1, 777, 4);
  check(/*wanted=*/100, /*blocks=*/150, /*ratio=*/2, 1500, 3);
}

// Rows whose keys are scanned in several parts, of which the last is not full.
TEST_F(IndexerTest, ManyParts) {
  check(/*wanted=*/40, /*blocks=*/20, /*ratio=*/1, 9000, 2);
  check(/*wanted=*/700, /*blocks=*/300, /*ratio=*/1, 4093, 3);
  check(/*wanted=*/100, /*blocks=*/150, /*ratio=*/2, 16382, 2, infinity);
}

// Many rows have a part each.
TEST_F(IndexerTest, ManyRows) {
  check(/*wanted=*/6, /*blocks=*/3, /*ratio=*/1, 200, 130);
}

// CASES 8: NaN scores are not selected, indices stay unique and in range.
TEST_F(IndexerTest, NaNAndInfinity) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (float special : {nan, -nan, infinity})
    check(/*wanted=*/6, /*blocks=*/3, /*ratio=*/1, 300, 4, special);
}

// A row of the published sizes (SPEC section 1) with eight parts of 1024 keys:
// each takes the query once, and its keys once. Inside 128 candidate blocks of
// 8 there is one part, which reads those keys alone.
TEST_F(IndexerTest, CountersFollowFromTheTile) {
  constexpr double keys = 8192, parts = 8, keyHeads = 32, keyDim = 128,
                   topK = 512, blocks = 128, inside = blocks * 8;
  std::string model = R"(
!keys = !dsflash.index_keys<rows = 8192, dim = 128, ratio = 1, <e2m1, e8m0, [1, 32]>>
!ids = tensor<?xi32>
!q = tensor<?x4096xf32>
!weights = tensor<?x32xf32>
!selection = tensor<?x512xi32>
!blocks = tensor<?x128xi32>
module {
  func.func @forward(
      %q: !q {dsflash.name = "q", dsflash.dim = "rows"},
      %weights: !weights {dsflash.name = "weights", dsflash.dim = "rows"},
      %sequence: !ids {dsflash.name = "sequence", dsflash.dim = "rows"},
      %position: !ids {dsflash.name = "position", dsflash.dim = "rows"},
      %blocks: !blocks {dsflash.name = "blocks", dsflash.dim = "rows"},
      %keys: !keys {dsflash.name = "keys"})
      -> (!selection {dsflash.name = "selection", dsflash.dim = "rows"},
          !selection {dsflash.name = "inside", dsflash.dim = "rows"}) {
    %0 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
      : (!q, !weights, !keys, !ids, !ids) -> !selection
    %1 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
      candidates %blocks {block_size = 8 : i64}
      : (!q, !weights, !keys, !ids, !ids, !blocks) -> !selection
    return %0, %1 : !selection, !selection
  }
})";
  CompiledModel module(model, "nvptx:sm_80", "counters");
  State state = module.makeState();
  Floats q = randomFloats(random, size_t(keyHeads * keyDim)),
         weights = randomFloats(random, size_t(keyHeads));
  Ints selection(size_t(topK), -1), chosen = selection, candidates;
  for (int32_t i = 0; i < int32_t(blocks); ++i)
    candidates.push_back(i * 8 + 7);
  module.run(Rows({{int32_t(keys) - 1, 1}}), {&state},
             {{"q", q.data()},
              {"weights", weights.data()},
              {"blocks", candidates.data()},
              {"selection", selection.data()},
              {"inside", chosen.data()}});
  nlohmann::json counted = nlohmann::json::parse(module.getStatistics());
  auto numberOf = [&](std::string_view kernel, const char *name) {
    for (const nlohmann::json &row : counted)
      if (row["name"] == kernel)
        return row[name].get<double>();
    ADD_FAILURE() << "no kernel " << kernel;
    return 0.0;
  };
  auto number = [&](const char *name) { return numberOf("indexer_512", name); };
  double key = keyDim / 2 + keyDim / 32,
         query = (keyHeads * keyDim + keyHeads) * 4;
  double entries = parts * topK * 8;
  EXPECT_LE(number("unique_read_bytes"), 1.02 * (keys * key + query));
  EXPECT_LE(number("unique_written_bytes"), 1.02 * entries);
  // All threads of the 128 parts look up the row's sequence and position, the
  // table of states and the address of this one.
  constexpr double threads = 128 * 128, look = 4 + 4 + 8 + 8;
  double requested = keys * key + parts * query + threads * look;
  EXPECT_NEAR(number("global_read_bytes"), requested, 0.05 * requested);
  EXPECT_LE(number("global_sectors"), 1.05 * number("ideal_sectors"));
  EXPECT_LE(number("shared_passes"), 1.1 * number("ideal_passes"));
  double read = numberOf("candidate_indexer_512", "unique_read_bytes");
  EXPECT_GE(read, inside * key + query);
  EXPECT_LE(read, 1.02 * (inside * key + query + blocks * 4));
}

// CASES 27: all scores zero.
TEST_F(IndexerTest, AllScoresZero) {
  CompiledModel &module = getModule(6, 3, 1);
  State state = module.makeState();
  constexpr int32_t position = 499;
  std::fill_n(state.floats("keys"), 500 * dim, -1.0f);
  Floats q(heads * dim, 0.0f), weights = {-1, 1, -1, 1};
  Ints plain(6), full(6), kept(3), inside(6);
  module.run(Rows({{position, 1}}), {&state},
             {{"q", q.data()},
              {"weights", weights.data()},
              {"plain", plain.data()},
              {"full", full.data()},
              {"kept", kept.data()},
              {"inside", inside.data()}});
  EXPECT_EQ(plain, (Ints{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(full, plain);
  EXPECT_EQ(kept, (Ints{0, 1, 124}));
  EXPECT_EQ(inside, plain);
}
} // namespace
