//===- RopeTest.cpp - Angles and rotation ---------------------------------===//

#include "CompiledModel.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dsflash_test;

namespace {
constexpr int64_t heads = 2, headDim = 24, pairs = 3;
const Floats frequencies = {1.0f, 0.1f, 0.01f};

const char *model = R"(
!ids = tensor<?xi32>
!x = tensor<?x48xf32>
module {
  func.func @forward(
      %x: !x {dsflash.name = "x", dsflash.dim = "rows"},
      %position: !ids {dsflash.name = "position", dsflash.dim = "rows"})
      -> (!x {dsflash.name = "turned", dsflash.dim = "rows"},
          !x {dsflash.name = "back", dsflash.dim = "rows"},
          tensor<?x3x2xf32> {dsflash.name = "groups", dsflash.dim = "rows"}) {
    %table = dsflash.rope_table %position {frequencies = array<f32: 1.0, 0.1, 0.01>}
      : (!ids) -> tensor<?x3x2xf32>
    %groups = dsflash.rope_table %position
      {frequencies = array<f32: 1.0, 0.1, 0.01>, ratio = 4 : i64} : (!ids) -> tensor<?x3x2xf32>
    %turned = dsflash.rotate %x, %table {head_dim = 24 : i64} : (!x, tensor<?x3x2xf32>) -> !x
    %back = dsflash.rotate %turned, %table {head_dim = 24 : i64, inverse} : (!x, tensor<?x3x2xf32>) -> !x
    return %turned, %back, %groups : !x, !x, tensor<?x3x2xf32>
  }
})";

// SPEC section 3: adjacent pairs of the last features turn by one f32 product.
TEST(RopeTest, TurnsAndTurnsBack) {
  std::mt19937 random(2);
  CompiledModel module(model);
  Rows rows({{0, 3}, {1048570, 6}});
  int64_t features = heads * headDim;
  Floats x = randomFloats(random, rows.size() * features);
  Floats turned(x.size()), back(x.size()), groups(rows.size() * pairs * 2);
  module.run(rows, {},
             {{"x", x.data()},
              {"turned", turned.data()},
              {"back", back.data()},
              {"groups", groups.data()}});
  for (int64_t i = 0; i < rows.size(); ++i)
    for (int64_t f = 0; f < pairs; ++f) {
      auto angle = [&](int32_t position) {
        return double(float(position) * frequencies[f]);
      };
      double first = angle(rows.position[i] / 4 * 4);
      EXPECT_NEAR(groups[(i * pairs + f) * 2], std::cos(first), 1e-7);
      EXPECT_NEAR(groups[(i * pairs + f) * 2 + 1], std::sin(first), 1e-7);
      double cos = std::cos(angle(rows.position[i]));
      double sin = std::sin(angle(rows.position[i]));
      for (int64_t h = 0; h < heads; ++h) {
        int64_t at = i * features + (h + 1) * headDim - 2 * (pairs - f);
        EXPECT_NEAR(turned[at], x[at] * cos - x[at + 1] * sin, 1e-6);
        EXPECT_NEAR(turned[at + 1], x[at] * sin + x[at + 1] * cos, 1e-6);
      }
    }
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(back[i], x[i], 1e-6);
    if (int64_t(i) % headDim < headDim - 2 * pairs) {
      EXPECT_EQ(turned[i], x[i]);
    }
  }
}
} // namespace
