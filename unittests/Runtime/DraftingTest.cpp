//===- DraftingTest.cpp - Rows, drafts, acceptance and rollback -----------===//

#include "FakeArtifact.h"

#include "dsflash/Runtime/Drafting.h"

#include <cmath>
#include <tuple>

using namespace dsflash;
using namespace dsflash::test;

namespace {

class DraftingTest : public FakeArtifactTest {
protected:
  DecodeState start(const std::vector<int32_t> &prompt, int32_t last,
                    const SamplingOptions &options, int64_t index = 0) {
    Result<Session> session = Session::create(model->module(), index);
    EXPECT_TRUE(session.ok());
    DecodeState state{std::move(*session), Sampler(options), last, {}, {}};
    if (!prompt.empty())
      compute(state.session, prompt);
    return state;
  }

  void compute(Session &session, const std::vector<int32_t> &tokens) {
    auto count = int64_t(tokens.size());
    Status status = runner->forward({{&session, tokens.data(), count, 1}});
    ASSERT_TRUE(status.ok()) << status.str();
    status = runner->draftContext({count});
    ASSERT_TRUE(status.ok()) << status.str();
  }
};

/// What plain sampling draws from behind these tokens.
std::vector<float> distributionBehind(const std::vector<int32_t> &tokens,
                                      const SamplingOptions &options) {
  std::vector<float> probabilities;
  Sampler(options).distribution(fakeLogits(tokens).data(), kVocab,
                                probabilities);
  return probabilities;
}

/// Tells times at which parts of a step would take these seconds. The loop
/// looks before it drafts, before it verifies and at the end.
class FakeClock {
public:
  FakeClock(const ModelRunner &runner, const StepCosts &costs)
      : runner(runner), costs(costs) {}

  double operator()() {
    if (looks % 3 == 1)
      time += costs.draft;
    if (looks % 3 == 2)
      time += costs.verify(runner.rowCount() - 1);
    ++looks;
    return time;
  }

private:
  const ModelRunner &runner;
  const StepCosts &costs;
  double time = 100;
  int looks = 0;
};

SamplingOptions greedyOptions() {
  SamplingOptions options;
  options.temperature = 0;
  return options;
}

TEST_F(DraftingTest, ForwardGivesTheLogitsOfItsRows) {
  openRunner();
  DecodeState state = start({0, 50, 51}, 0, greedyOptions());
  const int32_t more[] = {60, 61, 62};
  ASSERT_TRUE(runner->forward({{&state.session, more, 3, 2}}).ok());
  std::vector<float> expected = fakeLogits({0, 50, 51, 60, 61});
  EXPECT_EQ(
      std::vector<float>(runner->logits(0, 0), runner->logits(0, 0) + kVocab),
      expected);
  EXPECT_EQ(state.session.length(), 6);
}

TEST_F(DraftingTest, RollbackIsAsIfNothingHadBeen) {
  openRunner();
  DecodeState state = start({0, 50, 51}, 0, greedyOptions());
  compute(state.session, {60, 61, 62, 63});
  state.session.truncate(4);
  compute(state.session, {99});
  EXPECT_EQ(
      std::vector<float>(runner->logits(0, 0), runner->logits(0, 0) + kVocab),
      fakeLogits({0, 50, 51, 60, 99}));
}

// A prompt, a decode step and the check of drafts in one call.
TEST_F(DraftingTest, MixedRowsInOneCall) {
  openRunner();
  std::vector<std::vector<int32_t>> before = {{}, {0, 9, 9}, {4}},
                                    rows = {{0, 50, 51, 52}, {7}, {8, 9, 10}};
  std::vector<DecodeState> states;
  std::vector<SequenceInput> inputs;
  for (size_t i = 0; i < 3; ++i)
    states.push_back(start(before[i], 0, greedyOptions(), int64_t(i)));
  for (size_t i = 0; i < 3; ++i)
    inputs.push_back({&states[i].session, rows[i].data(),
                      int64_t(rows[i].size()), int64_t(rows[i].size())});
  ASSERT_TRUE(runner->forward(inputs).ok());
  for (size_t i = 0; i < 3; ++i) {
    std::vector<int32_t> text = before[i];
    for (size_t row = 0; row < rows[i].size(); ++row) {
      text.push_back(rows[i][row]);
      const float *logits = runner->logits(i, int64_t(row));
      EXPECT_EQ(std::vector<float>(logits, logits + kVocab), fakeLogits(text));
    }
  }
}

// The steps of some sequences and the prompts of others in the same calls.
TEST_F(DraftingTest, StepsBesidePrompts) {
  openRunner();
  std::vector<int32_t> prompt = {0, 50, 51}, other;
  for (int32_t i = 0; i < 40; ++i)
    other.push_back(i * 5);
  std::vector<int32_t> text = fakeGreedy(prompt, 1);
  DecodeState one = start(prompt, text[0], greedyOptions());
  DecodeState two = start({}, 0, greedyOptions(), 1);
  DraftingLoop loop(*runner, 3);
  for (size_t read = 0; read < other.size(); read += 8) {
    Status status = loop.step({&one}, {{&two.session, &other[read], 8, 1}});
    ASSERT_TRUE(status.ok()) << status.str();
    EXPECT_EQ(
        std::vector<float>(runner->logits(1, 0), runner->logits(1, 0) + kVocab),
        fakeLogits({other.begin(), other.begin() + long(read) + 8}));
    text.insert(text.end(), one.gained.begin(), one.gained.end());
  }
  EXPECT_EQ(text, fakeGreedy(prompt, int(text.size())));
  EXPECT_GT(text.size(), 8u);
  // The draft layers have seen the prompt.
  std::vector<int32_t> next = fakeGreedy(other, 1);
  two.last = next[0];
  for (int step = 0; step < 5; ++step) {
    Status status = loop.step({&one, &two});
    ASSERT_TRUE(status.ok()) << status.str();
    next.insert(next.end(), two.gained.begin(), two.gained.end());
  }
  EXPECT_EQ(next, fakeGreedy(other, int(next.size())));
}

TEST_F(DraftingTest, BadTokensNameTheirPosition) {
  openRunner();
  DecodeState state = start({0, 50}, 0, greedyOptions(), 3);
  const int32_t ids[] = {5, -1, 288, 2147483647};
  EXPECT_EQ(runner->forward({{&state.session, ids, 4, 1}}).str(),
            "sequence 3: position 3: token id -1 is outside [0, 288)\n"
            "sequence 3: position 4: token id 288 is outside [0, 288)\n"
            "sequence 3: position 5: token id 2147483647 is outside [0, 288)");
  EXPECT_EQ(state.session.length(), 2);
}

TEST_F(DraftingTest, TooLongASequence) {
  openRunner();
  std::vector<int32_t> prompt(1024, 7);
  DecodeState state = start(prompt, 0, greedyOptions());
  const int32_t one = 5;
  EXPECT_EQ(runner->forward({{&state.session, &one, 1, 1}}).str(),
            "sequence 0: 1025 positions, the model has at most 1024");
}

TEST_F(DraftingTest, NoSequencesNoCall) {
  openRunner();
  EXPECT_TRUE(runner->forward({}).ok());
  DraftingLoop loop(*runner, 5);
  EXPECT_TRUE(loop.step({}).ok());
  EXPECT_EQ(loop.counts().steps, 0);
}

// Every width, over 500 tokens: the greedy text of plain decoding.
TEST_F(DraftingTest, GreedyTextEqualsPlainDecoding) {
  openRunner();
  std::vector<int32_t> prompt = {0, 50, 51};
  std::vector<int32_t> expected = fakeGreedy(prompt, 500);
  for (int64_t width = 0; width <= 5; ++width) {
    DecodeState state = start(prompt, expected[0], greedyOptions());
    DraftingLoop loop(*runner, width);
    std::vector<int32_t> text = {expected[0]};
    while (text.size() < 500) {
      Status status = loop.step({&state});
      ASSERT_TRUE(status.ok()) << status.str();
      text.insert(text.end(), state.gained.begin(), state.gained.end());
      ASSERT_EQ(state.session.length(),
                int64_t(prompt.size() + text.size()) - 1);
    }
    EXPECT_EQ(std::vector<int32_t>(text.begin(), text.begin() + 500), expected);
    const StepCounts &counts = loop.counts();
    EXPECT_EQ(counts.gained, int64_t(text.size()) - 1);
    if (width == 0) {
      EXPECT_EQ(counts.steps, counts.gained);
      continue;
    }
    // The histogram adds up, and drafts are right three times in four.
    int64_t steps = 0, gained = 0;
    for (size_t i = 0; i < counts.accepted.size(); ++i) {
      steps += counts.accepted[i];
      gained += counts.accepted[i] * int64_t(i + 1);
    }
    EXPECT_EQ(steps, counts.steps);
    EXPECT_EQ(gained, counts.gained);
    EXPECT_GT(double(gained) / double(steps), width == 1 ? 1.6 : 2.0);
  }
}

TEST_F(DraftingTest, GainedLogitsAreThoseOfPlainDecoding) {
  openRunner();
  std::vector<int32_t> text = {0, 50, 51, 52};
  DecodeState state = start({0, 50, 51}, 52, greedyOptions());
  DraftingLoop loop(*runner, 5);
  for (int step = 0; step < 10; ++step) {
    ASSERT_TRUE(loop.step({&state}).ok());
    for (size_t i = 0; i < state.gained.size(); ++i) {
      EXPECT_EQ(std::vector<float>(state.gainedLogits[i],
                                   state.gainedLogits[i] + kVocab),
                fakeLogits(text));
      text.push_back(state.gained[i]);
    }
  }
}

// Sequences of a batch accept differently; each gets what it gets alone.
TEST_F(DraftingTest, BatchEqualsAlone) {
  openRunner();
  std::vector<std::vector<int32_t>> prompts = {
      {0, 10, 20}, {0}, {0, 100, 101, 102, 103, 104, 105}};
  std::vector<DecodeState> states;
  std::vector<std::vector<int32_t>> texts;
  for (size_t i = 0; i < prompts.size(); ++i) {
    texts.push_back(fakeGreedy(prompts[i], 1));
    states.push_back(
        start(prompts[i], texts[i][0], greedyOptions(), int64_t(i)));
  }
  DraftingLoop loop(*runner, 3);
  for (int step = 0; step < 30; ++step) {
    Status status = loop.step({&states[0], &states[1], &states[2]});
    ASSERT_TRUE(status.ok()) << status.str();
    for (size_t i = 0; i < texts.size(); ++i)
      texts[i].insert(texts[i].end(), states[i].gained.begin(),
                      states[i].gained.end());
  }
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(texts[i], fakeGreedy(prompts[i], int(texts[i].size())));
}

// The first and the second token of a step, over many steps, follow the
// distribution of plain sampling, though the drafts come from another one.
TEST_F(DraftingTest, SampledDraftsKeepTheDistribution) {
  openRunner();
  std::vector<int32_t> prompt = {0, 50, 51};
  SamplingOptions options;
  options.temperature = 2.5;
  options.topP = 0.9;
  DecodeState state = start(prompt, 52, options);
  std::vector<float> expected = distributionBehind({0, 50, 51, 52}, options);
  int32_t likely = argmax(expected.data(), kVocab);
  std::vector<float> expectedSecond =
      distributionBehind({0, 50, 51, 52, likely}, options);

  constexpr int draws = 6000;
  std::vector<int> first(kVocab), second(kVocab);
  int seconds = 0;
  DraftingLoop loop(*runner, 2);
  for (int draw = 0; draw < draws; ++draw) {
    ASSERT_TRUE(loop.step({&state}).ok());
    ++first[size_t(state.gained[0])];
    if (state.gained.size() > 1 && state.gained[0] == likely) {
      ++second[size_t(state.gained[1])];
      ++seconds;
    }
    state.session.truncate(3);
    state.last = 52;
  }
  auto deviation = [](const std::vector<int> &counts, int total,
                      const std::vector<float> &probabilities) {
    double worst = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      double p = probabilities[i], n = total;
      EXPECT_TRUE(p > 0 || counts[i] == 0) << i;
      worst = std::max(worst, std::fabs(counts[i] - n * p) /
                                  std::sqrt(n * p * (1 - p) + 1));
    }
    return worst;
  };
  EXPECT_LT(deviation(first, draws, expected), 4.5);
  ASSERT_GT(seconds, 300);
  EXPECT_LT(deviation(second, seconds, expectedSecond), 4.5);
  EXPECT_GT(loop.counts().accepted[2], 0);
  EXPECT_GT(loop.counts().accepted[0], 0);
}

// Chi-square over many draws; rare tokens count as one.
double chiSquare(const std::vector<int> &counts, int total,
                 const std::vector<float> &probabilities, int &freedom) {
  double sum = 0, restExpected = 0;
  int rest = 0;
  freedom = 0;
  auto add = [&](double seen, double expected) {
    sum += (seen - expected) * (seen - expected) / expected;
    ++freedom;
  };
  for (size_t i = 0; i < counts.size(); ++i) {
    double expected = double(probabilities[i]) * total;
    if (expected >= 5) {
      add(counts[i], expected);
    } else {
      rest += counts[i];
      restExpected += expected;
    }
  }
  if (restExpected > 0)
    add(rest, restExpected);
  --freedom;
  return sum;
}

// Also with lengths that depend on confidences, which depend on what was drawn:
// tokens of either kind must not be verified more readily.
TEST_F(DraftingTest, ScheduledSamplingIsUnbiased) {
  openRunner();
  SamplingOptions options;
  options.temperature = 3;
  options.topP = 0.5;
  DecodeState state = start({0, 50, 51}, 52, options);
  std::vector<float> first = distributionBehind({0, 50, 51, 52}, options);
  int32_t likely = argmax(first.data(), kVocab);
  std::vector<float> second =
      distributionBehind({0, 50, 51, 52, likely}, options);
  StepCosts costs{1, 1, 0.4};
  DraftingLoop loop(*runner, 4, FakeClock(*runner, costs));
  constexpr int draws = 30000;
  std::vector<int> firstCounts(kVocab), secondCounts(kVocab);
  int seconds = 0;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<int32_t> text;
    while (text.size() < 2) {
      ASSERT_TRUE(loop.step({&state}).ok());
      text.insert(text.end(), state.gained.begin(), state.gained.end());
    }
    ++firstCounts[size_t(text[0])];
    if (text[0] == likely) {
      ++secondCounts[size_t(text[1])];
      ++seconds;
    }
    state.session.truncate(3);
    ASSERT_TRUE(runner->replay(state.session).ok());
    state.last = 52;
  }
  for (auto [counts, total, expected] :
       {std::tuple(&firstCounts, draws, &first),
        std::tuple(&secondCounts, seconds, &second)}) {
    int freedom = 0;
    double sum = chiSquare(*counts, total, *expected, freedom);
    EXPECT_GT(freedom, 3);
    EXPECT_LT(sum, freedom + 4 * std::sqrt(2.0 * freedom));
  }
  // Blocks of several lengths were verified.
  EXPECT_GT(loop.counts().accepted[0], 0);
  EXPECT_GT(loop.counts().accepted[2], 0);
}

TEST_F(DraftingTest, NoDraftsAtTheEndOfThePositions) {
  openRunner();
  std::vector<int32_t> prompt(1020, 7);
  int32_t first = fakeGreedy(prompt, 1)[0];
  DecodeState state = start(prompt, first, greedyOptions());
  DraftingLoop loop(*runner, 5);
  std::vector<int32_t> text = {first};
  while (state.session.length() < 1024) {
    Status status = loop.step({&state});
    ASSERT_TRUE(status.ok()) << status.str();
    text.insert(text.end(), state.gained.begin(), state.gained.end());
  }
  EXPECT_EQ(text, fakeGreedy(prompt, 5));
  EXPECT_EQ(loop.counts().steps, 4);
}

// Drafts that pay at first and then do not, and the other way round: the loop
// follows what its steps take.
TEST_F(DraftingTest, FollowsCostsThatChange) {
  openRunner();
  StepCosts cheap{0.1, 1, 0}, dear{9, 1, 1}, costs = cheap;
  int32_t first = fakeGreedy({0, 50, 51}, 1)[0];
  DecodeState state = start({0, 50, 51}, first, greedyOptions());
  DraftingLoop loop(*runner, 5, FakeClock(*runner, costs));
  auto gainOf = [&](int steps) {
    int64_t before = loop.counts().gained;
    for (int step = 0; step < steps; ++step)
      EXPECT_TRUE(loop.step({&state}).ok());
    return double(loop.counts().gained - before) / steps;
  };
  gainOf(6); // measures
  EXPECT_GT(gainOf(30), 2);
  costs = dear;
  gainOf(40);
  EXPECT_LT(gainOf(30), 1.2);
  costs = cheap;
  gainOf(5 * 64); // a block is tried again now and then
  EXPECT_GT(gainOf(30), 2);
}

// Whatever the lengths, the greedy text is that of plain decoding.
TEST_F(DraftingTest, ScheduledGreedyTextEqualsPlainDecoding) {
  openRunner();
  std::vector<int32_t> prompt = {0, 50, 51};
  std::vector<int32_t> expected = fakeGreedy(prompt, 500);
  for (double extraRow : {0.0, 0.2, 0.6, 2.0}) {
    StepCosts costs{1, 1, extraRow};
    DecodeState state = start(prompt, expected[0], greedyOptions());
    DraftingLoop loop(*runner, 5, FakeClock(*runner, costs));
    std::vector<int32_t> text = {expected[0]};
    while (text.size() < 500) {
      ASSERT_TRUE(loop.step({&state}).ok());
      text.insert(text.end(), state.gained.begin(), state.gained.end());
    }
    text.resize(500);
    EXPECT_EQ(text, expected);
  }
}

TEST_F(DraftingTest, GreedyBlock) {
  openRunner();
  DecodeState state = start({0, 50, 51}, 0, greedyOptions());
  Result<DraftBlock> block = draftGreedy(*runner, state.session, 100);
  ASSERT_TRUE(block.ok()) << block.status().str();
  EXPECT_EQ(block->tokens, (std::vector<int32_t>{101, 102, 103, 104, 105}));
  EXPECT_EQ(block->logits.size(), size_t(5 * kVocab));
  EXPECT_FLOAT_EQ(block->confidence[4], 0.2f);
  EXPECT_FLOAT_EQ(block->confidence[3], 0.125f);
  EXPECT_EQ(state.session.length(), 3);
}

} // namespace
