//===- SessionTest.cpp ----------------------------------------------------===//

#include "dsflash/Runtime/Session.h"

#include "gtest/gtest.h"

#include <cstring>

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

/// The state of the published plan (SPEC section 1): owners at 2, 8, 14 with
/// ratio 2 and 20 with ratio 1, rings of 43 layers with a draft block to spare.
class PublishedPlan {
public:
  PublishedPlan() {
    add(43 * 133, 512 + 16, 0);
    for (int64_t ratio : {2, 2, 2, 1}) {
      add(kPositions / ratio, 256, ratio);
      add(kPositions / ratio, 32, ratio);
      add(kPositions / ratio, 64, ratio);
      add(kPositions / ratio, 4, ratio);
      if (ratio > 1)
        add(8, 2 * 512 * 4, 0);
    }
    module.states = states.data();
    module.state_count = int64_t(states.size());
    module.max_positions = kPositions;
  }

  /// Resident bytes of a session in which these many positions were written.
  int64_t residentBytes(int64_t positions) const {
    Result<Session> session = Session::create(module);
    EXPECT_TRUE(session.ok());
    for (const dsf_state &state : states)
      for (int64_t row = 0; row < usedRows(state, positions); ++row)
        std::memset(session->plane(state) + row * state.row_bytes, 1,
                    size_t(state.row_bytes));
    return session->residentBytes();
  }

  dsf_module module{};

private:
  static constexpr int64_t kPositions = 1 << 20;
  void add(int64_t rows, int64_t rowBytes, int64_t ratio) {
    states.push_back({"plane", module.state_bytes, rowBytes, rows, ratio});
    module.state_bytes += (rows * rowBytes + 4095) / 4096 * 4096;
  }
  std::vector<dsf_state> states;
};

TEST(Session, GrowsByWhatItsTokensTake) {
  PublishedPlan plan;
  int64_t one = plan.residentBytes(1);
  EXPECT_LT(one, 64 << 20);
  int64_t few = plan.residentBytes(4096), many = plan.residentBytes(65536);
  // A page more or less for each of the 16 planes that grow.
  EXPECT_NEAR(double(many - few), 890.0 * (65536 - 4096), 16 * 4096);
  EXPECT_NEAR(double(few - one), 890.0 * 4095, 16 * 4096);
}

TEST(Session, CountsWhatWaitsForTheTail) {
  dsf_module module{};
  module.max_positions = 8;
  module.state_bytes = 4096;
  Result<Session> session = Session::create(module);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->residentBytes(), 0);
  Session::Boundary &boundary = session->boundary();
  boundary.stream = std::vector<float>(3 * 20);
  boundary.pre = std::vector<float>(3 * 4);
  EXPECT_EQ(session->residentBytes(), 3 * (20 + 4) * 4);
  static_cast<char *>(session->state())[0] = 1;
  EXPECT_EQ(session->residentBytes(), 4096 + 3 * (20 + 4) * 4);
  session->truncate(0);
  EXPECT_EQ(session->residentBytes(), 4096);
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
