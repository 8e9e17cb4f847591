//===- Differences.cpp - How far values of two models are apart -----------===//

#include "dsflash/Bench/Comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace dsflash;

void ValueDifference::add(const float *a, const float *b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double apart = double(a[i]) - double(b[i]);
    squares += apart * apart;
    reference += double(a[i]) * double(a[i]);
  }
}

double ValueDifference::nmse() const {
  if (squares == 0)
    return 0;
  return reference == 0 ? std::numeric_limits<double>::infinity()
                        : squares / reference;
}

void ChoiceDifference::add(const int64_t *a, const int64_t *b, int64_t count) {
  for (const int64_t *id = a; id != a + count; ++id) {
    if (*id < 0)
      continue;
    ++total;
    flipped += std::find(b, b + count, *id) == b + count;
  }
}

/// log(sum(exp(logits))).
static double logSum(const float *logits, int64_t vocab) {
  double most = *std::max_element(logits, logits + vocab), sum = 0;
  for (int64_t i = 0; i < vocab; ++i)
    sum += std::exp(double(logits[i]) - most);
  return most + std::log(sum);
}

void LogitDifference::add(const float *a, const float *b, int64_t vocab) {
  values.add(a, b, vocab);
  double sumA = logSum(a, vocab), sumB = logSum(b, vocab);
  for (int64_t i = 0; i < vocab; ++i) {
    double logA = double(a[i]) - sumA, logB = double(b[i]) - sumB;
    divergence += std::exp(logA) * (logA - logB);
  }
  ++positions;
  flipped +=
      std::max_element(a, a + vocab) - a != std::max_element(b, b + vocab) - b;
}
