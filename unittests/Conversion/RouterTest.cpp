//===- RouterTest.cpp - Logits in f64, the choice of experts, their slots -===//

#include "CompiledModel.h"
#include "dsflash/ABI/QuantFormats.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace dsflash_test;

namespace {
struct Shape {
  int64_t experts, columns, count;
};

std::string getModel(const Shape &shape) {
  std::string experts = std::to_string(shape.experts);
  std::string columns = std::to_string(shape.columns);
  std::string count = std::to_string(shape.count);
  std::string attributes = " {dsflash.dim = \"rows\", dsflash.name = ";
  return "!x = tensor<?x" + columns + "xf32>\n!y = tensor<?x" + experts +
         "xf32>\n!ids = tensor<?x" + count + "xi32>\n!weights = tensor<?x" +
         count + "xf32>\n!gate = !dsflash.weight<[" + experts + ", " + columns +
         "], <bf16>>\n!bias = !dsflash.weight<[1, " + experts +
         "], <f32>>\n"
         R"(module {
  dsflash.param @gate "gate" : !gate
  dsflash.param @bias "bias" : !bias
  func.func @forward(%x: !x)" +
         attributes + "\"x\"}) -> (!y" + attributes + "\"logits\"}, !ids" +
         attributes + "\"experts\"}, !weights" + attributes +
         "\"weights\"}, !ids" + attributes + R"("order"}) {
    %gate = dsflash.param_ref @gate : !gate
    %bias = dsflash.param_ref @bias : !bias
    %y = dsflash.linear %x, %gate {f64_accumulation} : (!x, !gate) -> !y
    %e, %w = dsflash.router %y, %bias {temperature = 1.0 : f32, scaling = 1.5 : f32, normalize}
      : (!y, !bias) -> (!ids, !weights)
    %order, %offsets = dsflash.group_by_expert %e : (!ids) -> (!ids, tensor<)" +
         std::to_string(shape.experts + 1) + R"(xi32>)
    return %y, %e, %w, %order : !y, !ids, !weights, !ids
  }
})";
}

class RouterTest : public testing::Test {
protected:
  std::mt19937 random{5};

  void check(const Shape &shape, const std::vector<int32_t> &rowCounts);
  void checkLogits(const Shape &shape, const Floats &x, const Floats &logits);
  void checkOrder(const Ints &ids, const Ints &order);
  void checkChoice(const Shape &shape, const float *logits, const int32_t *ids,
                   const float *weights);

  std::vector<uint16_t> gate;
  Floats bias;
};

void RouterTest::check(const Shape &shape,
                       const std::vector<int32_t> &rowCounts) {
  CompiledModel module(getModel(shape));
  gate.clear();
  for (float value : randomFloats(random, shape.experts * shape.columns))
    gate.push_back(dsf_bf16_encode(value));
  bias = randomFloats(random, shape.experts, 0.1f);
  module.weights = {gate.data(), bias.data()};
  int64_t most = *std::max_element(rowCounts.begin(), rowCounts.end());
  Floats all = randomFloats(random, most * shape.columns);
  // All logits of a row are zero.
  std::fill_n(all.begin(), shape.columns, 0.0f);
  Floats first;
  for (int32_t rows : rowCounts) {
    Floats x(all.begin(), all.begin() + rows * shape.columns);
    Floats logits(rows * shape.experts), weights(rows * shape.count);
    Ints ids(rows * shape.count, -1), order(ids);
    module.run(Rows({{0, rows}}), {},
               {{"x", x.data()},
                {"logits", logits.data()},
                {"experts", ids.data()},
                {"weights", weights.data()},
                {"order", order.data()}});
    checkLogits(shape, x, logits);
    checkOrder(ids, order);
    for (int64_t row = 0; row < rows; ++row)
      checkChoice(shape, &logits[row * shape.experts], &ids[row * shape.count],
                  &weights[row * shape.count]);
    // A row has the same bits whatever is computed with it.
    for (size_t i = 0; i < std::min(first.size(), logits.size()); ++i)
      ASSERT_EQ(first[i], logits[i]);
    if (first.size() < logits.size())
      first = logits;
  }
}

void RouterTest::checkLogits(const Shape &shape, const Floats &x,
                             const Floats &logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    const float *row = &x[i / shape.experts * shape.columns];
    const uint16_t *weights = &gate[i % shape.experts * shape.columns];
    double sum = 0;
    for (int64_t k = 0; k < shape.columns; ++k)
      sum += double(row[k]) * dsf_bf16_decode(weights[k]);
    // One rounding.
    ASSERT_NEAR(logits[i], sum, std::abs(sum) * 0x1.01p-24 + 1e-13) << i;
  }
}

void RouterTest::checkChoice(const Shape &shape, const float *logits,
                             const int32_t *ids, const float *weights) {
  std::vector<double> scores, keys;
  for (int64_t e = 0; e < shape.experts; ++e) {
    scores.push_back(std::sqrt(std::log1p(std::exp(double(logits[e])))));
    keys.push_back(scores[e] + bias[e]);
  }
  std::vector<int32_t> order(shape.experts);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
  });
  double sum = 0;
  for (int64_t k = 0; k < shape.count; ++k) {
    EXPECT_EQ(ids[k], order[k]);
    sum += scores[order[k]];
  }
  for (int64_t k = 0; k < shape.count; ++k)
    EXPECT_NEAR(weights[k], 1.5 * scores[order[k]] / sum, 1e-6);
}

/// Slots by expert, those of one in their order.
void RouterTest::checkOrder(const Ints &ids, const Ints &order) {
  Ints expected(ids.size());
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(),
                   [&](int32_t a, int32_t b) { return ids[a] < ids[b]; });
  EXPECT_EQ(order, expected);
}

TEST_F(RouterTest, Shapes) {
  check({6, 8, 2}, {0, 1, 3});
  check({24, 12, 6}, {2});
  check({48, 320, 6}, {1, 4, 37});
  check({270, 1032, 6}, {5, 1});
  // More experts and slots than a block has threads.
  check({520, 4, 6}, {90});
}
} // namespace
