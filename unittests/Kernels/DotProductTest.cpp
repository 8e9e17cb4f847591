//===- DotProductTest.cpp - Products of pairs of bf16 values --------------===//
//
// Bit for bit beside a loop with the order of docs/Numerics.md ("Products"), by
// the instructions of a processor with AVX-512 BF16 and by arithmetic.
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace dsflash_test;
using Code = Jit::Code;

namespace {

std::vector<Code> getCodes() {
  if (Jit::hasInstructions())
    return {Code::Arithmetic, Code::Instructions};
  return {Code::Arithmetic};
}

constexpr int64_t lanes = 16, width = 2 * lanes;
using Sums = std::array<float, lanes>;

/// Adds the products of a vector of columns: the odd one of a lane, then the
/// even one. A product of two bf16 values is exact, so it is not rounded.
void addPairs(Sums &sums, const std::array<float, width> &a,
              const std::array<float, width> &b) {
  for (int64_t i = 0; i < lanes; ++i)
    for (int64_t k : {2 * i + 1, 2 * i})
      sums[i] = std::fma(a[k], b[k], sums[i]);
}

/// All lanes, halves added pairwise.
float addLanes(Sums sums) {
  for (int64_t half = lanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      sums[i] += sums[i + half];
  return sums[0];
}

float getBF16(std::mt19937 &random, int smallest, int largest) {
  int exponent = std::uniform_int_distribution<>(smallest, largest)(random);
  float value = std::ldexp(1.0f + float(random() % 128) / 128, exponent);
  return random() % 2 ? -value : value;
}

void expectSame(float got, float expected, const std::string &what) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(got)) << what;
  else
    EXPECT_EQ(dsf_f32_bits(got), dsf_f32_bits(expected)) << what;
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

class Dot {
public:
  explicit Dot(Code code) {
    mlir::Type buffer = jit.buffer(jit.types().getF32Type());
    jit.add("dot", {buffer, buffer, buffer},
            [](mlir::dsflash::KernelBuilder &b, mlir::ValueRange arguments) {
              auto load = [&](int i, int64_t count) {
                return b.loadVector(arguments[i], {b.index(0)}, count);
              };
              mlir::Value sum =
                  b.dotBF16(b.narrowBF16(load(0, width)),
                            b.narrowBF16(load(1, width)), load(2, lanes));
              b.storeVector(sum, arguments[2], {b.index(0)});
            });
    jit.compile(code);
  }

  void add(std::vector<float> &a, std::vector<float> &b,
           std::vector<float> &sums) {
    jit.call("dot", flat(a), flat(b), flat(sums));
  }

private:
  Jit jit;
};

/// Of all exponents whose products and sums are normal, and of specials.
TEST(DotBF16, AddsTheOddProductThenTheEvenOne) {
  for (Code code : getCodes()) {
    Dot dot(code);
    std::mt19937 random(1);
    const float specials[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f};
    for (int round = 0; round < 2000; ++round) {
      std::vector<float> a(width), b(width), c(lanes);
      // Sums of like size, and ones that lose all of the products or nothing.
      int spread = round % 3 == 0 ? 60 : 12;
      for (int64_t i = 0; i < width; ++i) {
        a[i] = getBF16(random, -spread, spread);
        b[i] = getBF16(random, -2, 2);
        if (round % 10 == 9 && random() % 8 == 0)
          (random() % 2 ? a : b)[i] = specials[random() % 6];
      }
      for (float &sum : c)
        sum = getBF16(random, -14, 14) + getBF16(random, -30, -20);
      std::array<float, width> x, w;
      Sums expected;
      std::copy(a.begin(), a.end(), x.begin());
      std::copy(b.begin(), b.end(), w.begin());
      std::copy(c.begin(), c.end(), expected.begin());
      addPairs(expected, x, w);
      dot.add(a, b, c);
      for (int64_t i = 0; i < lanes; ++i)
        expectSame(c[i], expected[i], "lane " + std::to_string(i));
    }
  }
}

/// What AVX-512 BF16 counts as zero: subnormal operands and results.
TEST(DotBF16, Subnormals) {
  for (Code code : getCodes()) {
    Dot dot(code);
    std::vector<float> a(width), b(width), c(lanes);
    a[0] = 0x1p-127f, b[0] = 1.0f;    // an operand
    a[2] = 0x1p-64f, b[2] = 0x1p-64f; // a product
    a[4] = 0x1p-126f, b[4] = 1.0f;    // the smallest normal one
    dot.add(a, b, c);
    bool flushes = code == Code::Instructions;
    EXPECT_EQ(c[0], flushes ? 0.0f : 0x1p-127f);
    EXPECT_EQ(c[1], flushes ? 0.0f : 0x1p-128f);
    EXPECT_EQ(c[2], 0x1p-126f);
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A product of rounded inputs.
Product makeProduct(const ProductCase &shape, Code code) {
  return Product(shape, /*attributes=*/"", /*hasRoundedInput=*/true, code);
}

/// The i-th output: 32 adjacent columns at a time, or of E2M1 every fourth of
/// 128, from each of the first four; zeros behind the last column.
float getExpected(const Product &product, const std::vector<float> &input,
                  int64_t i) {
  const ProductCase &shape = product.shape;
  int64_t row = i / shape.outputs, output = i % shape.outputs;
  int64_t group = output / (shape.outputs / shape.groups);
  const float *x = &input[(row * shape.groups + group) * shape.columns];
  bool isPacked = shape.element == "e2m1";
  int64_t step = isPacked ? 4 : 1, unit = step * width;
  Sums sums = {};
  for (int64_t first = 0; first < shape.columns; first += unit)
    for (int64_t part = 0; part < step; ++part) {
      std::array<float, width> a = {}, b = {};
      for (int64_t k = 0; k < width; ++k) {
        int64_t column = first + k * step + part;
        if (column >= shape.columns)
          continue;
        a[k] = x[column];
        b[k] = float(product.weight.get(output, column));
      }
      addPairs(sums, a, b);
    }
  return addLanes(sums);
}

TEST(DotProduct, KeepsItsOrderWhateverRowsAndSplit) {
  for (const char *element : {"bf16", "e4m3", "e2m1"})
    for (ProductCase shape :
         {ProductCase{"", 1, 5, 32}, {"", 2, 80, 96}, {"", 1, 12, 1056}})
      for (Code code : getCodes()) {
        shape.element = element;
        Product product = makeProduct(shape, code);
        std::vector<float> input = product.getInput(110);
        std::vector<float> all = product.run(input);
        for (size_t i = 0; i < all.size(); ++i)
          ASSERT_EQ(all[i], getExpected(product, input, i))
              << product.describe() << " " << i;
        product.expectSameInParts(input, all);
      }
}

/// Scales that bring products below or beyond the normal range are in
/// docs/Numerics.md.
TEST(DotProduct, EveryCodeWithExtremeScales) {
  for (Code code : getCodes())
    for (const char *element : {"e4m3", "e2m1"}) {
      Product product = makeProduct({element, 1, 8, 32}, code);
      for (int scale : {0, 100, 254, 255}) {
        product.setEveryCode(scale);
        for (int64_t rows : {1, 2, 32}) {
          std::vector<float> output = product.runUnits(rows);
          for (size_t i = 0; i < output.size(); ++i) {
            int64_t column = i / 8, o = i % 8;
            bool hasNaN = false, isFinite = true;
            for (int64_t j = 0; j < 32; ++j) {
              float value = product.weight.get(o, j);
              hasNaN |= std::isnan(value);
              isFinite &= std::isfinite(value);
            }
            float expected = product.weight.get(o, column);
            std::string what = element + (" scale " + std::to_string(scale));
            if (hasNaN)
              EXPECT_TRUE(std::isnan(output[i])) << what;
            else if (!isFinite)
              EXPECT_FALSE(std::abs(output[i]) < std::abs(expected)) << what;
            else if (scale == 0 && element[1] == '4') // the input times 2^-127
              EXPECT_LE(std::abs(output[i] - expected), 448 * 0x1p-127f);
            else if (std::abs(expected) < 0x1p-126f)
              EXPECT_LE(std::abs(output[i] - expected), 0x1p-126f) << what;
            else
              EXPECT_EQ(output[i], expected) << what;
          }
        }
      }
    }
}

} // namespace
