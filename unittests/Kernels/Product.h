//===- Product.h - A product of a packed weight for tests -------*- C++ -*-===//

#ifndef DSFLASH_UNITTESTS_KERNELS_PRODUCT_H
#define DSFLASH_UNITTESTS_KERNELS_PRODUCT_H

#include "Jit.h"
#include "Weights.h"
#include <gtest/gtest.h>
#include <limits>

namespace dsflash_test {

struct ProductCase {
  std::string element;
  int64_t groups;
  int64_t outputs;
  int64_t columns; // of the weight
};

/// Outputs of random weights.
class Product {
public:
  /// `attributes`: of the operation. With `hasRoundedInput` inputs pass a
  /// rounding point first, so that they are known to be exact in bf16.
  explicit Product(const ProductCase &shape, std::string attributes = "",
                   bool hasRoundedInput = false,
                   Jit::Code code = Jit::Code::Arithmetic)
      : shape(shape), random(shape.outputs * 1000 + shape.columns),
        weight(shape.element, shape.outputs, shape.columns, random),
        hasRoundedInput(hasRoundedInput) {
    std::string x = tensor(getFeatures()), y = tensor(shape.outputs);
    std::string name = shape.groups == 1 ? "linear" : "grouped_linear";
    if (shape.groups > 1) {
      attributes += attributes.empty() ? "" : ", ";
      attributes += "groups = " + std::to_string(shape.groups) + " : i64";
    }
    std::string round = "  %r = dsflash.round %x {point = \"x\"} : " + x + "\n";
    jit.addKernel("product",
                  "func.func @f(%x: " + x + ", %w: " + weight.getType() +
                      ") -> " + y + " {\n" + (hasRoundedInput ? round : "") +
                      "  %y = dsflash." + name +
                      (hasRoundedInput ? " %r" : " %x") + ", %w {" +
                      attributes + "} : (" + x + ", " + weight.getType() +
                      ") -> " + y + "\n  return %y : " + y + "\n}");
    jit.compile(code);
  }

  /// Of a row.
  int64_t getFeatures() const { return shape.groups * shape.columns; }
  int64_t getTiles() const {
    return shape.groups * ((shape.outputs / shape.groups + 7) / 8);
  }
  std::string describe() const {
    return shape.element + " " + std::to_string(shape.outputs) + "x" +
           std::to_string(shape.columns);
  }

  std::vector<float> getInput(int64_t rows) {
    std::normal_distribution<float> normal;
    std::vector<float> input(rows * getFeatures());
    for (float &x : input) {
      x = normal(random);
      if (hasRoundedInput)
        x = dsf_bf16_round(x);
    }
    return input;
  }

  std::vector<float> run(std::vector<float> input) {
    std::vector<float> output(input.size() / getFeatures() * shape.outputs,
                              std::numeric_limits<float>::quiet_NaN());
    run(0, getTiles(), input, output);
    return output;
  }

  /// Makes every byte of the weight its number, and every scale this code.
  void setEveryCode(uint8_t scale) {
    for (size_t i = 0; i < weight.payload.size(); ++i)
      weight.payload[i] = i;
    std::fill(weight.scales.begin(), weight.scales.end(), scale);
  }

  /// [columns, outputs] of inputs that are 1 in one column and 0 elsewhere, so
  /// that each picks out one weight; in calls of so many rows.
  std::vector<float> runUnits(int64_t rows) {
    int64_t features = getFeatures();
    std::vector<float> outputs;
    for (int64_t first = 0; first < features; first += rows) {
      std::vector<float> input(rows * features);
      for (int64_t row = 0; row < rows; ++row)
        input[row * features + first + row] = 1.0f;
      std::vector<float> output = run(input);
      outputs.insert(outputs.end(), output.begin(), output.end());
    }
    return outputs;
  }

  /// Fewer rows, and tiles in pieces of growing size, give the bits of `all`,
  /// which is the output of `input`.
  void expectSameInParts(std::vector<float> &input,
                         const std::vector<float> &all) {
    int64_t rowCount = input.size() / getFeatures();
    for (int64_t rows : {0, 1, 2, 3, 4, 5, 8, 9, 33}) {
      std::vector<float> some = run(takeRows(input, rows));
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()))
          << describe() << ", rows " << rows;
    }
    for (int64_t rows : {int64_t(1), rowCount}) {
      std::vector<float> part = takeRows(input, rows);
      std::vector<float> pieces(rows * shape.outputs);
      for (int64_t end = getTiles(), size = 1; end > 0; ++size) {
        int64_t begin = std::max<int64_t>(end - size, 0);
        run(begin, end, part, pieces);
        end = begin;
      }
      EXPECT_TRUE(std::equal(pieces.begin(), pieces.end(), all.begin()))
          << describe() << ", rows " << rows << " in pieces";
    }
  }

  ProductCase shape;
  std::mt19937 random;
  Weight weight;

private:
  static std::string tensor(int64_t features) {
    return "tensor<?x" + std::to_string(features) + "xf32>";
  }
  std::vector<float> takeRows(const std::vector<float> &input, int64_t rows) {
    return {input.begin(), input.begin() + rows * getFeatures()};
  }

  void run(int64_t begin, int64_t end, std::vector<float> &input,
           std::vector<float> &output) {
    int64_t rows = output.size() / shape.outputs;
    Memref<float, 2> x(input, rows, getFeatures());
    Memref<float, 2> y(output, rows, shape.outputs);
    if (weight.scales.empty())
      jit.call("product", begin, end, x, y, flat(weight.payload));
    else
      jit.call("product", begin, end, x, y, flat(weight.payload),
               flat(weight.scales));
  }

  bool hasRoundedInput;
  Jit jit;
};

} // namespace dsflash_test

#endif // DSFLASH_UNITTESTS_KERNELS_PRODUCT_H
