//===- Sampler.cpp - Logits to a token ------------------------------------===//

#include "dsflash/Runtime/Sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace dsflash;

Status dsflash::checkLogits(const std::string &where, const float *logits,
                            int64_t vocab) {
  bool any = false;
  for (int64_t i = 0; i < vocab; ++i) {
    if (std::isnan(logits[i]) || logits[i] == INFINITY)
      return Status::error(
          where, "the logit of token " + std::to_string(i) + " is " +
                     (std::isnan(logits[i])
                          ? "NaN (dsflash-compile --checked names the layer "
                            "and operation that made it)"
                          : "infinite"));
    any |= logits[i] > -INFINITY;
  }
  return any ? Status() : Status::error(where, "all logits are -infinity");
}

int32_t dsflash::argmax(const float *logits, int64_t vocab) {
  return int32_t(std::max_element(logits, logits + vocab) - logits);
}

int32_t Sampler::sample(const float *logits, int64_t vocab) {
  if (greedy())
    return argmax(logits, vocab);
  distribution(logits, vocab, scratch);
  return draw(scratch);
}

void Sampler::distribution(const float *logits, int64_t vocab,
                           std::vector<float> &probabilities) {
  double best = logits[argmax(logits, vocab)], sum = 0;
  probabilities.resize(size_t(vocab));
  for (int64_t i = 0; i < vocab; ++i) {
    probabilities[i] =
        float(std::exp((double(logits[i]) - best) / options.temperature));
    sum += probabilities[i];
  }
  for (float &probability : probabilities)
    probability = float(probability / sum);
  if (options.topP < 1)
    cutTail(probabilities);
}

void Sampler::cutTail(std::vector<float> &probabilities) {
  auto worse = [&](int32_t a, int32_t b) {
    return probabilities[a] != probabilities[b]
               ? probabilities[a] < probabilities[b]
               : a > b;
  };
  order.resize(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  std::make_heap(order.begin(), order.end(), worse);
  auto end = order.end();
  double sum = 0;
  do {
    std::pop_heap(order.begin(), end, worse);
    sum += probabilities[*--end];
  } while (sum < options.topP && end != order.begin());
  for (auto it = order.begin(); it != end; ++it)
    probabilities[*it] = 0;
  for (auto it = end; it != order.end(); ++it)
    probabilities[*it] = float(probabilities[*it] / sum);
}

int32_t Sampler::draw(const std::vector<float> &weights) {
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double point = uniform() * sum, reached = 0;
  int32_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0)
      continue;
    last = int32_t(i);
    reached += weights[i];
    if (point < reached)
      break;
  }
  return last;
}
