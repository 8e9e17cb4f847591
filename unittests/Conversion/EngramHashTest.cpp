//===- EngramHashTest.cpp - Row ids of n-grams ----------------------------===//

#include "CompiledModel.h"
#include "dsflash/Model/Engram.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace dsflash_test;

namespace {
constexpr int64_t vocabulary = 99092, grams = 3, columns = 24;

dsflash::EngramHash getPublishedHash() {
  dsflash::ModelConfig config;
  config.engram_layer_ids = {1, 14};
  config.engram_max_ngram_size = grams + 1;
  config.engram_vocab_size = 16000000;
  config.engram_n_heads = columns / grams;
  config.engram_compressed_vocab_size = vocabulary;
  return dsflash::engramHashes(config)[0];
}

std::string join(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

std::string getModel(const dsflash::EngramHash &hash) {
  return R"(
!map = !dsflash.weight<[1, 99092], <i32>>
!ids = tensor<?xi32>
module {
  dsflash.param @map "map" from_tokenizer : !map
  func.func @forward(
      %tokens: !ids {dsflash.name = "tokens", dsflash.dim = "rows"},
      %look_back: tensor<?x3xi32> {dsflash.name = "look_back", dsflash.dim = "sequences"},
      %sequence: !ids {dsflash.name = "sequence", dsflash.dim = "rows"},
      %extents: tensor<?x2xi32> {dsflash.name = "extents", dsflash.dim = "sequences"})
      -> (tensor<?x24xi64> {dsflash.name = "rows", dsflash.dim = "rows"}) {
    %map = dsflash.param_ref @map : !map
    %0 = dsflash.engram_hash %tokens, %look_back map %map rows(%sequence, %extents)
      {multipliers = array<i64: )" +
         join(hash.multipliers) +
         ">, primes = array<i64: " + join(hash.primes) +
         R"(>, pad = 2 : i64, image_token = 99000 : i64}
      : (!ids, tensor<?x3xi32>, !map, !ids, tensor<?x2xi32>) -> tensor<?x24xi64>
    return %0 : tensor<?x24xi64>
  }
})";
}

class EngramHashTest : public testing::Test {
protected:
  EngramHashTest() : module(getModel(getPublishedHash())), map(vocabulary) {
    std::iota(map.begin(), map.end(), 0);
    module.weights = {map.data()};
  }

  /// Rows of tokens that follow `earlier` ones.
  std::vector<int64_t> run(Ints tokens, const Ints &earlier) {
    Ints lookBack(grams, -1);
    for (size_t i = 0; i < lookBack.size() && i < earlier.size(); ++i)
      lookBack[i] = earlier[earlier.size() - 1 - i];
    std::vector<int64_t> rows(tokens.size() * columns);
    module.run(Rows({{int32_t(earlier.size()), int32_t(tokens.size())}}), {},
               {{"tokens", tokens.data()},
                {"look_back", lookBack.data()},
                {"rows", rows.data()}});
    return rows;
  }

  static constexpr int32_t pad = 2, image = 99000;
  CompiledModel module;
  Ints map;
  const Ints tokens = {0, 100, 2000, 30000, 99091, 5};
};

// SPEC section 3, Engram.
TEST_F(EngramHashTest, PublishedRows) {
  std::vector<int64_t> rows = run(tokens, {});
  const int64_t *row = &rows[3 * columns];
  EXPECT_EQ(row[0], 10901611);
  EXPECT_EQ(row[1], 27678486);
  EXPECT_EQ(row[8], 134977998);
  EXPECT_EQ(row[16], 267083179);
  EXPECT_EQ(row[23], 368359025);
}

// CASES 14: the border of two calls may lie anywhere.
TEST_F(EngramHashTest, SplitAtEveryOffset) {
  std::vector<int64_t> whole = run(tokens, {});
  for (size_t at = 1; at < tokens.size(); ++at) {
    Ints before(tokens.begin(), tokens.begin() + at);
    std::vector<int64_t> rows = run(before, {});
    std::vector<int64_t> rest =
        run(Ints(tokens.begin() + at, tokens.end()), before);
    rows.insert(rows.end(), rest.begin(), rest.end());
    EXPECT_EQ(rows, whole) << at;
  }
}

// CASES 18: the second sequence of a batch does not see the first one's ids.
TEST_F(EngramHashTest, SequencesDoNotMeet) {
  Ints both = {7, 8, 9, 10}, lookBack = {-1, -1, -1, -1, -1, -1};
  std::vector<int64_t> rows(both.size() * columns);
  module.run(Rows({{0, 3}, {0, 1}}), {},
             {{"tokens", both.data()},
              {"look_back", lookBack.data()},
              {"rows", rows.data()}});
  std::vector<int64_t> alone = run({7, 8, 9}, {}), second = run({10}, {});
  alone.insert(alone.end(), second.begin(), second.end());
  EXPECT_EQ(rows, alone);
}

// CASES 18: an image ends the look back, in the same call and across calls; to
// the hash its own positions are pad tokens.
TEST_F(EngramHashTest, ImagesEndTheLookBack) {
  const Ints text = {7, 8, image, image, 9, 10, 11};
  std::vector<int64_t> rows = run(text, {});
  std::vector<int64_t> first = run({7, 8}, {}), pads = run({pad, pad}, {});
  std::vector<int64_t> expected = first;
  expected.insert(expected.end(), pads.begin(), pads.end());
  std::vector<int64_t> rest = run({9, 10, 11}, {});
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(rows, expected);
  for (size_t at = 1; at < text.size(); ++at) {
    Ints before(text.begin(), text.begin() + at);
    std::vector<int64_t> tail =
        run(Ints(text.begin() + at, text.end()), before);
    EXPECT_TRUE(
        std::equal(tail.begin(), tail.end(), expected.begin() + at * columns))
        << at;
  }
}
} // namespace
