//===- ModelKernelsTest.cpp - Kernels of norm, quantizers and experts -----===//
//
// Expected values are the formulas of SPEC sections 2 and 3, in double.
//
//===----------------------------------------------------------------------===//

#include "Jit.h"
#include "Weights.h"
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace dsflash_test;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

std::string f32(const std::string &extents) {
  return "tensor<" + extents + "xf32>";
}
std::string i32(const std::string &extents) {
  return "tensor<" + extents + "xi32>";
}

/// A function that holds one operation: `operation` without results and types.
std::string model(const std::string &operation,
                  const std::vector<std::string> &operands,
                  const std::vector<std::string> &results) {
  auto join = [](const std::vector<std::string> &parts) {
    std::string text;
    for (const std::string &part : parts)
      text += (text.empty() ? "" : ", ") + part;
    return text;
  };
  std::vector<std::string> arguments, values;
  for (size_t i = 0; i < operands.size(); ++i)
    arguments.push_back("%" + std::to_string(i) + ": " + operands[i]);
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back("%r#" + std::to_string(i));
  std::string name =
      results.size() > 1 ? "%r:" + std::to_string(results.size()) : "%r";
  if (results.size() == 1)
    values = {"%r"};
  return "func.func @f(" + join(arguments) + ") -> (" + join(results) +
         ") {\n  " + name + " = dsflash." + operation + " : (" +
         join(operands) + ") -> (" + join(results) + ")\n  return " +
         join(values) + " : " + join(results) + "\n}";
}

/// A kernel of one operation on f32 of one type.
class Elementwise {
public:
  Elementwise(const std::string &operation, int64_t features)
      : features(features) {
    std::string type = f32("?x" + std::to_string(features));
    jit.addKernel("kernel", "func.func @f(%0: " + type + ") -> " + type +
                                " {\n  %r = dsflash." + operation + " : " +
                                type + "\n  return %r : " + type + "\n}");
    jit.compile();
  }
  std::vector<float> run(std::vector<float> in) {
    int64_t rows = in.size() / features, begin = 0;
    std::vector<float> out(in.size(), nan);
    jit.call("kernel", begin, rows, Memref<float, 2>(in, rows, features),
             Memref<float, 2>(out, rows, features));
    return out;
  }

private:
  int64_t features;
  Jit jit;
};

std::vector<float> getNormal(size_t count, float scale = 1.0f) {
  std::mt19937 random(count);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(random);
  return values;
}

//===----------------------------------------------------------------------===//
// Numerics
//===----------------------------------------------------------------------===//

TEST(ModelKernels, Round) {
  Elementwise round("round %0 {point = \"x\"}", 6);
  std::vector<float> in = getNormal(60), out = round.run(in);
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], dsf_bf16_round(in[i]));
}

TEST(ModelKernels, Scale) {
  Elementwise scale("scale %0 {factor = 0.1 : f32}", 16);
  std::vector<float> in = getNormal(64), out = scale.run(in);
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], in[i] * 0.1f);
}

/// Rows of all sizes, one of zeros, and one with a value 1000 times the others.
TEST(ModelKernels, Quantize) {
  std::vector<float> in(64, 0.0f);
  for (int exponent = -30; exponent < 30; ++exponent)
    for (float x : getNormal(64, std::ldexp(1.0f, exponent)))
      in.push_back(x);
  for (float x : getNormal(64))
    in.push_back(x);
  in[in.size() - 7] = 1000.0f;

  Elementwise fp8("quantize %0 {format = #dsflash.format<e4m3, e8m0, [1, 32]>,"
                  " point = \"x\"}",
                  64);
  Elementwise fp4("quantize %0 {format = #dsflash.format<e2m1, e8m0, [1, 32]>,"
                  " point = \"x\"}",
                  64);
  std::vector<float> values8 = fp8.run(in), values4 = fp4.run(in);
  for (size_t group = 0; group < in.size(); group += 32) {
    uint8_t codes[32];
    float scale = dsf_e8m0_decode(dsf_fp8_quantize(&in[group], codes));
    for (int i = 0; i < 32; ++i)
      ASSERT_EQ(values8[group + i], dsf_e4m3_decode(codes[i]) * scale);
    scale = dsf_e8m0_decode(dsf_fp4_key_quantize(&in[group], codes));
    for (int i = 0; i < 32; ++i)
      ASSERT_EQ(values4[group + i],
                dsf_e2m1_decode(codes[i / 2] >> i % 2 * 4 & 15) * scale);
  }
  float outlier = values8[in.size() - 7];
  EXPECT_NEAR(outlier, 1000.0f, 1000.0f / 16);
}

TEST(ModelKernels, QuantizeRankThree) {
  std::string type = f32("?x3x64");
  Jit jit;
  jit.addKernel("kernel",
                "func.func @f(%x: " + type + ") -> " + type +
                    " {\n  %r = dsflash.quantize %x {format = "
                    "#dsflash.format<e4m3, e8m0, [1, 32]>, point = \"x\"} : " +
                    type + "\n  return %r : " + type + "\n}");
  jit.compile();
  std::vector<float> in = getNormal(2 * 3 * 64), out(in.size(), nan);
  int64_t begin = 0, end = 2;
  jit.call("kernel", begin, end, Memref<float, 3>(in, 2, 3, 64),
           Memref<float, 3>(out, 2, 3, 64));
  for (size_t group = 0; group < in.size(); group += 32) {
    uint8_t codes[32];
    float scale = dsf_e8m0_decode(dsf_fp8_quantize(&in[group], codes));
    for (int i = 0; i < 32; ++i)
      ASSERT_EQ(out[group + i], dsf_e4m3_decode(codes[i]) * scale);
  }
}

class Norm {
public:
  Norm(int64_t features, const std::string &eps, const std::string &more = "")
      : features(features), random(1),
        weight(features % 2 ? "f32" : "bf16", 1, features, random) {
    std::string type = f32("?x" + std::to_string(features));
    jit.addKernel("kernel",
                  model("rms_norm %0, %1 {eps = " + eps + " : f32" + more + "}",
                        {type, weight.getType()}, {type}));
    jit.compile();
  }
  std::vector<float> run(std::vector<float> in) {
    int64_t rows = in.size() / features, begin = 0;
    std::vector<float> out(in.size(), nan);
    jit.call("kernel", begin, rows, Memref<float, 2>(in, rows, features),
             Memref<float, 2>(out, rows, features), flat(weight.payload));
    return out;
  }

  int64_t features;
  std::mt19937 random;
  Weight weight;
  Jit jit;
};

TEST(ModelKernels, RMSNorm) {
  for (int64_t features : {1, 7, 64, 200}) {
    Norm norm(features, "1.0e-20");
    std::vector<float> in = getNormal(5 * features), out = norm.run(in);
    for (int64_t row = 0; row < 5; ++row) {
      double squares = 0;
      for (int64_t i = 0; i < features; ++i)
        squares += double(in[row * features + i]) * in[row * features + i];
      for (int64_t i = 0; i < features; ++i) {
        double expected = norm.weight.get(0, i) * in[row * features + i] /
                          std::sqrt(squares / features + 1e-20);
        ASSERT_NEAR(out[row * features + i], expected,
                    1e-6 * std::abs(expected));
      }
    }
  }
}

TEST(ModelKernels, RMSNormOfZerosIsZero) {
  for (const char *eps : {"1.0e-20", "0.0"})
    for (float value : Norm(32, eps).run(std::vector<float>(64, 0.0f)))
      EXPECT_EQ(value, 0.0f);
}

TEST(ModelKernels, RMSNormRounded) {
  std::vector<float> in = getNormal(64);
  std::vector<float> out = Norm(32, "1.0e-6").run(in);
  for (float &value : out)
    value = dsf_bf16_round(value);
  EXPECT_EQ(Norm(32, "1.0e-6", ", rounded").run(in), out);
}

//===----------------------------------------------------------------------===//
// Router
//===----------------------------------------------------------------------===//

class Router {
public:
  Router(int64_t experts, int64_t count, bool normalize)
      : experts(experts), count(count), bias(experts, 0.0f) {
    std::string e = std::to_string(experts), k = std::to_string(count);
    std::string weight = "!dsflash.weight<[1, " + e + "], <f32>>";
    jit.addKernel("kernel",
                  model("router %0, %1 {temperature = 2.0 : f32, "
                        "scaling = 1.5 : f32" +
                            std::string(normalize ? ", normalize}" : "}"),
                        {f32("?x" + e), weight},
                        {i32("?x" + k), f32("?x" + k)}));
    jit.compile();
  }
  void run(std::vector<float> logits) {
    int64_t rows = logits.size() / experts, begin = 0;
    ids.assign(rows * count, -7);
    weights.assign(rows * count, nan);
    std::vector<uint8_t> bytes(experts * 4);
    memcpy(bytes.data(), bias.data(), bytes.size());
    jit.call("kernel", begin, rows, Memref<float, 2>(logits, rows, experts),
             Memref<int32_t, 2>(ids, rows, count),
             Memref<float, 2>(weights, rows, count), flat(bytes));
  }
  static double getScore(double logit) {
    double x = logit / 2.0;
    return std::sqrt(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))));
  }
  void expectUniqueIds() {
    for (size_t row = 0; row < ids.size(); row += count) {
      std::vector<int32_t> chosen(&ids[row], &ids[row] + count);
      std::sort(chosen.begin(), chosen.end());
      EXPECT_EQ(std::unique(chosen.begin(), chosen.end()), chosen.end());
      EXPECT_GE(chosen.front(), 0);
      EXPECT_LT(chosen.back(), experts);
    }
  }

  int64_t experts;
  int64_t count;
  std::vector<float> bias;
  std::vector<int32_t> ids;
  std::vector<float> weights;
  Jit jit;
};

TEST(ModelKernels, RouterChoosesAndWeighs) {
  for (auto [experts, count, normalize] :
       {std::tuple{48, 6, true}, {48, 6, false}, {7, 7, true}, {5, 1, true}}) {
    Router router(experts, count, normalize);
    router.bias = getNormal(experts, 0.3f);
    std::vector<float> logits = getNormal(40 * experts, 4.0f);
    for (int i = 0; i < experts; ++i) // far ends
      logits[i] = (i % 2 ? 100.0f : -30.0f) + i;
    router.run(logits);
    for (int row = 0; row < 40; ++row) {
      std::vector<double> scores(experts);
      for (int e = 0; e < experts; ++e)
        scores[e] = Router::getScore(logits[row * experts + e]);
      std::vector<int> order(experts);
      std::iota(order.begin(), order.end(), 0);
      auto getKey = [&](int e) {
        return std::pair(-(scores[e] + router.bias[e]), e);
      };
      std::sort(order.begin(), order.end(),
                [&](int a, int b) { return getKey(a) < getKey(b); });
      double sum = 0;
      for (int k = 0; k < count; ++k)
        sum += scores[order[k]];
      for (int k = 0; k < count; ++k) {
        ASSERT_EQ(router.ids[row * count + k], order[k]) << row;
        double weight = scores[order[k]] * 1.5;
        if (normalize && count > 1)
          weight /= sum + 1e-20;
        ASSERT_NEAR(router.weights[row * count + k], weight, 1e-6 * weight);
      }
    }
  }
}

TEST(ModelKernels, RouterGivesTiesToTheLowerIds) {
  Router router(48, 6, true);
  std::vector<float> logits(2 * 48, 0.0f);
  logits[48 + 40] = logits[48 + 20] = 1.0f;
  router.run(logits);
  EXPECT_EQ(router.ids, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, //
                                              20, 40, 0, 1, 2, 3}));
  for (int k = 0; k < 6; ++k)
    EXPECT_NEAR(router.weights[k], 0.25f, 1e-6);
}

TEST(ModelKernels, RouterIdsStayInRange) {
  Router router(24, 6, true);
  std::vector<float> logits(4 * 24, nan); // row 0: nothing but NaN
  for (int e = 0; e < 24; ++e) {
    logits[24 + e] = e == 9 || e == 20 ? e : nan;
    logits[48 + e] = -infinity;
    logits[72 + e] = e % 2 ? infinity : nan;
  }
  router.run(logits);
  router.expectUniqueIds();
  EXPECT_EQ(router.ids[6], 20);
  EXPECT_EQ(router.ids[7], 9);
  EXPECT_EQ(router.ids[18], 1);
  EXPECT_EQ(router.ids[23], 11);
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

struct Groups {
  std::vector<int32_t> order;
  std::vector<int32_t> offsets;
};

class GroupByExpert {
public:
  GroupByExpert(int64_t experts, int64_t choices)
      : experts(experts), choices(choices) {
    std::string ids = i32("?x" + std::to_string(choices));
    jit.addKernel("kernel", model("group_by_expert %0", {ids},
                                  {ids, i32(std::to_string(experts + 1))}));
    jit.compile();
  }
  Groups run(std::vector<int32_t> ids) {
    int64_t rows = ids.size() / choices, begin = 0, end = 1;
    Groups groups;
    groups.order.assign(ids.size(), -1);
    groups.offsets.assign(experts + 1, -1);
    jit.call("kernel", begin, end, Memref<int32_t, 2>(ids, rows, choices),
             Memref<int32_t, 2>(groups.order, rows, choices),
             flat(groups.offsets));
    return groups;
  }

private:
  int64_t experts;
  int64_t choices;
  Jit jit;
};

std::vector<int32_t> chooseExperts(int64_t rows, int64_t choices,
                                   int64_t experts) {
  std::mt19937 random(rows);
  std::vector<int32_t> ids;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int32_t> all(experts);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random);
    ids.insert(ids.end(), all.begin(), all.begin() + choices);
  }
  return ids;
}

TEST(ModelKernels, GroupByExpert) {
  GroupByExpert group(9, 3);
  for (int64_t rows : {0, 1, 2, 50}) {
    std::vector<int32_t> ids = chooseExperts(rows, 3, 9);
    Groups groups = group.run(ids);
    std::vector<int32_t> order(ids.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::pair(ids[a], a) < std::pair(ids[b], b);
    });
    EXPECT_EQ(groups.order, order);
    for (int32_t expert = 0; expert <= 9; ++expert)
      EXPECT_EQ(groups.offsets[expert],
                std::count_if(ids.begin(), ids.end(),
                              [&](int id) { return id < expert; }));
  }
}

class ExpertLinear {
public:
  static constexpr int64_t experts = 5, choices = 2, outputs = 24, columns = 96;

  ExpertLinear(const std::string &element, bool perChoice)
      : perChoice(perChoice), random(3),
        all(element, experts * outputs, columns, random) {
    std::string c = std::to_string(columns), o = std::to_string(outputs);
    std::string input = f32(perChoice ? "?x2x" + c : "?x" + c);
    std::string weight =
        "!dsflash.weight<[5, " + o + ", " + c + "], <" + all.format + ">>";
    // Every expert starts a block of its own.
    if (element == "e4m3") {
      all.blockRows = outputs;
      all.scales.resize(experts * all.getScaleCount(), 125);
    }
    jit.addKernel("experts", model("expert_linear %0, %1 order %2, %3",
                                   {input, weight, i32("?x2"), i32("6")},
                                   {f32("?x2x" + o)}));
    std::string single =
        "!dsflash.weight<[" + o + ", " + c + "], <" + all.format + ">>";
    jit.addKernel("linear", model("linear %0, %1", {f32("?x" + c), single},
                                  {f32("?x" + o)}));
    jit.compile();
  }

  int64_t getRows(const std::vector<float> &in) const {
    return in.size() / (columns * (perChoice ? choices : 1));
  }
  std::vector<float> getInput(int64_t rows) {
    return getNormal(rows * columns * (perChoice ? choices : 1));
  }
  void run(int64_t begin, int64_t end, std::vector<float> &in, Groups &groups,
           std::vector<float> &out) {
    int64_t rows = getRows(in);
    Memref<int32_t, 2> order(groups.order, rows, choices);
    Memref<float, 3> y(out, rows, choices, outputs);
    auto call = [&](auto x) {
      if (all.scales.empty())
        jit.call("experts", begin, end, x, order, flat(groups.offsets), y,
                 flat(all.payload));
      else
        jit.call("experts", begin, end, x, order, flat(groups.offsets), y,
                 flat(all.payload), flat(all.scales));
    };
    if (perChoice)
      call(Memref<float, 3>(in, rows, choices, columns));
    else
      call(Memref<float, 2>(in, rows, columns));
  }
  std::vector<float> run(std::vector<float> in, Groups groups) {
    std::vector<float> out(getRows(in) * choices * outputs, nan);
    run(0, outputs / 8 * experts, in, groups, out);
    return out;
  }

  bool perChoice;
  std::mt19937 random;
  Weight all; // the experts' rows, one after another
  Jit jit;
};

class Experts : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(Experts, MatchALoop) {
  auto [element, perChoice] = GetParam();
  ExpertLinear product(element, perChoice);
  constexpr int64_t outputs = ExpertLinear::outputs,
                    columns = ExpertLinear::columns;
  GroupByExpert group(ExpertLinear::experts, 2);
  for (int64_t rows : {0, 1, 3, 40}) {
    std::vector<int32_t> ids = chooseExperts(rows, 2, ExpertLinear::experts);
    if (rows == 40) // all rows on two experts
      for (int64_t slot = 0; slot < 80; ++slot)
        ids[slot] = slot % 2 ? 1 : 3;
    std::vector<float> in = product.getInput(rows);
    Groups groups = group.run(ids);
    std::vector<float> out = product.run(in, groups);
    for (int64_t i = 0; i < rows * 2 * outputs; ++i) {
      int64_t slot = i / outputs, o = ids[slot] * outputs + i % outputs;
      const float *x = &in[(perChoice ? slot : slot / 2) * columns];
      double sum = 0, size = 0;
      for (int64_t k = 0; k < columns; ++k) {
        sum += x[k] * product.all.get(o, k);
        size += std::abs(x[k] * product.all.get(o, k));
      }
      ASSERT_NEAR(out[i], sum, 1e-6 * size) << "slot " << slot;
    }

    // Any split, any order: the same bits.
    std::vector<float> pieces(out.size(), nan);
    int64_t items = outputs / 8 * ExpertLinear::experts;
    for (int64_t end = items, size = 1; end > 0; ++size) {
      int64_t begin = std::max<int64_t>(end - size, 0);
      product.run(begin, end, in, groups, pieces);
      end = begin;
    }
    EXPECT_EQ(pieces, out);
  }
}

TEST_P(Experts, SumLikeLinear) {
  auto [element, perChoice] = GetParam();
  ExpertLinear product(element, perChoice);
  std::vector<float> in = product.getInput(3);
  std::vector<int32_t> ids = {4, 0, 4, 1, 4, 0};
  std::vector<float> out =
      product.run(in, GroupByExpert(ExpertLinear::experts, 2).run(ids));
  std::vector<uint8_t> payload = product.all.payload,
                       scales = product.all.scales;
  payload.resize(payload.size() / ExpertLinear::experts);
  scales.resize(scales.size() / ExpertLinear::experts);
  for (int64_t slot : {1, 5}) {
    const float *row =
        &in[(perChoice ? slot : slot / 2) * ExpertLinear::columns];
    std::vector<float> x(row, row + ExpertLinear::columns);
    std::vector<float> y(ExpertLinear::outputs);
    int64_t begin = 0, end = ExpertLinear::outputs / 8;
    Memref<float, 2> input(x, 1, ExpertLinear::columns);
    Memref<float, 2> output(y, 1, ExpertLinear::outputs);
    if (scales.empty())
      product.jit.call("linear", begin, end, input, output, flat(payload));
    else
      product.jit.call("linear", begin, end, input, output, flat(payload),
                       flat(scales));
    EXPECT_TRUE(std::equal(y.begin(), y.end(),
                           out.begin() + slot * ExpertLinear::outputs));
  }
}

INSTANTIATE_TEST_SUITE_P(ModelKernels, Experts,
                         testing::Combine(testing::Values("f32", "bf16", "e4m3",
                                                          "e2m1"),
                                          testing::Bool()));

class SwiGLU {
public:
  SwiGLU(const std::string &limit, bool routed) : routed(routed) {
    std::string type = f32(routed ? "?x2x48" : "?x48");
    std::vector<std::string> operands = {type, type};
    if (routed)
      operands.push_back(f32("?x2"));
    jit.addKernel("kernel", model("swiglu %0, %1 " +
                                      std::string(routed ? "route %2 " : "") +
                                      "{limit = " + limit + " : f32}",
                                  operands, {type}));
    jit.compile();
  }
  std::vector<float> run(std::vector<float> gate, std::vector<float> up,
                         std::vector<float> route = {}) {
    std::vector<float> out(gate.size(), nan);
    int64_t begin = 0, rows = gate.size() / (routed ? 96 : 48);
    if (routed)
      jit.call("kernel", begin, rows, Memref<float, 3>(gate, rows, 2, 48),
               Memref<float, 3>(up, rows, 2, 48),
               Memref<float, 2>(route, rows, 2),
               Memref<float, 3>(out, rows, 2, 48));
    else
      jit.call("kernel", begin, rows, Memref<float, 2>(gate, rows, 48),
               Memref<float, 2>(up, rows, 48), Memref<float, 2>(out, rows, 48));
    return out;
  }
  static double expected(double gate, double up, double limit) {
    if (limit > 0) {
      gate = std::min(gate, limit);
      up = std::clamp(up, -limit, limit);
    }
    return gate / (1 + std::exp(-gate)) * up;
  }

private:
  bool routed;
  Jit jit;
};

TEST(ModelKernels, SwiGLUClampsGateAboveAndUpOnBothSides) {
  std::vector<float> gate = getNormal(96, 4.0f), up = getNormal(96, 9.0f);
  for (auto [i, g, u] : {std::tuple{0, 50.0f, 50.0f},
                         {1, 50.0f, -50.0f},
                         {2, -50.0f, 50.0f},
                         {3, -50.0f, -50.0f}}) {
    gate[i] = g;
    up[i] = u;
  }
  for (auto [text, limit] : {std::pair{"10.0", 10.0}, {"0.0", 0.0}}) {
    std::vector<float> plain = SwiGLU(text, false).run(gate, up);
    std::vector<float> routed = SwiGLU(text, true).run(gate, up, {0.25f, 3.0f});
    for (int i = 0; i < 96; ++i) {
      double expected = SwiGLU::expected(gate[i], up[i], limit);
      EXPECT_NEAR(plain[i], expected, 1e-6 * std::abs(expected)) << i;
      expected *= i < 48 ? 0.25 : 3.0;
      EXPECT_NEAR(routed[i], expected, 1e-6 * std::abs(expected)) << i;
    }
  }
}

TEST(ModelKernels, SwiGLUKeepsNaN) {
  std::vector<float> ones(48, 1.0f), bad(48, nan);
  for (float value : SwiGLU("10.0", false).run(bad, ones))
    EXPECT_TRUE(std::isnan(value));
  for (float value : SwiGLU("10.0", false).run(ones, bad))
    EXPECT_TRUE(std::isnan(value));
}

TEST(ModelKernels, Combine) {
  Jit jit;
  jit.addKernel("kernel", model("combine %0, %1 {rounded}",
                                {f32("?x3x48"), f32("?x48")}, {f32("?x48")}));
  jit.compile();
  std::vector<float> routed = getNormal(2 * 3 * 48), shared = getNormal(96);
  std::vector<float> out(96, nan);
  int64_t begin = 0, rows = 2;
  jit.call("kernel", begin, rows, Memref<float, 3>(routed, 2, 3, 48),
           Memref<float, 2>(shared, 2, 48), Memref<float, 2>(out, 2, 48));
  for (int i = 0; i < 96; ++i) {
    const float *first = &routed[i / 48 * 144 + i % 48];
    EXPECT_EQ(out[i],
              dsf_bf16_round(first[0] + first[48] + first[96] + shared[i]));
  }
}

} // namespace
