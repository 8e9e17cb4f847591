//===- MatrixProductTest.cpp - Products against a loop in double ----------===//

#include "Jit.h"
#include "Weights.h"
#include <gtest/gtest.h>
#include <limits>

using namespace dsflash_test;

namespace {

struct Case {
  std::string element;
  int64_t groups;
  int64_t outputs;
  int64_t columns; // of the weight
};

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

class Product {
public:
  explicit Product(const Case &shape, std::string attributes = "")
      : shape(shape), random(shape.outputs * 1000 + shape.columns),
        weight(shape.element, shape.outputs, shape.columns, random) {
    std::string x = tensor(shape.groups * shape.columns);
    std::string y = tensor(shape.outputs);
    std::string name = shape.groups == 1 ? "linear" : "grouped_linear";
    if (shape.groups > 1) {
      attributes += attributes.empty() ? "" : ", ";
      attributes += "groups = " + std::to_string(shape.groups) + " : i64";
    }
    jit.addKernel("product",
                  "func.func @f(%x: " + x + ", %w: " + weight.getType() +
                      ") -> " + y + " {\n  %y = dsflash." + name + " %x, %w {" +
                      attributes + "} : (" + x + ", " + weight.getType() +
                      ") -> " + y + "\n  return %y : " + y + "\n}");
    jit.compile();
  }

  std::vector<float> getInput(int64_t rows) {
    std::normal_distribution<float> normal;
    std::vector<float> input(rows * shape.groups * shape.columns);
    for (float &x : input)
      x = normal(random);
    return input;
  }
  int64_t getTiles() const {
    return shape.groups * ((shape.outputs / shape.groups + 7) / 8);
  }

  void run(int64_t begin, int64_t end, std::vector<float> &input,
           std::vector<float> &output) {
    int64_t rows = output.size() / shape.outputs;
    Memref<float, 2> x(input, rows, shape.groups * shape.columns);
    Memref<float, 2> y(output, rows, shape.outputs);
    if (weight.scales.empty())
      jit.call("product", begin, end, x, y, flat(weight.payload));
    else
      jit.call("product", begin, end, x, y, flat(weight.payload),
               flat(weight.scales));
  }
  std::vector<float> run(std::vector<float> input) {
    int64_t rows = input.size() / (shape.groups * shape.columns);
    std::vector<float> output(rows * shape.outputs,
                              std::numeric_limits<float>::quiet_NaN());
    run(0, getTiles(), input, output);
    return output;
  }

  /// Of the i-th output: in double, over the columns in order.
  double getSum(const std::vector<float> &input, size_t i) const {
    const float *row = &input[i / shape.outputs * shape.columns];
    double sum = 0;
    for (int64_t k = 0; k < shape.columns; ++k)
      sum += double(row[k]) * weight.get(i % shape.outputs, k);
    return sum;
  }

  void expectNear(const std::vector<float> &input,
                  const std::vector<float> &output) {
    int64_t features = shape.groups * shape.columns;
    for (size_t i = 0; i < output.size(); ++i) {
      int64_t row = i / shape.outputs, o = i % shape.outputs;
      int64_t group = o / (shape.outputs / shape.groups);
      double sum = 0, size = 0;
      for (int64_t k = 0; k < shape.columns; ++k) {
        double term = input[row * features + group * shape.columns + k] *
                      weight.get(o, k);
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(output[i], sum, 1e-6 * size) << "row " << row << " of " << o;
    }
  }

  static std::string tensor(int64_t features) {
    return "tensor<?x" + std::to_string(features) + "xf32>";
  }

  Case shape;
  std::mt19937 random;
  Weight weight;
  Jit jit;
};

class MatrixProduct : public testing::TestWithParam<Case> {};

TEST_P(MatrixProduct, MatchesALoopAndDependsOnNeitherRowsNorSplit) {
  Product product(GetParam());
  int64_t features = product.shape.groups * product.shape.columns;
  std::vector<float> input = product.getInput(70);
  std::vector<float> all = product.run(input);
  product.expectNear(input, all);
  for (int64_t rows : {0, 1, 2, 3, 4, 5, 8, 33}) {
    std::vector<float> some =
        product.run({input.begin(), input.begin() + rows * features});
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << rows;
  }

  std::vector<float> pieces(all.size());
  int64_t tiles = product.getTiles();
  for (int64_t end = tiles, size = 1; end > 0; ++size) {
    int64_t begin = std::max<int64_t>(end - size, 0);
    product.run(begin, end, input, pieces);
    end = begin;
  }
  EXPECT_EQ(pieces, all);
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
      EXPECT_EQ(all[i], float(product.getSum(input, i)))
          << shape.element << " " << shape.outputs << "x" << shape.columns;
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

/// One nonzero input picks out single weights, so that products show how each
/// code is decoded.
TEST(MatrixProductResults, EveryCodeWithExtremeScales) {
  for (const char *element : {"e4m3", "e2m1"}) {
    Product product({element, 1, 8, 32});
    std::vector<uint8_t> &payload = product.weight.payload;
    for (size_t i = 0; i < payload.size(); ++i)
      payload[i] = i;
    std::vector<float> input(32 * 32, 0.0f);
    for (int64_t k = 0; k < 32; ++k)
      input[k * 32 + k] = 1.0f;
    for (int scale : {0, 1, 100, 127, 200, 254, 255}) {
      std::fill(product.weight.scales.begin(), product.weight.scales.end(),
                scale);
      for (int64_t rows : {1, 32})
        for (int64_t k = 0; k < 32; k += rows) {
          std::vector<float> part(input.begin() + k * 32,
                                  input.begin() + (k + rows) * 32);
          std::vector<float> output = product.run(part);
          for (size_t i = 0; i < output.size(); ++i) {
            int64_t column = k + i / 8, o = i % 8;
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
