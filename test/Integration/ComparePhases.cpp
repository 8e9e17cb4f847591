//===- ComparePhases.cpp - Prompts in phases beside whole ones ------------===//
//
// compare-phases MODEL CHUNK,... LENGTH...
//
// Reads random prompts of a compiled model with every layer and in phases,
// goes on with both sequences, also beside the prompts of others, and compares
// logits and states bit for bit: of global KV, index keys and pending groups
// all that was written, of the window rings the positions that later ones see.
// Tails run in calls of as many rows as the chunks, or of a random number.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Runtime/ModelRunner.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>

using namespace dsflash;

namespace {

/// Tokens computed one by one behind a prompt, and the prompt behind these.
constexpr int64_t kSteps = 3, kSecondPrompt = 5;

void require(const Status &status) {
  if (status)
    return;
  std::fprintf(stderr, "%s\n", status.str().c_str());
  std::exit(1);
}

template <typename T> T require(Result<T> result) {
  require(result.status());
  return std::move(*result);
}

/// A sequence and the logits of its last position.
struct Sequence {
  Session session;
  std::vector<float> logits;
};

class Comparer {
public:
  explicit Comparer(const char *path)
      : model(require(Model::open(path))), module(model->module()), pool(1) {
    require(model->bindWeights(""));
    runner = require(ModelRunner::create(*model, pool));
  }

  bool hasPhases() const { return runner->hasPhases(); }

  void compare(int64_t length, const std::vector<int64_t> &chunks) {
    std::vector<int32_t> prompt = draw(length), second = draw(kSecondPrompt),
                         steps = draw(kSteps);
    Sequence whole = start(), shorter = start();
    readWhole(whole, prompt);
    readWhole(shorter, second);
    for (int64_t chunk : chunks) {
      label = std::to_string(length) + " tokens in chunks of " +
              std::to_string(chunk);
      runner->setChunk(chunk);
      Sequence phased = start();
      readInPhases(phased, prompt, chunk, Prefill::Exact);
      same(phased, whole, "behind the prompt");
      Sequence other{require(whole.session.fork(0)), {}};
      readWhole(phased, {steps[0]});
      readWhole(other, {steps[0]});
      same(phased, other, "behind a step");
      int64_t tailRows =
          1 + int64_t(random() %
                      uint64_t(runner->executor().lastRows(Entry::Tail) + 2));
      label += ", tails of " + std::to_string(tailRows);
      runner->setChunk(tailRows);
      Sequence beside = start(), third = start();
      verifyBeside(phased, {steps.begin() + 1, steps.end()},
                   {{beside, prompt}, {third, second}}, Prefill::Exact);
      same(beside, whole, "beside a step");
      same(third, shorter, "beside a step and a prompt");
      for (size_t i = 1; i < steps.size(); ++i) {
        readWhole(other, {steps[i]});
        check(runner->logits(0, 0), verified[i - 1].data(),
              verified[i - 1].size() * sizeof(float), "logits", "of a draft");
      }
      same(phased, other, "behind drafts");
      readInPhases(phased, second, chunk, Prefill::Exact);
      readWhole(other, second);
      same(phased, other, "behind a second prompt");
    }
    label = std::to_string(length) + " tokens, bounded";
    Sequence bounded = start();
    readInPhases(bounded, prompt, chunks.front(), Prefill::Bounded);
    if (length <= module.sliding_window)
      return same(bounded, whole, "within the window");
    Sequence drafted{require(whole.session.fork(0)), {}}, beside = start();
    verifyBeside(drafted, second, {{beside, prompt}}, Prefill::Bounded);
    same(beside, bounded, "beside a step");
    readWhole(whole, second);
    same(drafted, whole, "beside a prompt");
  }

  int finish() const {
    std::printf("%lld comparisons, %lld differ\n",
                static_cast<long long>(compared),
                static_cast<long long>(failed));
    return failed > 0;
  }

private:
  std::vector<int32_t> draw(int64_t count) {
    std::vector<int32_t> ids(static_cast<size_t>(count));
    for (int32_t &id : ids)
      id = int32_t(random() % uint64_t(module.vocab_size));
    return ids;
  }

  Sequence start() { return {require(Session::create(module)), {}}; }

  std::vector<float> logitsOf(size_t input, int64_t output) const {
    const float *logits = runner->logits(input, output);
    return {logits, logits + module.vocab_size};
  }

  /// The draft layers see what was read.
  void finishRead(Sequence &sequence) {
    sequence.logits = logitsOf(0, 0);
    if (model->drafts())
      require(runner->draftContext({runner->featureRows(0)}));
  }

  void readWhole(Sequence &sequence, const std::vector<int32_t> &ids) {
    auto count = int64_t(ids.size());
    require(runner->forward({{&sequence.session, ids.data(), count, 1}}));
    finishRead(sequence);
  }

  void readInPhases(Sequence &sequence, const std::vector<int32_t> &ids,
                    int64_t chunk, Prefill prefill) {
    auto count = int64_t(ids.size());
    for (int64_t done = 0; done < count; done += chunk)
      require(runner->prompt(
          {{&sequence.session, ids.data() + done, std::min(chunk, count - done),
            done + chunk >= count}},
          prefill));
    finishRead(sequence);
  }

  /// A sequence and a prompt that it is to read.
  struct Reader {
    Sequence &sequence;
    const std::vector<int32_t> &prompt;
  };

  /// Rows of a sequence that all get logits, and whole prompts of others, in
  /// the same calls.
  void verifyBeside(Sequence &sequence, const std::vector<int32_t> &tokens,
                    const std::vector<Reader> &others, Prefill prefill) {
    auto count = int64_t(tokens.size());
    std::vector<SequenceInput> inputs{
        {&sequence.session, tokens.data(), count, count}};
    for (const Reader &other : others)
      inputs.push_back({&other.sequence.session, other.prompt.data(),
                        int64_t(other.prompt.size()), 1});
    require(runner->prompt(inputs, prefill));
    verified.clear();
    for (int64_t row = 0; row < count; ++row)
      verified.push_back(logitsOf(0, row));
    sequence.logits = verified.back();
    std::vector<int64_t> seen{count};
    for (size_t i = 0; i < others.size(); ++i) {
      others[i].sequence.logits = logitsOf(i + 1, 0);
      seen.push_back(runner->featureRows(i + 1));
    }
    if (model->drafts())
      require(runner->draftContext(seen));
  }

  void same(const Sequence &got, const Sequence &expected, const char *when) {
    check(got.logits.data(), expected.logits.data(),
          got.logits.size() * sizeof(float), "logits", when);
    for (int64_t i = 0; i < module.state_count; ++i) {
      const dsf_state &plane = module.states[i];
      std::string name = plane.name;
      const char *a = got.session.plane(plane),
                 *b = expected.session.plane(plane);
      if (name.compare(0, 6, "window") != 0) {
        int64_t rows = usedRows(plane, got.session.length());
        check(a, b, size_t(rows * plane.row_bytes), name, when);
        continue;
      }
      int64_t slots = module.sliding_window + module.draft_block;
      int64_t end = got.session.length(),
              begin = std::max<int64_t>(0, end - module.sliding_window);
      for (int64_t ring = 0; ring < plane.rows; ring += slots)
        for (int64_t position = begin; position < end; ++position) {
          int64_t row = (ring + position % slots) * plane.row_bytes;
          check(a + row, b + row, size_t(plane.row_bytes),
                name + ", layer " + std::to_string(ring / slots) +
                    ", position " + std::to_string(position),
                when);
        }
    }
  }

  void check(const void *got, const void *expected, size_t bytes,
             const std::string &what, const char *when) {
    ++compared;
    if (std::memcmp(got, expected, bytes) == 0)
      return;
    ++failed;
    std::printf("FAIL  %s, %s: %s\n", label.c_str(), when, what.c_str());
  }

  std::unique_ptr<Model> model;
  const dsf_module &module;
  ThreadPool pool;
  std::unique_ptr<ModelRunner> runner;
  std::mt19937_64 random;
  std::string label;
  /// Logits of the rows of verifyBeside.
  std::vector<std::vector<float>> verified;
  int64_t compared = 0, failed = 0;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: compare-phases MODEL CHUNK,... LENGTH...\n");
    return 2;
  }
  Comparer comparer(argv[1]);
  if (!comparer.hasPhases()) {
    std::fprintf(stderr, "%s: has no phases\n", argv[1]);
    return 1;
  }
  std::vector<int64_t> chunks;
  std::stringstream list(argv[2]);
  for (std::string chunk; std::getline(list, chunk, ',');)
    chunks.push_back(std::atoll(chunk.c_str()));
  for (int i = 3; i < argc; ++i)
    comparer.compare(std::atoll(argv[i]), chunks);
  return comparer.finish();
}
