//===- StreamTest.cpp - Residual streams and the Engram gate --------------===//

#include "CompiledModel.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace dsflash_test;
using Doubles = std::vector<double>;

namespace {
constexpr int64_t d = 40, outputs = 24;
constexpr int64_t s = 4, iterations = 20; // streams, Sinkhorn rounds
constexpr double eps = 1e-6;

const char *model = R"(
!fn = !dsflash.weight<[24, 160], <f32>>
!base = !dsflash.weight<[1, 24], <f32>>
!scale = !dsflash.weight<[1, 3], <f32>>
!norm = !dsflash.weight<[4, 40], <f32>>
!h = tensor<?x4x40xf32>
!x = tensor<?x40xf32>
!kv = tensor<?x200xf32>
!per_stream = tensor<?x4xf32>
module {
  dsflash.param @fn "fn" : !fn
  dsflash.param @base "base" : !base
  dsflash.param @scale "scale" : !scale
  dsflash.param @q "q" : !norm
  dsflash.param @k "k" : !norm
  func.func @forward(
      %x: !x {dsflash.name = "x", dsflash.dim = "rows"},
      %kv: !kv {dsflash.name = "kv", dsflash.dim = "rows"},
      %h: !h {dsflash.name = "h", dsflash.dim = "rows", bufferization.writable = true})
      -> (!per_stream {dsflash.name = "pre", dsflash.dim = "rows"},
          !per_stream {dsflash.name = "post", dsflash.dim = "rows"},
          tensor<?x4x4xf32> {dsflash.name = "comb", dsflash.dim = "rows"},
          !x {dsflash.name = "collapsed", dsflash.dim = "rows"},
          !x {dsflash.name = "mean", dsflash.dim = "rows"},
          !per_stream {dsflash.name = "gate", dsflash.dim = "rows"},
          !h {dsflash.name = "after", dsflash.dim = "rows"}) {
    %fn = dsflash.param_ref @fn : !fn
    %base = dsflash.param_ref @base : !base
    %scale = dsflash.param_ref @scale : !scale
    %q = dsflash.param_ref @q : !norm
    %k = dsflash.param_ref @k : !norm
    %pre, %post, %comb = dsflash.hc_mix %h, %fn, %base, %scale
      {iterations = 20 : i64, eps = 1.0e-6 : f32, norm_eps = 1.0e-20 : f32}
      : (!h, !fn, !base, !scale) -> (!per_stream, !per_stream, tensor<?x4x4xf32>)
    %collapsed = dsflash.hc_collapse %h, %pre : (!h, !per_stream) -> !x
    %mean = dsflash.stream_mean %h : (!h) -> !x
    %gate = dsflash.engram_gate %h, %kv, %q, %k {eps = 1.0e-20 : f32}
      : (!h, !kv, !norm, !norm) -> !per_stream
    %expanded = dsflash.hc_expand %x, %h, %post, %comb
      : (!x, !h, !per_stream, tensor<?x4x4xf32>) -> !h
    %after = dsflash.engram_add %expanded, %kv, %gate : (!h, !kv, !per_stream) -> !h
    return %pre, %post, %comb, %collapsed, %mean, %gate, %after
      : !per_stream, !per_stream, tensor<?x4x4xf32>, !x, !x, !per_stream, !h
  }
})";

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Divides lines of comb [s, s], whose entries are `step` apart.
void normalize(Doubles &comb, int64_t line, int64_t step, double divisorEps) {
  for (int64_t i = 0; i < s; ++i) {
    double sum = divisorEps;
    for (int64_t j = 0; j < s; ++j)
      sum += comb[i * line + j * step];
    for (int64_t j = 0; j < s; ++j)
      comb[i * line + j * step] /= sum;
  }
}

/// What one row of the model gives (SPEC section 3, mHC and Engram).
struct Expected {
  Doubles pre, post, comb, collapsed, mean, gate, after;

  Expected(const float *x, const float *kv, const float *h, const Floats &fn,
           const Floats &base, const Floats &scale, const Floats &q,
           const Floats &k)
      : collapsed(d), mean(d), after(s * d) {
    mix(h, fn, base, scale);
    for (int64_t j = 0; j < s; ++j)
      gate.push_back(getGate(&h[j * d], &kv[j * d], &q[j * d], &k[j * d]));
    for (int64_t f = 0; f < d; ++f)
      for (int64_t j = 0; j < s; ++j) {
        collapsed[f] += pre[j] * h[j * d + f];
        mean[f] += h[j * d + f] / double(s);
        after[j * d + f] = post[j] * x[f] + gate[j] * kv[s * d + f];
        for (int64_t source = 0; source < s; ++source)
          after[j * d + f] += comb[source * s + j] * h[source * d + f];
      }
  }

private:
  void mix(const float *h, const Floats &fn, const Floats &base,
           const Floats &scale) {
    double squares = 0;
    for (int64_t f = 0; f < s * d; ++f)
      squares += double(h[f]) * h[f];
    double root = std::sqrt(squares / (s * d) + 1e-20);
    for (int64_t o = 0; o < outputs; ++o) {
      double m = 0;
      for (int64_t f = 0; f < s * d; ++f)
        m += double(fn[o * s * d + f]) * h[f];
      m = m / root * scale[std::min<int64_t>(o / s, 2)] + base[o];
      if (o < s)
        pre.push_back(sigmoid(m) + eps);
      else if (o < 2 * s)
        post.push_back(2 * sigmoid(m));
      else
        comb.push_back(std::exp(m));
    }
    normalize(comb, s, 1, 0);
    for (double &entry : comb)
      entry += eps;
    normalize(comb, 1, s, eps);
    for (int64_t i = 1; i < iterations; ++i) {
      normalize(comb, s, 1, eps);
      normalize(comb, 1, s, eps);
    }
  }

  static double getGate(const float *h, const float *key, const float *q,
                        const float *k) {
    double dot = 0, hh = 0, kk = 0;
    for (int64_t f = 0; f < d; ++f) {
      dot += double(h[f]) * q[f] * k[f] * key[f];
      hh += double(h[f]) * h[f];
      kk += double(key[f]) * key[f];
    }
    dot *= 1 / std::sqrt(hh / d + 1e-20) / std::sqrt(kk / d + 1e-20) /
           std::sqrt(double(d));
    double root = std::sqrt(std::max(std::fabs(dot), 1e-6));
    return sigmoid(std::copysign(root, dot));
  }
};

class StreamTest : public testing::Test {
protected:
  std::mt19937 random{9};
  Floats fn = randomFloats(random, outputs * s * d, 0.3f);
  Floats base = randomFloats(random, outputs);
  Floats scale = randomFloats(random, 3);
  Floats q = randomFloats(random, s *d), k = randomFloats(random, s *d);

  void check(int64_t rows, Floats x, Floats kv, Floats h) {
    CompiledModel module(model);
    module.weights = {fn.data(), base.data(), scale.data(), q.data(), k.data()};
    const Floats before = h;
    Floats pre(rows * s), post(rows * s), comb(rows * s * s);
    Floats collapsed(rows * d), mean(rows * d), gate(rows * s);
    module.run(Rows({{0, int32_t(rows)}}), {},
               {{"x", x.data()},
                {"kv", kv.data()},
                {"h", h.data()},
                {"pre", pre.data()},
                {"post", post.data()},
                {"comb", comb.data()},
                {"collapsed", collapsed.data()},
                {"mean", mean.data()},
                {"gate", gate.data()}});
    for (int64_t i = 0; i < rows; ++i) {
      Expected expected(&x[i * d], &kv[i * (s + 1) * d], &before[i * s * d], fn,
                        base, scale, q, k);
      auto expectRow = [&](const Floats &table, const Doubles &row) {
        for (size_t c = 0; c < row.size(); ++c)
          EXPECT_NEAR(table[i * row.size() + c], row[c], 2e-6) << i;
      };
      expectRow(pre, expected.pre);
      expectRow(post, expected.post);
      expectRow(comb, expected.comb);
      expectRow(collapsed, expected.collapsed);
      expectRow(mean, expected.mean);
      expectRow(gate, expected.gate);
      expectRow(h, expected.after);
    }
  }
};

TEST_F(StreamTest, MixCollapseExpand) {
  for (int64_t rows : {1, 5, 37})
    check(rows, randomFloats(random, rows * d),
          randomFloats(random, rows * (s + 1) * d),
          randomFloats(random, rows * s * d));
}

// CASES 31: nothing is divided by zero.
TEST_F(StreamTest, Zeros) {
  check(2, Floats(2 * d), Floats(2 * (s + 1) * d), Floats(2 * s * d));
}
} // namespace
