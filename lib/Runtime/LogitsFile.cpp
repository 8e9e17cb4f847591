//===- LogitsFile.cpp - Logits of a run as a file -------------------------===//

#include "dsflash/Runtime/LogitsFile.h"
#include "dsflash/Support/Safetensors.h"

#include <numeric>

using namespace dsflash;

Status dsflash::writeLogits(const std::string &path,
                            const std::vector<SequenceResult> &results,
                            int64_t vocab) {
  std::vector<TensorView> views;
  std::vector<std::vector<int32_t>> positions;
  positions.reserve(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const SequenceResult &result = results[i];
    std::string prefix = sequencePrefix(int64_t(i), int64_t(results.size()));
    auto add = [&](const char *name, const std::vector<int32_t> &ids) {
      views.push_back(
          {prefix + name, DType::I32, {int64_t(ids.size())}, ids.data()});
    };
    auto addLogits = [&](const char *name, const std::vector<float> &logits) {
      views.push_back({prefix + name,
                       DType::F32,
                       {int64_t(logits.size()) / vocab, vocab},
                       logits.data()});
    };
    // Those of the last positions, when not of all.
    size_t computed = result.promptLogits.size() / size_t(vocab);
    positions.emplace_back(computed);
    std::iota(positions.back().begin(), positions.back().end(),
              int32_t(result.firstPosition +
                      int64_t(result.promptTokens.size() - computed)));
    add("tokens", result.promptTokens);
    add("positions", positions.back());
    addLogits("logits", result.promptLogits);
    add("generated", result.tokens);
    addLogits("generated_logits", result.generatedLogits);
  }
  return writeSafetensors(path, views);
}
