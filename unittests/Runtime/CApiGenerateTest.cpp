//===- CApiGenerateTest.cpp - Texts from C, with and without drafts -------===//

#include "CApiFixture.h"

#include <algorithm>

using namespace dsflash;
using namespace dsflash::test;

namespace {

/// The next `count` tokens or more, by steps of dsf_session_generate.
std::vector<int32_t> generate(const SessionHandle &session, size_t count) {
  std::vector<int32_t> tokens;
  while (tokens.size() < count) {
    int32_t ids[6];
    size_t gained = 0;
    if (dsf_session_generate(session.get(), ids, 6, &gained) != DSF_OK ||
        gained < 1 || gained > 6) {
      ADD_FAILURE() << dsf_last_error();
      break;
    }
    tokens.insert(tokens.end(), ids, ids + gained);
  }
  return tokens;
}

TEST_F(CApiTest, DraftsChangeNoGreedyText) {
  ModelHandle model = open();
  for (int draft : {0, 1, 5, int(DSF_DRAFT_AUTO)}) {
    dsf_session_options options = dsf_default_session_options();
    EXPECT_EQ(options.draft, 0);
    options.temperature = 0;
    options.draft = draft;
    SessionHandle session = openSession(model.get(), &options);
    ASSERT_EQ(feed(session, sequence(9), /*more=*/true), DSF_OK);
    ASSERT_EQ(feed(session, {}), DSF_OK);
    std::vector<int32_t> tokens = generate(session, 100);
    EXPECT_EQ(tokens, fakeGreedy(sequence(9), int(tokens.size()))) << draft;
    EXPECT_EQ(dsf_session_length(session.get()), 9 + int64_t(tokens.size()));
    EXPECT_EQ(dsf_session_logits(session.get()), nullptr);

    ASSERT_EQ(feed(session, {}), DSF_OK);
    std::vector<int32_t> all = sequence(9);
    all.insert(all.end(), tokens.begin(), tokens.end());
    EXPECT_EQ(logitsOf(session), fakeLogits(all)) << draft;

    dsf_session *opened = nullptr;
    ASSERT_EQ(dsf_session_fork(session.get(), &options, &opened), DSF_OK);
    SessionHandle fork(opened);
    ASSERT_EQ(feed(fork, {7}), DSF_OK);
    all.push_back(7);
    tokens = generate(fork, 20);
    EXPECT_EQ(tokens, fakeGreedy(all, int(tokens.size()))) << draft;
  }
}

TEST_F(CApiTest, DraftsGainSeveralTokensAStep) {
  ModelHandle model = open();
  dsf_session_options options = dsf_default_session_options();
  options.temperature = 0;
  options.draft = 5;
  SessionHandle session = openSession(model.get(), &options);
  ASSERT_EQ(feed(session, sequence(9)), DSF_OK);
  int32_t ids[6];
  size_t count = 0, most = 0;
  for (int step = 0; step < 10; ++step) {
    ASSERT_EQ(dsf_session_generate(session.get(), ids, 6, &count), DSF_OK);
    most = std::max(most, count);
  }
  EXPECT_GT(most, 1u);
}

TEST_F(CApiTest, NothingComesBehindTheEndToken) {
  ModelHandle model = open();
  for (int draft : {0, 5}) {
    dsf_session_options options = dsf_default_session_options();
    options.temperature = 0;
    options.draft = draft;
    SessionHandle session = openSession(model.get(), &options);
    std::vector<int32_t> tokens = {200};
    ASSERT_EQ(feed(session, tokens), DSF_OK);
    int32_t ids[6];
    size_t count = 0;
    while (tokens.back() != 1 && tokens.size() < 900) {
      ASSERT_EQ(dsf_session_generate(session.get(), ids, 6, &count), DSF_OK);
      tokens.insert(tokens.end(), ids, ids + count);
    }
    ASSERT_EQ(tokens.back(), 1) << draft;
    EXPECT_EQ(std::count(tokens.begin(), tokens.end(), 1), 1) << draft;
    EXPECT_EQ(dsf_session_length(session.get()), int64_t(tokens.size()));
    ASSERT_EQ(feed(session, {5}), DSF_OK);
    tokens.push_back(5);
    EXPECT_EQ(logitsOf(session), fakeLogits(tokens)) << draft;
  }
}

TEST_F(CApiTest, ModelsWithoutDraftLayers) {
  ModelHandle model = open("fake_no_drafts");
  dsf_session_options options = dsf_default_session_options();
  options.draft = 1;
  dsf_session *created = nullptr;
  EXPECT_EQ(dsf_session_create(model.get(), &options, &created),
            DSF_ERROR_ARGUMENT);
  EXPECT_STREQ(dsf_last_error(),
               "dsf_session_create: draft 1, the model has no draft layers");
  options.draft = DSF_DRAFT_AUTO;
  EXPECT_NE(openSession(model.get(), &options), nullptr);
}

TEST_F(CApiTest, WrongStepsAreErrors) {
  ModelHandle model = open();
  dsf_session_options options = dsf_default_session_options();
  dsf_session *created = nullptr;
  for (int draft : {6, -2}) {
    options.draft = draft;
    EXPECT_EQ(dsf_session_create(model.get(), &options, &created),
              DSF_ERROR_ARGUMENT);
    EXPECT_EQ(dsf_last_error(), "dsf_session_create: draft " +
                                    std::to_string(draft) +
                                    ", the model drafts at most 5 tokens");
  }
  SessionHandle noDrafts = openSession(model.get());
  options.draft = 2;
  EXPECT_EQ(dsf_session_fork(noDrafts.get(), &options, &created),
            DSF_ERROR_ARGUMENT);
  SessionHandle session = openSession(model.get(), &options);
  int32_t ids[3];
  size_t count = 0;
  EXPECT_EQ(dsf_session_generate(session.get(), ids, 2, &count),
            DSF_ERROR_CAPACITY);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(dsf_session_generate(session.get(), ids, 3, &count),
            DSF_ERROR_ARGUMENT);
  EXPECT_STREQ(dsf_last_error(),
               "dsf_session_generate: no logits; finish the tokens with "
               "dsf_session_feed(session, NULL, 0, 0)");
  // The last position is reached, never passed.
  ASSERT_EQ(feed(session, sequence(1018)), DSF_OK);
  dsf_status status = DSF_OK;
  while (status == DSF_OK)
    status = dsf_session_generate(session.get(), ids, 3, &count);
  EXPECT_EQ(status, DSF_ERROR_INPUT);
  EXPECT_STREQ(dsf_last_error(),
               "session: the model has at most 1024 positions");
  EXPECT_EQ(dsf_session_length(session.get()), 1024);
  EXPECT_EQ(feed(session, {}), DSF_OK);
}

} // namespace
