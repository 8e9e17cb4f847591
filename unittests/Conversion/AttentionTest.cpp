//===- AttentionTest.cpp - CSA2 and draft attention -----------------------===//

#include "CompiledModel.h"
#include "dsflash/ABI/QuantFormats.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace dsflash_test;

namespace {
constexpr int64_t heads = 4, dim = 32, window = 8, topK = 6;
constexpr int64_t globalRows = 64;

struct Formats {
  std::string window = "f32", global = "f32";
};

std::string getModel(const std::string &operation, const Formats &formats) {
  return R"(
!window = !dsflash.window<layers = 2, slots = 13, dim = 32, <)" +
         formats.window + R"(>>
!global = !dsflash.global_kv<rows = 64, dim = 32, ratio = 1, <)" +
         formats.global + R"(>>
!sink = !dsflash.weight<[1, 4], <f32>>
!ids = tensor<?xi32>
module {
  dsflash.param @sink "sink" : !sink
  func.func @forward(
      %q: tensor<?x128xf32> {dsflash.name = "q", dsflash.dim = "rows"},
      %kv: tensor<?x32xf32> {dsflash.name = "kv", dsflash.dim = "rows"},
      %selection: tensor<?x6xi32> {dsflash.name = "selection", dsflash.dim = "rows"},
      %sequence: !ids {dsflash.name = "sequence", dsflash.dim = "rows"},
      %position: !ids {dsflash.name = "position", dsflash.dim = "rows"},
      %extents: tensor<?x2xi32> {dsflash.name = "extents", dsflash.dim = "sequences"},
      %window: !window {dsflash.name = "window"},
      %global: !global {dsflash.name = "global"})
      -> (tensor<?x128xf32> {dsflash.name = "out", dsflash.dim = "rows"}) {
    %layer = arith.constant 1 : index
    %sink = dsflash.param_ref @sink : !sink
    )" + operation +
         R"(
    return %out : tensor<?x128xf32>
  }
})";
}

std::string getCSA2(const std::string &attributes) {
  return R"(%out, %after = dsflash.csa2 <full> %q, %kv window %window[%layer] sink %sink
      rows(%sequence, %position, %extents) global %global selection %selection
      {heads = 4 : i64, sliding_window = 8 : i64)" +
         attributes + R"(}
      : (tensor<?x128xf32>, tensor<?x32xf32>, !window, index, !sink, !ids, !ids,
         tensor<?x2xi32>, !global, tensor<?x6xi32>) -> (tensor<?x128xf32>, !window))";
}

const char *draftAttention =
    R"(%out = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink
      rows(%sequence, %position, %extents) {heads = 4 : i64, sliding_window = 8 : i64}
      : (tensor<?x128xf32>, tensor<?x32xf32>, !window, index, !sink, !ids, !ids,
         tensor<?x2xi32>) -> tensor<?x128xf32>)";

/// One query over the rows that it sees (SPEC section 3, attention).
Floats attend(const float *query, const std::vector<const float *> &keys,
              const Floats &sink, bool roundProbabilities) {
  Floats out(heads * dim);
  if (keys.empty())
    return out;
  for (int64_t h = 0; h < heads; ++h) {
    std::vector<double> scores, sums(dim);
    for (const float *key : keys) {
      double dot = 0;
      for (int64_t f = 0; f < dim; ++f)
        dot += double(query[h * dim + f]) * key[f];
      scores.push_back(dot / std::sqrt(double(dim)));
    }
    double top = *std::max_element(scores.begin(), scores.end());
    double denominator = std::exp(sink[h] - top);
    for (size_t t = 0; t < keys.size(); ++t) {
      double e = std::exp(scores[t] - top);
      denominator += e;
      if (roundProbabilities)
        e = dsf_bf16_round(float(e));
      for (int64_t f = 0; f < dim; ++f)
        sums[f] += e * keys[t][f];
    }
    for (int64_t f = 0; f < dim; ++f)
      out[h * dim + f] = float(sums[f] / denominator);
  }
  return out;
}

void expectNear(const Floats &actual, const Floats &expected,
                double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  double error = 0, size = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_TRUE(std::isfinite(actual[i])) << i;
    error += std::pow(double(actual[i]) - expected[i], 2);
    size += std::pow(double(expected[i]), 2);
  }
  EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(size));
}

class AttentionTest : public testing::Test {
protected:
  std::mt19937 random{7};
  Floats sink = randomFloats(random, heads);
  Floats global = randomFloats(random, globalRows *dim);

  /// All rows of one sequence, and a selection for each of them.
  struct Sequence {
    int32_t length;
    Floats q, kv;
    Ints selection;
  };
  Sequence makeSequence(int32_t length) {
    Sequence result{length,
                    randomFloats(random, length * heads * dim, 2),
                    randomFloats(random, length * dim),
                    {}};
    for (int32_t i = 0; i < length; ++i) {
      Ints picked(globalRows);
      for (int64_t j = 0; j < globalRows; ++j)
        picked[j] = int32_t(j);
      std::shuffle(picked.begin(), picked.end(), random);
      picked.resize(i % (topK + 1));
      std::sort(picked.begin(), picked.end());
      // Missing ones lie behind, and in every third row in front.
      picked.insert(i % 3 ? picked.end() : picked.begin(), topK - picked.size(),
                    -1);
      result.selection.insert(result.selection.end(), picked.begin(),
                              picked.end());
    }
    return result;
  }

  Floats getExpected(const Sequence &sequence, bool roundProbabilities) {
    Floats out;
    for (int64_t i = 0; i < sequence.length; ++i) {
      std::vector<const float *> keys;
      for (int64_t p = std::max<int64_t>(0, i - window + 1); p <= i; ++p)
        keys.push_back(&sequence.kv[p * dim]);
      for (int64_t s = 0; s < topK; ++s)
        if (int32_t row = sequence.selection[i * topK + s]; row >= 0)
          keys.push_back(&global[row * dim]);
      Floats row =
          attend(&sequence.q[i * heads * dim], keys, sink, roundProbabilities);
      out.insert(out.end(), row.begin(), row.end());
    }
    return out;
  }

  State makeState(CompiledModel &module) {
    State state = module.makeState();
    std::copy(global.begin(), global.end(), state.floats("global"));
    return state;
  }

  /// Runs the whole sequence in calls of at most `chunk` rows.
  Floats run(CompiledModel &module, Sequence sequence, int32_t chunk,
             State &state) {
    Floats out(sequence.q.size());
    for (int32_t first = 0; first < sequence.length; first += chunk) {
      int32_t count = std::min(chunk, sequence.length - first);
      module.run(Rows({{first, count}}), {&state},
                 {{"q", &sequence.q[first * heads * dim]},
                  {"kv", &sequence.kv[first * dim]},
                  {"selection", &sequence.selection[first * topK]},
                  {"out", &out[first * heads * dim]}});
    }
    return out;
  }
};

TEST_F(AttentionTest, EveryChunkingGivesTheSameBits) {
  for (bool roundProbabilities : {false, true}) {
    CompiledModel module(getModel(
        getCSA2(roundProbabilities ? ", round_probabilities" : ""), {}));
    module.weights = {sink.data()};
    Sequence sequence = makeSequence(3 * window + 1);
    State state = makeState(module);
    Floats whole = run(module, sequence, sequence.length, state);
    expectNear(whole, getExpected(sequence, roundProbabilities),
               roundProbabilities ? 1e-4 : 1e-6);
    for (int32_t chunk : {1, 2, 3, 7, 8, 9, 14}) {
      State other = makeState(module);
      EXPECT_EQ(run(module, sequence, chunk, other), whole) << chunk;
      EXPECT_TRUE(other == state) << chunk;
    }
    module.piece = 1000;
    State other = makeState(module);
    EXPECT_EQ(run(module, sequence, 5, other), whole);
  }
}

TEST_F(AttentionTest, SequencesDoNotMeet) {
  CompiledModel module(getModel(getCSA2(""), {}));
  module.weights = {sink.data()};
  Sequence one = makeSequence(12), two = makeSequence(31);
  State stateOne = makeState(module), stateTwo = makeState(module);
  Floats alone = run(module, one, 12, stateOne);
  Floats aloneTwo = run(module, two, 31, stateTwo);

  Sequence both = one;
  both.q.insert(both.q.end(), two.q.begin(), two.q.end());
  both.kv.insert(both.kv.end(), two.kv.begin(), two.kv.end());
  both.selection.insert(both.selection.end(), two.selection.begin(),
                        two.selection.end());
  State first = makeState(module), second = makeState(module);
  Floats out(both.q.size());
  module.run(Rows({{0, 12}, {0, 31}}), {&first, &second},
             {{"q", both.q.data()},
              {"kv", both.kv.data()},
              {"selection", both.selection.data()},
              {"out", out.data()}});
  alone.insert(alone.end(), aloneTwo.begin(), aloneTwo.end());
  EXPECT_EQ(out, alone);
  EXPECT_TRUE(first == stateOne && second == stateTwo);
}

// A query against rows whose scores are far below 0: the sink takes all.
TEST_F(AttentionTest, HugeScoresGiveNoNaN) {
  CompiledModel module(getModel(getCSA2(""), {}));
  module.weights = {sink.data()};
  Sequence sequence = makeSequence(9);
  for (float &x : sequence.q)
    x = -1e30f;
  for (float &x : sequence.kv)
    x = 1;
  std::fill(sequence.selection.begin(), sequence.selection.end(), -1);
  State state = makeState(module);
  EXPECT_EQ(run(module, sequence, 4, state), Floats(sequence.q.size()));
}

// CASES 31: zeros go through the quantizers of window and global rows.
TEST_F(AttentionTest, PackedRowsAndZeros) {
  CompiledModel module(
      getModel(getCSA2(", round_probabilities"),
               {"e4m3, e8m0, [1, 32]", "e2m1, e4m3, [1, 16]"}));
  module.weights = {sink.data()};
  // Values of FP8 rows that one scale fits, one row all zero.
  Sequence sequence = makeSequence(21);
  for (size_t i = 0; i < sequence.kv.size(); ++i)
    sequence.kv[i] = i / dim == 5 ? 0 : float(int(random() % 15) - 7) / 8;
  State whole = module.makeState();
  unsigned char *codes = whole.plane("global");
  for (int64_t i = 0; i < globalRows * dim / 2; ++i)
    codes[i] = (unsigned char)(random());
  unsigned char *scales = codes + globalRows * dim / 2;
  for (int64_t i = 0; i < globalRows * dim / 16; ++i)
    scales[i] = dsf_e4m3_encode(i % 7 * 0.125f);
  for (int64_t i = 0; i < globalRows * dim; ++i)
    global[i] = dsf_e2m1_decode(codes[i / 2] >> (i % 2 * 4) & 15) *
                dsf_e4m3_decode(scales[i / 16]);
  State stepwise = whole;
  Floats out = run(module, sequence, sequence.length, whole);
  expectNear(out, getExpected(sequence, true), 1e-4);
  EXPECT_EQ(run(module, sequence, 1, stepwise), out);
}

TEST_F(AttentionTest, DraftBlockSeesRingAndAllOfItself) {
  CompiledModel backbone(getModel(getCSA2(""), {}));
  CompiledModel draft(getModel(draftAttention, {}));
  backbone.weights = draft.weights = {sink.data()};
  for (int32_t length : {1, 7, 8, 30}) {
    Sequence context = makeSequence(length), block = makeSequence(5);
    State state = makeState(backbone);
    run(backbone, context, 4, state);
    State before = state;
    Floats out(block.q.size());
    draft.run(Rows({{length, 5}}), {&state},
              {{"q", block.q.data()},
               {"kv", block.kv.data()},
               {"selection", block.selection.data()},
               {"out", out.data()}});
    EXPECT_TRUE(state == before);
    std::vector<const float *> keys;
    for (int64_t p = std::max<int64_t>(0, length - window); p < length; ++p)
      keys.push_back(&context.kv[p * dim]);
    for (int64_t i = 0; i < 5; ++i)
      keys.push_back(&block.kv[i * dim]);
    Floats expected;
    for (int64_t i = 0; i < 5; ++i) {
      Floats row = attend(&block.q[i * heads * dim], keys, sink, false);
      expected.insert(expected.end(), row.begin(), row.end());
    }
    expectNear(out, expected, 1e-6);
  }
}
} // namespace
