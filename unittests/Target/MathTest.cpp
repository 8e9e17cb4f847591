//===- MathTest.cpp - Functions of f32 in generated code ------------------===//

#include "CompiledModule.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace dsflash_test;

namespace {

void replaceAll(std::string &text, const std::string &from,
                const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

/// A module whose entry applies math.NAME to rows of eight, once as a vector
/// and once element by element; in f64 if it is wide.
std::string getModule(const std::string &name, bool isWide) {
  std::string text = R"(
func.func private @whole(%begin: index, %end: index, %x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %a = vector.load %x[%i, %c0] : memref<?x8xf32>, vector<8xf32>
    %w = arith.extf %a : vector<8xf32> to vector<8xf64>
    %r = math.NAME %w : vector<8xf64>
    %b = arith.truncf %r : vector<8xf64> to vector<8xf32>
    vector.store %b, %y[%i, %c0] : memref<?x8xf32>, vector<8xf32>
  }
  return
}
func.func private @single(%begin: index, %end: index, %x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x8xf32>
      %w = arith.extf %a : f32 to f64
      %r = math.NAME %w : f64
      %b = arith.truncf %r : f64 to f32
      memref.store %b, %y[%i, %j] : memref<?x8xf32>
    }
  }
  return
}
func.func @forward(%x: memref<?x8xf32> {dsflash.name = "x", dsflash.dim = "rows"},
                   %y: memref<?x8xf32> {dsflash.name = "y", dsflash.dim = "rows"},
                   %z: memref<?x8xf32> {dsflash.name = "z", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  dsflash.dispatch @whole grid(%n) ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xf32>)
  dsflash.dispatch @single grid(%n) ins(%x : memref<?x8xf32>) outs(%z : memref<?x8xf32>)
  return
})";
  if (!isWide)
    for (std::string type : {"f32", "vector<8xf32>"}) {
      std::string wide = type == "f32" ? "f64" : "vector<8xf64>";
      replaceAll(text, "%w = arith.extf %a : " + type + " to " + wide, "");
      replaceAll(text, "%r = math.NAME %w : " + wide,
                 "%b = math.NAME %a : " + type);
      replaceAll(text, "%b = arith.truncf %r : " + wide + " to " + type, "");
    }
  replaceAll(text, "NAME", name);
  return text;
}

void runAll(void *, dsf_task task, void *context, int64_t count) {
  task(context, 0, count);
}

struct Function {
  const char *name;
  double (*exact)(double);
  bool isWide = false;
  double bound = 2e-7;
};

class MathTest : public testing::TestWithParam<const char *> {
protected:
  /// Values of the function on all floats that are a stride apart, and around
  /// the special ones.
  void check(const Function &function) {
    std::vector<float> x = getArguments(), y(x.size()), z(x.size());
    CompiledModule code(getModule(function.name, function.isWide), GetParam());
    void *tensors[] = {x.data(), y.data(), z.data()};
    dsf_env env{nullptr, runAll, nullptr, nullptr, nullptr, nullptr};
    dsf_call call{&env,    nullptr, nullptr,
                  tensors, nullptr, {int64_t(x.size() / 8), 0, 0}};
    ASSERT_EQ(code.module().entries[0].function(&call), 0);
    EXPECT_EQ(std::memcmp(y.data(), z.data(), y.size() * sizeof(float)), 0)
        << "vectors and scalars differ";
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, getError(y[i], function.exact(x[i])));
    EXPECT_LT(worst, function.bound) << function.name;
  }

private:
  static std::vector<float> getArguments() {
    std::vector<float> x;
    auto add = [&](uint32_t bits) {
      float value;
      std::memcpy(&value, &bits, sizeof value);
      x.push_back(value);
    };
    for (uint64_t bits = 0; bits < 1ull << 32; bits += 4093)
      add(uint32_t(bits));
    for (uint32_t special :
         {0u, 0x80000000u, 0x00800000u, 0x3f800000u, 0xbf800000u, 0x7f800000u,
          0xff800000u, 0x42b17218u, 0xc2aeac50u, 0xc2cff1b5u, 0x3f3504f3u})
      for (int32_t near = -3; near <= 3; ++near)
        add(special + uint32_t(near));
    while (x.size() % 8)
      x.push_back(1);
    return x;
  }

  /// Relative, but absolute where floats have no more digits.
  static double getError(float result, double exact) {
    if (std::isnan(exact))
      return std::isnan(result) ? 0 : 1;
    float nearest = float(exact);
    if (std::isinf(nearest) || nearest == 0)
      return result == nearest ? 0
                               : std::fabs(double(result) - exact) /
                                     std::numeric_limits<float>::max();
    double digits = std::max(std::fabs(exact), 0x1p-126);
    return std::fabs(result - exact) / digits;
  }
};

TEST_P(MathTest, Exp) { check({"exp", std::exp}); }
// Rounded once, so that half a step of f32 is left.
TEST_P(MathTest, ExpOfF64) {
  check({"exp", std::exp, /*isWide=*/true, 0x1.00001p-24});
}
TEST_P(MathTest, Log) { check({"log", std::log}); }
TEST_P(MathTest, Log1p) { check({"log1p", std::log1p}); }
TEST_P(MathTest, Sin) { check({"sin", std::sin}); }
TEST_P(MathTest, Cos) { check({"cos", std::cos}); }
TEST_P(MathTest, Rsqrt) {
  check({"rsqrt", [](double x) { return 1 / std::sqrt(x); }});
}

INSTANTIATE_TEST_SUITE_P(Targets, MathTest,
                         testing::Values("cpu", "cpu:generic"),
                         [](const auto &info) {
                           return std::string(info.index ? "Generic" : "Host");
                         });

} // namespace
