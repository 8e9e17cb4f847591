//===- SessionFileTest.cpp - Sequences on disk ----------------------------===//

#include "FakeArtifact.h"

#include "dsflash/Runtime/SessionFile.h"
#include "dsflash/Support/MappedFile.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dsflash;
using namespace dsflash::test;
namespace fs = std::filesystem;

namespace {

class SessionFileTest : public FakeArtifactTest {
protected:
  /// A sequence of `length` computed tokens.
  Session compute(int64_t length) {
    Result<Session> session = Session::create(model->module());
    EXPECT_TRUE(session.ok());
    std::vector<int32_t> tokens = tokensOf(length);
    Status status = runner->forward({{&*session, tokens.data(), length, 0}});
    EXPECT_TRUE(status.ok()) << status.str();
    return std::move(*session);
  }
  static std::vector<int32_t> tokensOf(int64_t length) {
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < length; ++i)
      tokens.push_back(int32_t(i * 7 % kVocab));
    return tokens;
  }
  std::vector<float> logitsAfter(Session &session, int32_t token) {
    Status status = runner->forward({{&session, &token, 1, 1}});
    EXPECT_TRUE(status.ok()) << status.str();
    return {runner->logits(0, 0), runner->logits(0, 0) + kVocab};
  }
  std::string bytes(const std::string &path) {
    Result<MappedFile> file = MappedFile::open(path);
    EXPECT_TRUE(file.ok());
    return std::string(file->text());
  }
  std::string errorOf(const std::string &path) {
    return loadSession(path, *runner).status().str();
  }
  void save(const Session &session, const std::string &path,
            const std::vector<int32_t> &waiting = {}) {
    Status status = saveSession(path, *model, session, waiting);
    ASSERT_TRUE(status.ok()) << status.str();
  }

  std::string path() const { return root + "/a.session"; }
};

TEST_F(SessionFileTest, GoesOnWhereItWas) {
  openRunner();
  for (int64_t length : {0, 1, 5, 7, 8, 9, 40}) {
    save(compute(length), path(), {3, 4});
    Result<Continuation> loaded = loadSession(path(), *runner, 2);
    ASSERT_TRUE(loaded.ok()) << loaded.status().str();
    EXPECT_EQ(loaded->session.index(), 2);
    EXPECT_EQ(loaded->session.tokens(), tokensOf(length));
    EXPECT_EQ(loaded->waiting, (std::vector<int32_t>{3, 4}));
    EXPECT_EQ(loaded->length(), length + 2);
    std::vector<int32_t> all = tokensOf(length);
    all.push_back(9);
    EXPECT_EQ(logitsAfter(loaded->session, 9), fakeLogits(all));
    // The draft rings hold the last window again.
    loaded->session.truncate(length);
    EXPECT_TRUE(draftGreedy(*runner, loaded->session, 9).ok());
  }
}

TEST_F(SessionFileTest, BytesOfATokenAndNoMore) {
  openRunner();
  save(compute(200), path());
  size_t shorter = bytes(path()).size();
  save(compute(1000), path());
  // 16 for each position and 8 for each pair, and its id; the header has one
  // digit more at some places.
  EXPECT_NEAR(double(bytes(path()).size() - shorter), 800 * (20 + 4), 64);
}

TEST_F(SessionFileTest, EveryDamagedByteIsNoticed) {
  openRunner();
  save(compute(20), path(), {5});
  std::string good = bytes(path());
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = char(bad[at] ^ 1);
    writeFile(path(), bad);
    std::string error = errorOf(path());
    // Blanks behind the header's text mean nothing.
    EXPECT_TRUE(!error.empty() || good[at] == ' ') << at;
    EXPECT_EQ(error.substr(0, path().size()), error.empty() ? "" : path());
  }
  for (size_t size = 0; size < good.size(); size += 13) {
    writeFile(path(), good.substr(0, size));
    EXPECT_NE(errorOf(path()), "") << size;
  }
  std::string bad = good;
  bad.back() ^= 1;
  writeFile(path(), bad);
  EXPECT_EQ(errorOf(path()), path() + ": damaged: the checksum does not match");
}

TEST_F(SessionFileTest, ForeignAndNewerFiles) {
  openRunner();
  EXPECT_EQ(errorOf(weights + "/model.safetensors"),
            weights + "/model.safetensors: not a session file");
  EXPECT_EQ(errorOf(root + "/none").substr(0, root.size() + 19),
            root + "/none: cannot open:");
  Status status = writeSafetensors(
      path(), {}, {{"format", "dsflash-session"}, {"version", "2"}});
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(errorOf(path()),
            path() + ": session format 2, this runtime reads format 1");
}

TEST_F(SessionFileTest, OtherModelsAndNumerics) {
  openRunner();
  save(compute(20), path());
  checkpoint.bias()[3] = 1;
  openRunner();
  EXPECT_EQ(errorOf(path()),
            path() + ": saved with another model than " + artifact);
  checkpoint.bias()[3] = 0;
  artifact = root + "/other.dsflash";
  fs::create_directories(artifact);
  openRunner("fake_reference");
  EXPECT_EQ(errorOf(path()), path() + ": saved with ideal numerics, the "
                                      "model has reference");
}

// Of a thousand experts some bytes count, and of every other kind as well.
TEST_F(SessionFileTest, EveryKindOfWeightTellsModelsApart) {
  for (int i = 0; i < 1000; ++i)
    checkpoint.add("experts." + std::to_string(i) + ".more", DType::U8, {2}, 1);
  checkpoint.add("layers.3.attn.more", DType::U8, {5000}, 1);
  openRunner();
  save(compute(20), path());
  for (const char *name : {"bias", "layers.2.w.scale", "layers.3.attn.more",
                           "layers.0.experts.1.weight"}) {
    std::vector<char> &bytes = checkpoint.tensors.at(name).bytes;
    char &last = bytes[std::min<size_t>(bytes.size(), 4096) - 1];
    last ^= 1;
    openRunner();
    EXPECT_EQ(errorOf(path()),
              path() + ": saved with another model than " + artifact)
        << name;
    last ^= 1;
  }
  openRunner();
  EXPECT_EQ(errorOf(path()), "");
}

// The same weights under another config are another model; where one of them is
// not known, nothing is compared.
TEST_F(SessionFileTest, OtherConfigs) {
  auto openWith = [&](const char *digest) {
    config = digest;
    openRunner();
  };
  openWith("aa");
  save(compute(20), path());
  EXPECT_EQ(errorOf(path()), "");
  openWith("bb");
  EXPECT_EQ(errorOf(path()),
            path() + ": saved with another model than " + artifact);
  openWith("");
  EXPECT_EQ(errorOf(path()), "");
  save(compute(20), path());
  openWith("bb");
  EXPECT_EQ(errorOf(path()), "");
}

/// Runs `job` in a process of its own that is killed at its `stops`-th way into
/// or out of a system call, unless it has ended before. Returns its wait
/// status.
int killedAt(int stops, const std::function<bool()> &job) {
  pid_t child = fork();
  if (child < 0) {
    ADD_FAILURE() << std::strerror(errno);
    return 0;
  }
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
      _exit(2);
    raise(SIGSTOP);
    _exit(job() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (; WIFSTOPPED(status) && stops > 0; --stops) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
  }
  if (WIFSTOPPED(status)) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  return status;
}

// A process that is killed while it writes leaves the old file or the new one.
// Between two system calls nothing of it changes.
TEST_F(SessionFileTest, KilledWhileWriting) {
  openRunner();
  Session before = compute(300), after = compute(900);
  save(after, path());
  std::string newer = bytes(path());
  save(before, path());
  std::string older = bytes(path());
  int olds = 0, news = 0, stops = 0, status = 0;
  do {
    writeFile(path(), older);
    status = killedAt(
        stops++, [&] { return saveSession(path(), *model, after, {}).ok(); });
    std::string found = bytes(path());
    ASSERT_TRUE(found == older || found == newer) << stops;
    ++(found == older ? olds : news);
    for (const fs::directory_entry &entry : fs::directory_iterator(root))
      if (entry.path().string().find(path() + ".tmp") == 0)
        fs::remove(entry.path());
  } while (!WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  // It opens, writes and renames, and each has a way in and a way out.
  EXPECT_GE(olds, 5);
  EXPECT_GE(news, 2);
}

TEST_F(SessionFileTest, DroppingEqualsLoading) {
  openRunner();
  for (int64_t kept : {0, 1, 8, 9, 25}) {
    Session session = compute(40);
    Status status = dropTokens(*runner, session, kept);
    ASSERT_TRUE(status.ok()) << status.str();
    std::vector<int32_t> all = tokensOf(kept);
    all.push_back(9);
    EXPECT_EQ(logitsAfter(session, 9), fakeLogits(all));
  }
}

TEST_F(SessionFileTest, ForksGoTheirOwnWays) {
  openRunner();
  Session trunk = compute(21);
  Result<Session> one = trunk.fork(1), two = trunk.fork(2);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(two->index(), 2);
  for (Session *session : {&*one, &trunk, &*two}) {
    std::vector<int32_t> all = tokensOf(21);
    all.push_back(int32_t(session->index()) + 30);
    EXPECT_EQ(logitsAfter(*session, all.back()), fakeLogits(all));
  }
}

} // namespace
