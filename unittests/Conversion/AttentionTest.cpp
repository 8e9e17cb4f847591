//===- AttentionTest.cpp - CSA2 and draft attention -----------------------===//

#include "CompiledModel.h"
#include "dsflash/ABI/QuantFormats.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace dsflash_test;

namespace {
constexpr int64_t globalRows = 600;

struct Shape {
  int64_t heads = 4, dim = 32, window = 8;
  int64_t topK = 6; // 0: no global rows
  std::string ring = "f32", global = "f32";
  bool roundProbabilities = false;
  /// Queries and window rows pass a rounding point.
  bool roundInputs = false;
};

std::string getModel(const Shape &shape, const std::string &operation) {
  std::string dim = std::to_string(shape.dim);
  std::string q =
      "tensor<?x" + std::to_string(shape.heads * shape.dim) + "xf32>";
  std::string kv = "tensor<?x" + dim + "xf32>";
  std::string selection =
      "tensor<?x" + std::to_string(std::max<int64_t>(shape.topK, 1)) + "xi32>";
  std::string sink =
      "!dsflash.weight<[1, " + std::to_string(shape.heads) + "], <f32>>";
  std::string rounded = "%query = dsflash.round %q {point = \"q\"} : " + q +
                        "\n%rows = dsflash.round %kv {point = \"kv\"} : " + kv;
  std::string text = R"(
!window = !dsflash.window<layers = 2, slots = WINDOW, dim = DIM, <RING>>
!global = !dsflash.global_kv<rows = GLOBAL_ROWS, dim = DIM, ratio = 1, <GLOBAL>>
!sink = SINK
!q = QUERY
!kv = KV
!selection = SELECTION
!ids = tensor<?xi32>
module {
  dsflash.param @sink "sink" : !sink
  func.func @forward(
      %INQ: !q {dsflash.name = "q", dsflash.dim = "rows"},
      %INKV: !kv {dsflash.name = "kv", dsflash.dim = "rows"},
      %selection: !selection {dsflash.name = "selection", dsflash.dim = "rows"},
      %sequence: !ids {dsflash.name = "sequence", dsflash.dim = "rows"},
      %position: !ids {dsflash.name = "position", dsflash.dim = "rows"},
      %extents: tensor<?x2xi32> {dsflash.name = "extents", dsflash.dim = "sequences"},
      %window: !window {dsflash.name = "window"},
      %global: !global {dsflash.name = "global"})
      -> (!q {dsflash.name = "out", dsflash.dim = "rows"}) {
    %layer = arith.constant 1 : index
    %sink = dsflash.param_ref @sink : !sink
    ROUNDED
    OPERATION
    return %out : !q
  }
})";
  auto replace = [&](const std::string &name, const std::string &value) {
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), value);
  };
  replace("ROUNDED", shape.roundInputs ? rounded : "");
  replace("OPERATION", operation);
  replace("INQ", shape.roundInputs ? "q" : "query");
  replace("INKV", shape.roundInputs ? "kv" : "rows");
  replace("WINDOW", std::to_string(shape.window + 5));
  replace("GLOBAL_ROWS", std::to_string(globalRows));
  replace("DIM", dim);
  replace("RING", shape.ring);
  replace("GLOBAL", shape.global);
  replace("SINK", sink);
  replace("QUERY", q);
  replace("KV", kv);
  replace("SELECTION", selection);
  return text;
}

std::string getAttributes(const Shape &shape) {
  return "{heads = " + std::to_string(shape.heads) +
         " : i64, sliding_window = " + std::to_string(shape.window) + " : i64" +
         (shape.roundProbabilities ? ", round_probabilities" : "");
}

std::string getCSA2(const Shape &shape) {
  bool hasGlobal = shape.topK > 0;
  return getModel(
      shape,
      "%out, %after = dsflash.csa2 " +
          std::string(hasGlobal ? "<full>" : "<window>") +
          " %query, %rows window %window[%layer] sink %sink "
          "rows(%sequence, %position, %extents) " +
          (hasGlobal ? "global %global selection %selection " : "") +
          getAttributes(shape) +
          "} : (!q, !kv, !window, index, !sink, !ids, !ids, tensor<?x2xi32>" +
          (hasGlobal ? ", !global, !selection" : "") + ") -> (!q, !window)");
}

std::string getDraftAttention(const Shape &shape) {
  return getModel(
      shape,
      "%out = dsflash.draft_attention %query, %rows window "
      "%window[%layer] sink %sink rows(%sequence, %position, %extents) " +
          getAttributes(shape) +
          ", block_rows = 5 : i64} : (!q, !kv, !window, index, !sink, "
          "!ids, !ids, tensor<?x2xi32>) -> !q");
}

/// One query over the rows that it sees (SPEC section 3, attention).
Floats attend(const Shape &shape, const float *query,
              const std::vector<const float *> &keys, const Floats &sink) {
  auto [heads, dim] = std::pair(shape.heads, shape.dim);
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
      if (shape.roundProbabilities)
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
  Shape shape;
  std::mt19937 random{7};
  Floats sink, global;

  /// All rows of one sequence, and a selection for each of them.
  struct Sequence {
    int32_t length;
    Floats q, kv;
    Ints selection;
  };
  Sequence makeSequence(int32_t length) {
    Sequence result{length,
                    randomFloats(random, length * shape.heads * shape.dim, 2),
                    randomFloats(random, length * shape.dim),
                    {}};
    if (shape.roundInputs)
      for (float &x : result.q)
        x = dsf_bf16_round(x);
    // Values of FP8 rows that one scale fits, one row all zero.
    if (shape.ring != "f32")
      for (size_t i = 0; i < result.kv.size(); ++i)
        result.kv[i] =
            i / shape.dim == 5 ? 0 : float(int(random() % 15) - 7) / 8;
    int64_t columns = std::max<int64_t>(shape.topK, 1);
    for (int32_t i = 0; i < length; ++i) {
      Ints picked(globalRows);
      for (int64_t j = 0; j < globalRows; ++j)
        picked[j] = int32_t(j);
      std::shuffle(picked.begin(), picked.end(), random);
      picked.resize((columns - i % (columns + 1)) % (columns + 1));
      std::sort(picked.begin(), picked.end());
      // Missing ones lie behind, and in every third row in front.
      picked.insert(i % 3 ? picked.end() : picked.begin(),
                    columns - picked.size(), -1);
      result.selection.insert(result.selection.end(), picked.begin(),
                              picked.end());
    }
    return result;
  }

  Floats getExpected(const Sequence &sequence) {
    Floats out;
    for (int64_t i = 0; i < sequence.length; ++i) {
      std::vector<const float *> keys;
      for (int64_t p = std::max<int64_t>(0, i - shape.window + 1); p <= i; ++p)
        keys.push_back(&sequence.kv[p * shape.dim]);
      for (int64_t s = 0; s < shape.topK; ++s)
        if (int32_t row = sequence.selection[i * shape.topK + s]; row >= 0)
          keys.push_back(&global[row * shape.dim]);
      Floats row =
          attend(shape, &sequence.q[i * shape.heads * shape.dim], keys, sink);
      out.insert(out.end(), row.begin(), row.end());
    }
    return out;
  }

  CompiledModel compile(const std::string &text) {
    sink = randomFloats(random, shape.heads);
    return CompiledModel(text);
  }

  /// A state with global rows of any values.
  State makeState(CompiledModel &module) {
    State state = module.makeState();
    int64_t elements = globalRows * shape.dim;
    std::mt19937 values(5);
    if (shape.global == "f32") {
      global = randomFloats(values, elements);
      std::copy(global.begin(), global.end(), state.floats("global"));
      return state;
    }
    unsigned char *codes = state.plane("global");
    unsigned char *scales = codes + elements / 2;
    global.resize(elements);
    for (int64_t i = 0; i < elements / 2; ++i)
      codes[i] = (unsigned char)(values());
    for (int64_t i = 0; i < elements / 16; ++i)
      scales[i] = dsf_e4m3_encode(i % 7 * 0.125f);
    for (int64_t i = 0; i < elements; ++i)
      global[i] = dsf_e2m1_decode(codes[i / 2] >> (i % 2 * 4) & 15) *
                  dsf_e4m3_decode(scales[i / 16]);
    return state;
  }

  /// Runs the whole sequence in calls of at most `chunk` rows.
  Floats run(CompiledModel &module, Sequence sequence, int32_t chunk,
             State &state) {
    module.weights = {sink.data()};
    int64_t features = shape.heads * shape.dim;
    int64_t columns = std::max<int64_t>(shape.topK, 1);
    Floats out(sequence.q.size());
    for (int32_t first = 0; first < sequence.length; first += chunk) {
      int32_t count = std::min(chunk, sequence.length - first);
      module.run(Rows({{first, count}}), {&state},
                 {{"q", &sequence.q[first * features]},
                  {"kv", &sequence.kv[first * shape.dim]},
                  {"selection", &sequence.selection[first * columns]},
                  {"out", &out[first * features]}});
    }
    return out;
  }
};

TEST_F(AttentionTest, EveryChunkingGivesTheSameBits) {
  for (bool roundProbabilities : {false, true}) {
    shape.roundProbabilities = roundProbabilities;
    CompiledModel module = compile(getCSA2(shape));
    Sequence sequence = makeSequence(3 * shape.window + 1);
    State state = makeState(module);
    Floats whole = run(module, sequence, sequence.length, state);
    expectNear(whole, getExpected(sequence), roundProbabilities ? 1e-4 : 1e-6);
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

/// Rows of a call: none, one, fewer and more than a window.
TEST_F(AttentionTest, EveryShape) {
  constexpr const char *fp8 = "e4m3, e8m0, [1, 8]",
                       *fp4 = "e2m1, e4m3, [1, 16]";
  const std::pair<Shape, int32_t> shapes[] = {
      {{1, 8, 1, 0}, 2},
      {{3, 40, 5, 1}, 9},
      {{17, 96, 40, 70}, 4},
      {{65, 16, 3, 33}, 3},
      {{40, 32, 8, 6}, 9}, // five items of eight heads, four share keys
      {{2, 6, 3, 2}, 3},   // no tile has these rows
      {{1, 16, 1, 0, fp8, "f32", true, true}, 2},
      {{3, 160, 5, 1, fp8, fp4, true, true}, 9},
      {{17, 96, 40, 70, fp8, fp4, true, true}, 4},
      {{65, 32, 3, 33, fp8, fp4, true, true}, 3},
      {{64, 512, 20, 512, fp8, fp4, true, true}, 1},
      {{4, 32, 8, 6, fp8, fp4, false, true}, 9},
      {{4, 32, 8, 6, fp8, "f32", true, true}, 9}};
  for (const auto &[of, length] : shapes) {
    shape = of;
    SCOPED_TRACE(testing::Message()
                 << shape.heads << " heads of " << shape.dim << ", window "
                 << shape.window << ", " << shape.topK << " selected, "
                 << shape.ring << "/" << shape.global);
    CompiledModel module = compile(getCSA2(shape));
    Sequence sequence = makeSequence(length);
    State state = makeState(module), stepwise = state;
    Floats whole = run(module, sequence, length, state);
    expectNear(whole, getExpected(sequence),
               shape.roundProbabilities ? 1e-4 : 1e-6);
    EXPECT_EQ(run(module, sequence, 1, stepwise), whole);
    EXPECT_TRUE(stepwise == state);
    module.run(Rows({}), {},
               {{"q", nullptr},
                {"kv", nullptr},
                {"selection", nullptr},
                {"out", nullptr}});
  }
}

TEST_F(AttentionTest, SequencesDoNotMeet) {
  CompiledModel module = compile(getCSA2(shape));
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
  CompiledModel module = compile(getCSA2(shape));
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
  shape.roundProbabilities = true;
  shape.ring = "e4m3, e8m0, [1, 32]";
  shape.global = "e2m1, e4m3, [1, 16]";
  for (bool roundInputs : {false, true}) {
    shape.roundInputs = roundInputs;
    CompiledModel module = compile(getCSA2(shape));
    Sequence sequence = makeSequence(21);
    State whole = makeState(module), stepwise = whole;
    Floats out = run(module, sequence, sequence.length, whole);
    expectNear(out, getExpected(sequence), 1e-4);
    EXPECT_EQ(run(module, sequence, 1, stepwise), out);
  }
}

TEST_F(AttentionTest, DraftBlockSeesRingAndAllOfItself) {
  for (bool isPacked : {false, true}) {
    if (isPacked)
      shape = {4,    32,  8, 6, "e4m3, e8m0, [1, 32]", "e2m1, e4m3, [1, 16]",
               true, true};
    CompiledModel backbone = compile(getCSA2(shape));
    CompiledModel draft = compile(getDraftAttention(shape));
    draft.weights = {sink.data()};
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
      for (int64_t p = std::max<int64_t>(0, length - shape.window); p < length;
           ++p)
        keys.push_back(&context.kv[p * shape.dim]);
      for (int64_t i = 0; i < 5; ++i)
        keys.push_back(&block.kv[i * shape.dim]);
      Floats expected;
      for (int64_t i = 0; i < 5; ++i) {
        Floats row =
            attend(shape, &block.q[i * shape.heads * shape.dim], keys, sink);
        expected.insert(expected.end(), row.begin(), row.end());
      }
      expectNear(out, expected, isPacked ? 1e-4 : 1e-6);
    }
  }
}

// A row of the published sizes (SPEC section 1) that sees a full window and 512
// rows. Its scores take the queries once for 32 keys, its values the
// probabilities once for 64 features.
TEST_F(AttentionTest, CountersFollowFromTheTiles) {
  constexpr double heads = 64, dim = 512, window = 128, topK = 512;
  constexpr double keys = window + topK, keyTile = 32, featureTile = 64;
  shape = {64,   512, 128, 512, "e4m3, e8m0, [1, 32]", "e2m1, e4m3, [1, 16]",
           true, true};
  sink = randomFloats(random, shape.heads);
  CompiledModel module(getCSA2(shape), "nvptx:sm_80", "counters");
  Sequence sequence = makeSequence(1);
  State state = makeState(module);
  Floats out(sequence.q.size());
  module.weights = {sink.data()};
  module.run(Rows({{1000, 1}}), {&state},
             {{"q", sequence.q.data()},
              {"kv", sequence.kv.data()},
              {"selection", sequence.selection.data()},
              {"out", out.data()}});
  double query = heads * dim * 4, scores = heads * keys * 4;
  double probabilities = heads * keys * 2, result = heads * dim * 4;
  double keyRows =
      dim * 4 + (window - 1) * (dim + dim / 32) + topK * (dim / 2 + dim / 16);
  // Of the packed keys, a word for every slice of 64 features.
  double keyScales = (keys - 1) * dim / featureTile * 4;
  double payload = dim * 4 + (window - 1) * dim + topK * dim / 2;
  // Of a packed row a thread takes 8 values and one scale.
  double keyRequests =
      dim * 4 + (keys - 1) * dim / 8 + (window - 1) * dim + topK * dim / 2;
  double selection = topK * 4, slices = dim / featureTile;
  struct Expected {
    std::string kernel;
    double read, written, requested, flops;
  };
  double flops = 2 * heads * dim * keys;
  // Every lane of a head takes addresses, the number of keys and the sink.
  constexpr double lanes = 32, lane = 2 * 8 + 2 * 4;
  const Expected expected[] = {
      {"csa2_scores", query + keyRows + selection, scores + keyScales,
       query * keys / keyTile + keyRequests, flops},
      {"attention_softmax", scores, probabilities,
       2 * scores + heads * lanes * lane, 0},
      {"csa2_values", probabilities + payload + selection + keyScales, result,
       probabilities * slices + keyRequests + slices * selection, flops}};
  nlohmann::json counted = nlohmann::json::parse(module.getStatistics());
  for (const Expected &kernel : expected) {
    SCOPED_TRACE(kernel.kernel);
    auto found = std::find_if(
        counted.begin(), counted.end(), [&](const nlohmann::json &object) {
          return object["name"].get<std::string>().find(kernel.kernel) == 0;
        });
    ASSERT_NE(found, counted.end());
    auto number = [&](const char *name) {
      return (*found)[name].get<double>();
    };
    EXPECT_EQ(number("tensor_flops"), kernel.flops);
    EXPECT_LE(number("unique_read_bytes"), 1.02 * kernel.read);
    EXPECT_NEAR(number("unique_written_bytes"), kernel.written,
                0.02 * kernel.written);
    EXPECT_NEAR(number("global_read_bytes"), kernel.requested,
                0.05 * kernel.requested);
    EXPECT_LE(number("global_sectors"), 1.05 * number("ideal_sectors"));
    EXPECT_LE(number("shared_passes"), 1.1 * number("ideal_passes"));
  }
}
} // namespace
