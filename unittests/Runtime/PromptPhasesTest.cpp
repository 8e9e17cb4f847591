//===- PromptPhasesTest.cpp - Prompts in phases ---------------------------===//

#include "FakeArtifact.h"

using namespace dsflash;
using namespace dsflash::test;

namespace {

/// Rows of the fake model's tails (FakePhases.h).
constexpr int64_t kChunk = 4, kLastRows = 29;
constexpr int32_t kFailingToken = 286;

std::vector<int32_t> makePrompt(int length, int step) {
  std::vector<int32_t> prompt;
  for (int i = 0; i < length; ++i)
    prompt.push_back(20 + i * step % 200);
  return prompt;
}

class PromptPhasesTest : public FakeArtifactTest {
protected:
  void SetUp() override {
    FakeArtifactTest::SetUp();
    openRunner("fake_phases");
    options.sampling.temperature = 0;
    options.maxTokens = 12;
    options.chunk = kChunk;
  }

  Session makeSession() {
    return std::move(*Session::create(runner->model().module()));
  }

  GenerationOptions options;
};

// The fake model fails where a tail's rows, their order, what is wanted of
// them or the features that drafts see are not as they should be.
TEST_F(PromptPhasesTest, TailsInChunksOfSeveralSequences) {
  std::vector<std::vector<int32_t>> prompts = {
      makePrompt(40, 3), makePrompt(3, 7), makePrompt(21, 1), makePrompt(4, 9)};
  for (Prefill prefill : {Prefill::Exact, Prefill::Bounded})
    for (int64_t width : {0, 5})
      for (int64_t chunk : {1, 3, 4}) {
        options.prefill = prefill;
        options.draftWidth = width;
        options.chunk = chunk;
        Generator generator(*runner, options);
        Result<std::vector<SequenceResult>> results = generator.run(prompts);
        ASSERT_TRUE(results.ok()) << results.status().str();
        for (size_t i = 0; i < prompts.size(); ++i)
          EXPECT_EQ((*results)[i].tokens, fakeGreedy(prompts[i], 12));
      }
}

TEST_F(PromptPhasesTest, RowsThatFailedAreStillDue) {
  std::vector<int32_t> prompt = makePrompt(40, 3);
  // The 17th of the rows from the end: in the fifth call from the end.
  prompt[prompt.size() - 17] = kFailingToken;
  Session session = makeSession();
  runner->setChunk(kChunk);
  Status status =
      runner->prompt({{&session, prompt.data(), 39, 0}}, Prefill::Exact);
  ASSERT_TRUE(status.ok()) << status.str();
  EXPECT_EQ(session.boundary().rows, kLastRows);
  EXPECT_EQ(
      runner->prompt({{&session, &prompt.back(), 1, 1}}, Prefill::Exact).str(),
      "entry 'tail': compiled code failed with code 64");
  EXPECT_EQ(session.length(), 40);
  EXPECT_EQ(session.boundary().rows, 5 * kChunk);
  int32_t token = 60;
  EXPECT_EQ(runner->forward({{&session, &token, 1, 1}}).str(),
            "sequence 0: the decoder has not seen the last 20 positions; the "
            "tail of a prompt is due");
}
} // namespace
