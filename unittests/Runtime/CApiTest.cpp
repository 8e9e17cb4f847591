//===- CApiTest.cpp - The runtime from C ----------------------------------===//

#include "CApiFixture.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>

using namespace dsflash;
using namespace dsflash::test;

namespace {

/// Greedy continuation of a prompt by `count` tokens.
std::vector<int32_t> continueGreedily(const SessionHandle &session,
                                      const std::vector<int32_t> &prompt,
                                      int count) {
  std::vector<int32_t> tokens;
  dsf_status status = feed(session, prompt);
  for (int i = 0; i < count && status == DSF_OK; ++i) {
    int32_t token = -1;
    status = dsf_session_best(session.get(), &token);
    tokens.push_back(token);
    if (status == DSF_OK)
      status = feed(session, {token});
  }
  EXPECT_EQ(status, DSF_OK) << dsf_last_error();
  return tokens;
}

TEST_F(CApiTest, TellsAboutTheModel) {
  ModelHandle model = open();
  dsf_model_info info;
  ASSERT_EQ(dsf_model_get_info(model.get(), &info), DSF_OK);
  EXPECT_EQ(info.vocab_size, kVocab);
  EXPECT_EQ(info.max_positions, 1024);
  EXPECT_EQ(info.kv_bytes_per_token, 20);
  EXPECT_EQ(info.draft_block, 5);
  EXPECT_EQ(info.bos_token, 0);
  EXPECT_EQ(info.eos_token, 1);
  EXPECT_TRUE(info.has_tokenizer);
}

TEST_F(CApiTest, LogitsDoNotDependOnTheCalls) {
  ModelHandle model = open();
  std::vector<int32_t> ids = sequence(20);
  for (int part : {1, 2, 7, 19, 20}) {
    SessionHandle session = openSession(model.get());
    for (size_t i = 0; i < ids.size(); i += size_t(part)) {
      size_t count = std::min(size_t(part), ids.size() - i);
      bool more = i + count < ids.size();
      ASSERT_EQ(dsf_session_feed(session.get(), &ids[i], count, more), DSF_OK);
      EXPECT_EQ(dsf_session_length(session.get()), int64_t(i + count));
      EXPECT_EQ(dsf_session_logits(session.get()) == nullptr, more);
    }
    EXPECT_EQ(logitsOf(session), fakeLogits(ids)) << part;
  }
}

TEST_F(CApiTest, AWaitingTokenNeedsNoOtherToBeComputed) {
  ModelHandle model = open();
  SessionHandle session = openSession(model.get());
  EXPECT_EQ(feed(session, {}), DSF_OK);
  EXPECT_TRUE(logitsOf(session).empty());
  EXPECT_EQ(feed(session, sequence(5), /*more=*/true), DSF_OK);
  EXPECT_EQ(feed(session, {}, /*more=*/true), DSF_OK);
  EXPECT_EQ(feed(session, {}), DSF_OK);
  EXPECT_EQ(logitsOf(session), fakeLogits(sequence(5)));
}

TEST_F(CApiTest, TruncateEqualsAFreshSession) {
  ModelHandle model = open();
  for (int length : {19, 15, 14, 8, 1}) {
    SessionHandle session = openSession(model.get());
    ASSERT_EQ(feed(session, sequence(20)), DSF_OK);
    ASSERT_EQ(dsf_session_truncate(session.get(), length), DSF_OK);
    EXPECT_EQ(dsf_session_length(session.get()), length);
    EXPECT_TRUE(logitsOf(session).empty());
    ASSERT_EQ(feed(session, {}), DSF_OK);
    EXPECT_EQ(logitsOf(session), fakeLogits(sequence(length)));
    std::vector<int32_t> ids = sequence(length);
    ids.push_back(7);
    ASSERT_EQ(feed(session, {7}), DSF_OK);
    EXPECT_EQ(logitsOf(session), fakeLogits(ids));
  }
  SessionHandle session = openSession(model.get());
  ASSERT_EQ(feed(session, sequence(20)), DSF_OK);
  EXPECT_EQ(dsf_session_truncate(session.get(), 21), DSF_ERROR_ARGUMENT);
  EXPECT_STREQ(dsf_last_error(), "dsf_session_truncate: length 21 is outside "
                                 "[0, 20]");
  EXPECT_EQ(dsf_session_truncate(session.get(), -1), DSF_ERROR_ARGUMENT);
  EXPECT_EQ(dsf_session_truncate(session.get(), 0), DSF_OK);
  EXPECT_EQ(feed(session, {3}), DSF_OK);
  EXPECT_EQ(logitsOf(session), fakeLogits({3}));
}

TEST_F(CApiTest, SavedAndRestored) {
  ModelHandle model = open();
  std::string path = root + "/a.session";
  SessionHandle session = openSession(model.get());
  ASSERT_EQ(feed(session, sequence(20)), DSF_OK);
  ASSERT_EQ(dsf_session_feed(session.get(), sequence(3).data(), 3, 1), DSF_OK);
  ASSERT_EQ(dsf_session_save(session.get(), path.c_str()), DSF_OK);
  dsf_session *opened = nullptr;
  ASSERT_EQ(dsf_session_restore(model.get(), nullptr, path.c_str(), &opened),
            DSF_OK)
      << dsf_last_error();
  SessionHandle restored(opened);
  EXPECT_EQ(dsf_session_length(restored.get()), 23);
  EXPECT_TRUE(logitsOf(restored).empty());
  ASSERT_EQ(feed(restored, {}), DSF_OK);
  ASSERT_EQ(feed(session, {}), DSF_OK);
  EXPECT_EQ(logitsOf(restored), logitsOf(session));

  std::string none = root + "/none";
  EXPECT_EQ(dsf_session_restore(model.get(), nullptr, none.c_str(), &opened),
            DSF_ERROR_INPUT);
  EXPECT_EQ(std::string(dsf_last_error()).rfind(none + ": cannot open", 0), 0u);
  std::string nowhere = root + "/no/such/folder";
  EXPECT_EQ(dsf_session_save(session.get(), nowhere.c_str()), DSF_ERROR_RUN);
  EXPECT_EQ(dsf_session_save(nullptr, "x"), DSF_ERROR_ARGUMENT);
}

TEST_F(CApiTest, ForksGoTheirOwnWays) {
  ModelHandle model = open();
  SessionHandle session = openSession(model.get());
  ASSERT_EQ(feed(session, sequence(20)), DSF_OK);
  dsf_session *opened = nullptr;
  ASSERT_EQ(dsf_session_fork(session.get(), nullptr, &opened), DSF_OK);
  SessionHandle fork(opened);
  for (const SessionHandle *one : {&fork, &session}) {
    std::vector<int32_t> ids = sequence(20);
    ids.push_back(one == &fork ? 7 : 8);
    ASSERT_EQ(feed(*one, {ids.back()}), DSF_OK);
    EXPECT_EQ(logitsOf(*one), fakeLogits(ids));
  }
}

TEST_F(CApiTest, SamplingFollowsItsSeed) {
  ModelHandle model = open();
  dsf_session_options options = dsf_default_session_options();
  options.temperature = 4;
  options.seed = 9;
  auto draws = [&] {
    SessionHandle session = openSession(model.get(), &options);
    EXPECT_EQ(feed(session, {5}), DSF_OK);
    std::vector<int32_t> tokens(20);
    for (int32_t &token : tokens)
      EXPECT_EQ(dsf_session_sample(session.get(), &token), DSF_OK);
    return tokens;
  };
  std::vector<int32_t> first = draws();
  EXPECT_EQ(draws(), first);
  options.seed = 10;
  EXPECT_NE(draws(), first);
  options.temperature = 0;
  EXPECT_EQ(draws(), std::vector<int32_t>(20, fakeGreedy({5}, 1)[0]));
}

TEST_F(CApiTest, Text) {
  ModelHandle model = open();
  int32_t ids[8];
  size_t count = 0;
  ASSERT_EQ(dsf_tokenize(model.get(), "ab<think>", 9, 1, ids, 8, &count),
            DSF_OK);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(ids[0], byteId('a'));
  EXPECT_EQ(ids[2], 262);
  EXPECT_EQ(dsf_tokenize(model.get(), "ab<think>", 9, 0, ids, 8, &count),
            DSF_ERROR_CAPACITY);
  EXPECT_EQ(count, 9u);
  EXPECT_EQ(ids[7], byteId('k'));
  EXPECT_STREQ(dsf_last_error(), "dsf_tokenize: 9 needed, the buffer holds 8");
  EXPECT_EQ(dsf_tokenize(model.get(), "\xff", 1, 0, ids, 8, &count),
            DSF_ERROR_INPUT);

  char text[4];
  size_t length = 0;
  const int32_t letters[] = {byteId('h'), byteId('i')};
  ASSERT_EQ(dsf_detokenize(model.get(), letters, 2, text, 4, &length), DSF_OK);
  EXPECT_EQ(std::string(text, length), "hi");
  EXPECT_EQ(dsf_detokenize(model.get(), letters, 2, nullptr, 0, &length),
            DSF_ERROR_CAPACITY);
  EXPECT_EQ(length, 2u);
  const int32_t wrong[] = {int32_t(kVocab)};
  EXPECT_EQ(dsf_detokenize(model.get(), wrong, 1, text, 4, &length),
            DSF_ERROR_INPUT);
}

TEST_F(CApiTest, BadInputLeavesTheSessionAsItWas) {
  ModelHandle model = open();
  SessionHandle session = openSession(model.get());
  ASSERT_EQ(feed(session, sequence(3)), DSF_OK);
  EXPECT_EQ(feed(session, {1, -1}), DSF_ERROR_INPUT);
  EXPECT_STREQ(dsf_last_error(),
               "session: position 4: token id -1 is outside [0, 288)");
  EXPECT_EQ(feed(session, {int32_t(kVocab)}), DSF_ERROR_INPUT);
  EXPECT_EQ(feed(session, {std::numeric_limits<int32_t>::max()}, true),
            DSF_ERROR_INPUT);
  EXPECT_EQ(feed(session, sequence(1022)), DSF_ERROR_INPUT);
  EXPECT_STREQ(dsf_last_error(),
               "session: 1025 positions, the model has at most 1024");
  // No count may make the ids be read that are not there.
  const int32_t one[] = {1};
  for (size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4})
    EXPECT_EQ(dsf_session_feed(session.get(), one, count, 0), DSF_ERROR_INPUT);
  EXPECT_EQ(dsf_session_length(session.get()), 3);
  EXPECT_EQ(logitsOf(session), fakeLogits(sequence(3)));
  EXPECT_EQ(feed(session, sequence(1021)), DSF_OK);
  EXPECT_EQ(dsf_session_length(session.get()), 1024);
}

TEST_F(CApiTest, LogitsWithoutATokenAreAnError) {
  checkpoint.bias()[4] = std::numeric_limits<float>::quiet_NaN();
  ModelHandle model = open();
  SessionHandle session = openSession(model.get());
  EXPECT_EQ(feed(session, {1, 2}), DSF_ERROR_RUN);
  EXPECT_STREQ(
      dsf_last_error(),
      "session, position 1: the logit of token 4 is NaN (dsflash-compile "
      "--checked names the layer and operation that made it)");
  EXPECT_EQ(dsf_session_length(session.get()), 0);
  EXPECT_TRUE(logitsOf(session).empty());
}

TEST_F(CApiTest, WrongCallsAreErrors) {
  dsf_model *none = nullptr;
  EXPECT_EQ(dsf_model_open(nullptr, nullptr, &none), DSF_ERROR_ARGUMENT);
  EXPECT_EQ(dsf_model_open((root + "/none").c_str(), nullptr, &none),
            DSF_ERROR_MODEL);
  EXPECT_EQ(dsf_last_error(), root + "/none: no compiled model: not a folder");
  EXPECT_EQ(none, nullptr);
  dsf_model_close(nullptr);
  dsf_session_close(nullptr);
  EXPECT_EQ(dsf_session_length(nullptr), 0);
  EXPECT_EQ(dsf_session_bytes(nullptr), 0);
  EXPECT_EQ(dsf_session_logits(nullptr), nullptr);

  ModelHandle model = open();
  dsf_session_options options = dsf_default_session_options();
  options.top_p = 2;
  dsf_session *created = nullptr;
  EXPECT_EQ(dsf_session_create(model.get(), &options, &created),
            DSF_ERROR_ARGUMENT);
  SessionHandle session = openSession(model.get());
  int32_t token = 0;
  EXPECT_EQ(dsf_session_best(session.get(), &token), DSF_ERROR_ARGUMENT);
  EXPECT_STREQ(dsf_last_error(),
               "dsf_session_best: the last call made no logits");
  EXPECT_EQ(dsf_session_feed(session.get(), nullptr, 1, 0), DSF_ERROR_ARGUMENT);
}

TEST_F(CApiTest, SessionsOutliveTheHandleOfTheirModel) {
  ModelHandle model = open();
  SessionHandle session = openSession(model.get());
  model.reset();
  EXPECT_EQ(feed(session, {8}), DSF_OK);
  EXPECT_EQ(logitsOf(session), fakeLogits({8}));
}

// Also run under the thread sanitizer.
TEST_F(CApiTest, SessionsOfOneModelRunAtOnce) {
  ModelHandle model = open();
  constexpr int kThreads = 4, kTokens = 40;
  std::vector<std::vector<int32_t>> results(kThreads);
  std::vector<std::string> errors(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      dsf_session_options options = dsf_default_session_options();
      options.threads = 1 + i % 2;
      SessionHandle session = openSession(model.get(), &options);
      results[i] = continueGreedily(session, sequence(5 + i), kTokens);
      int32_t id = -i - 1;
      dsf_session_feed(session.get(), &id, 1, 0);
      errors[i] = dsf_last_error();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(results[i], fakeGreedy(sequence(5 + i), kTokens));
    EXPECT_NE(errors[i].find("token id " + std::to_string(-i - 1)),
              std::string::npos)
        << errors[i];
  }
}

TEST_F(CApiTest, ExportsItsFunctionsOnly) {
  std::string list = root + "/symbols";
  ASSERT_EQ(std::system(
                ("nm -D --defined-only " DSFLASH_LIBRARY " >" + list).c_str()),
            0);
  std::ifstream symbols(list);
  int count = 0;
  for (std::string address, kind, name; symbols >> address >> kind >> name;
       ++count)
    EXPECT_EQ(name.rfind("dsf_", 0), 0u) << name;
  EXPECT_EQ(count, 21);
}

TEST_F(CApiTest, TheExampleContinuesAText) {
  writeArtifact();
  std::string out = root + "/out";
  std::string command =
      std::string(DSFLASH_C_EXAMPLE) + " " + artifact + " a 10 >" + out;
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::string text;
  for (int32_t token : fakeGreedy({0, byteId('a')}, 10))
    text += char(token - 3);
  std::ifstream file(out);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, text);
  EXPECT_NE(std::system((std::string(DSFLASH_C_EXAMPLE) + " " + root +
                         "/none a 2>" + out)
                            .c_str()),
            0);
}

} // namespace
