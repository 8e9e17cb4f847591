//===- MatrixProductTest.cpp - Products against a loop in double ----------===//

#include "Product.h"

using namespace dsflash_test;

namespace {

using Case = ProductCase;

std::vector<Case> getCases() {
  std::vector<Case> cases;
  for (const char *element : {"f32", "bf16", "e4m3", "e2m1"}) {
    for (auto [outputs, columns] : {std::pair{1, 2},
                                    {3, 6},
                                    {4, 16},
                                    {5, 48},
                                    {6, 100},
                                    {40, 64},
                                    {2, 2080},
                                    {4, 1090}})
      cases.push_back({element, 1, outputs, columns});
    cases.push_back({element, 4, 8, 64});
    cases.push_back({element, 2, 6, 48});
  }
  for (const char *element : {"f32", "bf16", "e4m3"})
    for (auto [outputs, columns] : {std::pair{1, 1}, {7, 33}})
      cases.push_back({element, 1, outputs, columns});
  return cases;
}

/// Of the i-th output.
struct Sum {
  double sum = 0, size = 0; // of the terms, in double and in order
};
Sum getSum(const Product &product, const std::vector<float> &input, size_t i) {
  const Case &shape = product.shape;
  int64_t row = i / shape.outputs, o = i % shape.outputs;
  int64_t group = o / (shape.outputs / shape.groups);
  const float *x = &input[row * product.getFeatures() + group * shape.columns];
  Sum result;
  for (int64_t k = 0; k < shape.columns; ++k) {
    double term = double(x[k]) * product.weight.get(o, k);
    result.sum += term;
    result.size += std::abs(term);
  }
  return result;
}

class MatrixProduct : public testing::TestWithParam<Case> {};

TEST_P(MatrixProduct, MatchesALoopAndDependsOnNeitherRowsNorSplit) {
  Product product(GetParam());
  std::vector<float> input = product.getInput(70);
  std::vector<float> all = product.run(input);
  for (size_t i = 0; i < all.size(); ++i) {
    Sum expected = getSum(product, input, i);
    ASSERT_NEAR(all[i], expected.sum, 1e-6 * expected.size) << i;
  }
  product.expectSameInParts(input, all);
}

// Sums of f64 are rounded once.
TEST(MatrixProductTest, F64Accumulation) {
  for (const Case &shape : getCases()) {
    if (shape.groups > 1)
      continue;
    Product product(shape, "f64_accumulation");
    std::vector<float> input = product.getInput(33);
    std::vector<float> all = product.run(input);
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(all[i], float(getSum(product, input, i).sum))
          << product.describe();
    std::vector<float> one =
        product.run({input.begin(), input.begin() + shape.columns});
    EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin()));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, MatrixProduct, testing::ValuesIn(getCases()),
                         [](const testing::TestParamInfo<Case> &info) {
                           const Case &shape = info.param;
                           return shape.element + "_" +
                                  std::to_string(shape.groups) + "_" +
                                  std::to_string(shape.outputs) + "x" +
                                  std::to_string(shape.columns);
                         });

TEST(MatrixProductResults, Rounded) {
  Case shape = {"bf16", 1, 8, 64};
  Product exact(shape), rounded(shape, "rounded");
  std::vector<float> input = exact.getInput(9);
  std::vector<float> values = exact.run(input);
  for (float &value : values)
    value = dsf_bf16_round(value);
  EXPECT_EQ(rounded.run(input), values);
}

/// The products show how each code is decoded.
TEST(MatrixProductResults, EveryCodeWithExtremeScales) {
  for (const char *element : {"e4m3", "e2m1"}) {
    Product product({element, 1, 8, 32});
    for (int scale : {0, 1, 100, 127, 200, 254, 255}) {
      product.setEveryCode(scale);
      for (int64_t rows : {1, 32}) {
        std::vector<float> output = product.runUnits(rows);
        for (size_t i = 0; i < output.size(); ++i) {
          int64_t column = i / 8, o = i % 8;
          // NaN spreads to the whole sum, infinity times 0 does so too.
          bool clean = true;
          for (int64_t j = 0; j < 32; ++j)
            clean &= std::isfinite(float(product.weight.get(o, j)));
          float expected = product.weight.get(o, column);
          if (clean)
            EXPECT_EQ(output[i], expected) << element << " scale " << scale;
          else
            EXPECT_FALSE(std::isfinite(output[i])) << element << scale;
        }
      }
    }
  }
}

} // namespace
