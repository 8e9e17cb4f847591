//===- GeneratorTest.cpp - Prompts to text --------------------------------===//

#include "FakeArtifact.h"

#include "dsflash/Runtime/Generator.h"
#include "dsflash/Runtime/LogitsFile.h"

#include <nlohmann/json.hpp>

#include <cmath>

using namespace dsflash;
using namespace dsflash::test;

namespace {

using Prompts = std::vector<std::vector<int32_t>>;

class GeneratorTest : public FakeArtifactTest {
protected:
  GeneratorTest() {
    options.sampling.temperature = 0;
    options.maxTokens = 20;
  }

  std::vector<SequenceResult> generate(const Prompts &prompts,
                                       GenerationCallbacks callbacks = {}) {
    Generator generator(*runner, options, std::move(callbacks));
    Result<std::vector<SequenceResult>> results = generator.run(prompts);
    EXPECT_TRUE(results.ok()) << results.status().str();
    stats = generator.statistics();
    return results ? *results : std::vector<SequenceResult>(prompts.size());
  }
  std::string errorOf(const Prompts &prompts) {
    return Generator(*runner, options).run(prompts).status().str();
  }

  GenerationOptions options;
  Statistics stats;
};

TEST_F(GeneratorTest, AnyChunkingAndAnyWidth) {
  openRunner();
  std::vector<int32_t> prompt = {0};
  for (int i = 0; i < 24; ++i)
    prompt.push_back(40 + 3 * i);
  std::vector<int32_t> expected = fakeGreedy(prompt, 20);
  for (int64_t chunk : {1, 2, 3, 7, 8, 9, 512})
    for (int64_t width : {0, 1, 5}) {
      options.chunk = chunk;
      options.draftWidth = width;
      EXPECT_EQ(generate({prompt})[0].tokens, expected);
    }
}

TEST_F(GeneratorTest, LogitsOfEveryPosition) {
  openRunner("fake_model", 2);
  options.keepLogits = true;
  options.chunk = 4;
  options.draftWidth = 5;
  options.maxTokens = 9;
  std::vector<int32_t> prompt = {0, 5, 250, 7, 7, 8};
  SequenceResult result = generate({prompt})[0];
  std::vector<int32_t> seen;
  auto row = [](const std::vector<float> &logits, size_t i) {
    return std::vector<float>(logits.begin() + i * kVocab,
                              logits.begin() + (i + 1) * kVocab);
  };
  ASSERT_EQ(result.promptLogits.size(), prompt.size() * kVocab);
  for (size_t i = 0; i < prompt.size(); ++i) {
    seen.push_back(prompt[i]);
    EXPECT_EQ(row(result.promptLogits, i), fakeLogits(seen));
  }
  ASSERT_EQ(result.generatedLogits.size(), result.tokens.size() * kVocab);
  for (size_t i = 0; i < result.tokens.size(); ++i) {
    EXPECT_EQ(row(result.generatedLogits, i), fakeLogits(seen));
    seen.push_back(result.tokens[i]);
  }
}

TEST_F(GeneratorTest, BatchEqualsAlone) {
  openRunner();
  Prompts prompts = {{0, 9}, std::vector<int32_t>(31, 77), {3}};
  options.chunk = 5;
  for (double temperature : {0.0, 2.0}) {
    options.sampling.temperature = temperature;
    for (int64_t width : {0, 4}) {
      options.draftWidth = width;
      std::vector<SequenceResult> batch = generate(prompts);
      for (size_t i = 0; i < prompts.size(); ++i)
        EXPECT_EQ(batch[i].tokens, generate({prompts[i]})[0].tokens);
    }
  }
}

TEST_F(GeneratorTest, SameSeedSameText) {
  openRunner();
  options.sampling.temperature = 3;
  options.sampling.seed = 11;
  std::vector<int32_t> first = generate({{0, 9}})[0].tokens;
  EXPECT_EQ(generate({{0, 9}})[0].tokens, first);
  options.sampling.seed = 12;
  EXPECT_NE(generate({{0, 9}})[0].tokens, first);
}

TEST_F(GeneratorTest, OnlyThePrompt) {
  openRunner();
  options.maxTokens = 0;
  SequenceResult result = generate({{0}})[0];
  EXPECT_TRUE(result.tokens.empty());
  EXPECT_EQ(stats.promptTokens, 1);
  EXPECT_EQ(stats.generatedTokens, 0);
  EXPECT_EQ(stats.steps.steps, 0);
}

TEST_F(GeneratorTest, NoPromptsNoWork) {
  openRunner();
  EXPECT_TRUE(generate({}).empty());
}

TEST_F(GeneratorTest, NeverBeyondTheLastPosition) {
  openRunner();
  options.maxTokens = 100;
  std::vector<int32_t> prompt(1020, 7);
  for (int64_t width : {0, 5}) {
    options.draftWidth = width;
    EXPECT_EQ(generate({prompt})[0].tokens, fakeGreedy(prompt, 5));
  }
}

/// The first end token that greedy text from some prompt meets.
std::vector<int32_t> promptThatEnds(size_t *length) {
  for (int32_t start = 250; start < 280; ++start) {
    std::vector<int32_t> text = fakeGreedy({start}, 60);
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] == 1) {
        *length = i + 1;
        return {start};
      }
  }
  return {};
}

TEST_F(GeneratorTest, EndTokenInsideABlock) {
  openRunner();
  options.maxTokens = 60;
  size_t length = 0;
  std::vector<int32_t> prompt = promptThatEnds(&length);
  ASSERT_FALSE(prompt.empty());
  for (int64_t width : {0, 1, 5}) {
    options.draftWidth = width;
    SequenceResult result = generate({prompt})[0];
    EXPECT_EQ(result.tokens, fakeGreedy(prompt, int(length)));
    EXPECT_EQ(result.finish, FinishReason::EndToken);
    // The state holds the prompt and all tokens but the last.
    EXPECT_EQ(stats.kvBytes, model->kvBytes(int64_t(length)));
  }
  options.ignoreEos = true;
  EXPECT_EQ(generate({prompt})[0].tokens.size(), 60u);
}

// What is kept of a sequence is as if the rest of the block had not been.
TEST_F(GeneratorTest, ContinuesBehindAnEndToken) {
  openRunner();
  options.maxTokens = 60;
  size_t length = 0;
  std::vector<int32_t> prompt = promptThatEnds(&length);
  std::vector<int32_t> text = prompt;
  std::vector<int32_t> drawn = fakeGreedy(prompt, int(length));
  text.insert(text.end(), drawn.begin(), drawn.end());
  for (int64_t width : {0, 5}) {
    options.draftWidth = width;
    Generator generator(*runner, options);
    ASSERT_TRUE(generator.run({prompt}).ok());
    Continuation end = generator.takeSequence(0);
    EXPECT_EQ(end.waiting, (std::vector<int32_t>{1}));
    EXPECT_EQ(end.length(), int64_t(text.size()));
    std::vector<int32_t> all = text;
    all.push_back(44);
    generator.continueFrom(std::move(end));
    Result<std::vector<SequenceResult>> results = generator.run({{44}});
    ASSERT_TRUE(results.ok()) << results.status().str();
    EXPECT_EQ((*results)[0].firstPosition, int64_t(text.size()) - 1);
    EXPECT_EQ((*results)[0].promptTokens, (std::vector<int32_t>{1, 44}));
    std::vector<int32_t> next = (*results)[0].tokens;
    EXPECT_EQ(next, fakeGreedy(all, int(next.size())));
    EXPECT_EQ(generator.statistics().reusedTokens, int64_t(text.size()) - 1);
  }
}

// Case: a prefix of two windows that requests share is computed once.
TEST_F(GeneratorTest, SharedPrefixesAreComputedOnce) {
  openRunner();
  options.chunk = 5;
  Prompts prompts(3, std::vector<int32_t>(16, 9));
  prompts[0].push_back(5);
  prompts[2].insert(prompts[2].end(), {30, 31, 32});
  for (int64_t width : {0, 5}) {
    options.draftWidth = width;
    std::vector<SequenceResult> results = generate(prompts);
    // The second prompt is the prefix alone and keeps one token to compute.
    EXPECT_EQ(stats.reusedTokens, 2 * 15);
    EXPECT_EQ(stats.promptTokens, 17 + 16 + 19);
    for (size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ(results[i].tokens, fakeGreedy(prompts[i], 20)) << i;
  }
  generate({{5, 6}, {7, 6}});
  EXPECT_EQ(stats.reusedTokens, 0);
}

TEST_F(GeneratorTest, ForksOfASession) {
  openRunner();
  options.maxTokens = 3;
  Generator generator(*runner, options);
  ASSERT_TRUE(generator.run({{0, 50, 51}}).ok());
  std::vector<int32_t> trunk = {0, 50, 51};
  for (int32_t token : fakeGreedy(trunk, 3))
    trunk.push_back(token);
  generator.continueFrom(generator.takeSequence(0));
  Result<std::vector<SequenceResult>> results =
      generator.run({{}, {8}, {9, 8}});
  ASSERT_TRUE(results.ok()) << results.status().str();
  for (const SequenceResult &result : *results) {
    std::vector<int32_t> all(trunk.begin(), trunk.end() - 1);
    all.insert(all.end(), result.promptTokens.begin(),
               result.promptTokens.end());
    EXPECT_EQ(result.tokens, fakeGreedy(all, 3));
  }
  EXPECT_GE(generator.statistics().reusedTokens, 3 * 5);
}

TEST_F(GeneratorTest, TextAndStopText) {
  writeTokenizer(artifact);
  openRunner();
  options.maxTokens = 12;
  std::vector<int32_t> prompt = {0, byteId('a')};
  std::string text;
  for (int32_t token : fakeGreedy(prompt, 12))
    text += char(token - 3);
  for (int64_t width : {0, 5}) {
    options.draftWidth = width;
    std::string streamed;
    GenerationCallbacks callbacks;
    callbacks.text = [&](int64_t, std::string_view part) { streamed += part; };
    SequenceResult result = generate({prompt}, callbacks)[0];
    EXPECT_EQ(result.text, text);
    EXPECT_EQ(streamed, text);
    EXPECT_EQ(result.finish, FinishReason::Length);
  }
  options.stops = {"nowhere", text.substr(5, 3)};
  for (int64_t width : {0, 5}) {
    options.draftWidth = width;
    SequenceResult result = generate({prompt})[0];
    EXPECT_EQ(result.text, text.substr(0, 5));
    EXPECT_EQ(result.tokens.size(), 8u);
    EXPECT_EQ(result.finish, FinishReason::StopText);
  }
}

TEST_F(GeneratorTest, AllPromptFaultsAreListed) {
  openRunner();
  options.draftWidth = 7;
  EXPECT_EQ(errorOf({{}, {0, 400}, std::vector<int32_t>(1025, 3)}),
            "draft: 7 tokens a step, the model drafts at most 5\n"
            "prompt 0: no tokens\n"
            "prompt 1: position 1: token id 400 is outside [0, 288)\n"
            "prompt 2: 1025 tokens, the model has at most 1024 positions");
}

TEST_F(GeneratorTest, ModelWithoutDrafts) {
  openRunner("fake_no_drafts");
  EXPECT_EQ(generate({{0, 60}})[0].tokens, fakeGreedy({0, 60}, 20));
  options.draftWidth = 1;
  EXPECT_EQ(errorOf({{0}}), "draft: the model has no draft layers");
}

TEST_F(GeneratorTest, InterruptedBetweenSteps) {
  ModelRunner &runner = openRunner();
  GenerationOptions options;
  options.sampling.temperature = 0;
  options.maxTokens = 100;
  int drawn = 0;
  GenerationCallbacks callbacks;
  callbacks.token = [&](int64_t, int32_t) { ++drawn; };
  callbacks.interrupted = [&] { return drawn >= 3; };
  Generator generator(runner, options, callbacks);
  Result<std::vector<SequenceResult>> results = generator.run({{5}});
  ASSERT_TRUE(results.ok()) << results.status().str();
  EXPECT_EQ((*results)[0].tokens, fakeGreedy({5}, 3));
  EXPECT_EQ((*results)[0].finish, FinishReason::Interrupted);

  callbacks.interrupted = [] { return true; };
  Generator stopped(runner, options, callbacks);
  results = stopped.run({{5}, {6, 7}});
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE((*results)[1].tokens.empty());
  EXPECT_EQ((*results)[1].finish, FinishReason::Interrupted);
}

TEST_F(GeneratorTest, NaNLogitsAreAnError) {
  checkpoint.bias()[17] = std::nanf("");
  openRunner();
  EXPECT_EQ(
      errorOf({{0, 60}}),
      "sequence 0, position 1: the logit of token 17 is NaN (dsflash-compile "
      "--checked names the layer and operation that made it)");
}

TEST_F(GeneratorTest, NoDecodeStepBeforeTheTailOfAPrompt) {
  ModelRunner &runner = openRunner();
  Result<Session> session = Session::create(runner.model().module(), 3);
  ASSERT_TRUE(session.ok());
  session->boundary().rows = 2;
  int32_t token = 60;
  EXPECT_EQ(runner.forward({{&*session, &token, 1, 1}}).str(),
            "sequence 3: the decoder has not seen the last 2 positions; the "
            "tail of a prompt is due");
}

TEST_F(GeneratorTest, StatisticsHaveTheirKeys) {
  openRunner();
  options.draftWidth = 5;
  generate({{0, 60}});
  nlohmann::json json = stats.json();
  for (const char *key :
       {"prompt_tokens", "generated_tokens", "prompt_seconds",
        "generate_seconds", "time_to_first_token", "load_seconds",
        "tokens_per_step", "accepted", "kv_bytes_per_token", "kv_bytes",
        "peak_memory_bytes", "weight_bytes_read"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["prompt_tokens"], 2);
  EXPECT_EQ(json["generated_tokens"], 20);
  EXPECT_EQ(json["kv_bytes_per_token"], 20);
  EXPECT_EQ(json["kv_bytes"], model->kvBytes(21));
  EXPECT_EQ(json["accepted"].size(), 6u);
  EXPECT_GT(json["peak_memory_bytes"], 1 << 20);
  EXPECT_GT(json["weight_bytes_read"], 0);
}

TEST_F(GeneratorTest, LogitsFile) {
  openRunner();
  options.keepLogits = true;
  options.maxTokens = 3;
  std::vector<SequenceResult> results = generate({{0, 60}, {9}});
  std::string path = root + "/logits.safetensors";
  ASSERT_TRUE(writeLogits(path, {results[0]}, kVocab).ok());
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->find("logits")->shape, (std::vector<int64_t>{2, kVocab}));
  EXPECT_EQ(file->find("generated_logits")->shape,
            (std::vector<int64_t>{3, kVocab}));
  auto *tokens =
      reinterpret_cast<const int32_t *>(file->data(*file->find("tokens")));
  EXPECT_EQ(tokens[1], 60);
  ASSERT_TRUE(writeLogits(path, results, kVocab).ok());
  file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->find("p1.positions")->shape, (std::vector<int64_t>{1}));
  EXPECT_EQ(file->find("tokens"), nullptr);
}

} // namespace
