//===- SessionTest.cpp ----------------------------------------------------===//

#include "dsflash/Runtime/Session.h"

#include "gtest/gtest.h"

using namespace dsflash;

namespace {

TEST(Session, ReservesWithoutUsing) {
  dsf_module module{};
  module.max_positions = 1 << 20;
  module.state_bytes = int64_t(1) << 40;
  Result<Session> session = Session::create(module, 3);
  ASSERT_TRUE(session.ok()) << session.status().str();
  EXPECT_EQ(session->index(), 3);
  auto *bytes = static_cast<char *>(session->state());
  EXPECT_EQ(bytes[0], 0);
  EXPECT_EQ(bytes[module.state_bytes - 1], 0);
  bytes[module.state_bytes / 2] = 1;
}

TEST(Session, AppendAndTruncate) {
  dsf_module module{};
  module.max_positions = 8;
  Result<Session> session = Session::create(module);
  ASSERT_TRUE(session.ok());
  const int32_t ids[] = {5, 6, 7};
  session->append(ids, 3);
  session->append(ids, 2);
  EXPECT_EQ(session->length(), 5);
  session->truncate(2);
  EXPECT_EQ(session->tokens(), (std::vector<int32_t>{5, 6}));
}

TEST(Session, TooMuchIsAnError) {
  dsf_module module{};
  module.max_positions = 8;
  module.state_bytes = int64_t(1) << 62;
  Result<Session> session = Session::create(module);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().str().substr(0, 9), "session: ");
}

} // namespace
