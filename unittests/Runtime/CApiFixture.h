//===- CApiFixture.h - Sessions of the C API over a fake model --*- C++ -*-===//

#ifndef DSFLASH_UNITTESTS_RUNTIME_CAPIFIXTURE_H
#define DSFLASH_UNITTESTS_RUNTIME_CAPIFIXTURE_H

#include "FakeArtifact.h"
#include "dsflash/Runtime/dsflash.h"

#include <memory>

namespace dsflash::test {

struct CloseModel {
  void operator()(dsf_model *model) const { dsf_model_close(model); }
};
struct CloseSession {
  void operator()(dsf_session *session) const { dsf_session_close(session); }
};
using ModelHandle = std::unique_ptr<dsf_model, CloseModel>;
using SessionHandle = std::unique_ptr<dsf_session, CloseSession>;

inline SessionHandle openSession(const dsf_model *model,
                                 const dsf_session_options *options = nullptr) {
  dsf_session *session = nullptr;
  EXPECT_EQ(dsf_session_create(model, options, &session), DSF_OK)
      << dsf_last_error();
  return SessionHandle(session);
}

inline dsf_status feed(const SessionHandle &session,
                       const std::vector<int32_t> &ids, bool more = false) {
  return dsf_session_feed(session.get(), ids.data(), ids.size(), more);
}

inline std::vector<float> logitsOf(const SessionHandle &session) {
  const float *logits = dsf_session_logits(session.get());
  return logits ? std::vector<float>(logits, logits + kVocab)
                : std::vector<float>();
}

inline std::vector<int32_t> sequence(int count) {
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i)
    ids.push_back((i * 37 + 11) % int(kVocab));
  return ids;
}

class CApiTest : public FakeArtifactTest {
protected:
  void SetUp() override {
    FakeArtifactTest::SetUp();
    writeTokenizer(artifact);
  }

  ModelHandle open(const std::string &variant = "fake_model") {
    writeArtifact(variant);
    dsf_model *opened = nullptr;
    EXPECT_EQ(dsf_model_open(artifact.c_str(), nullptr, &opened), DSF_OK)
        << dsf_last_error();
    return ModelHandle(opened);
  }
};

} // namespace dsflash::test

#endif // DSFLASH_UNITTESTS_RUNTIME_CAPIFIXTURE_H
