//===- EngramTest.cpp - Hash constants against published values -----------===//

#include "dsflash/Model/Engram.h"
#include "NumpyRandom.h"
#include "TestConfigs.h"

#include <gtest/gtest.h>

using namespace dsflash;
using Ids = std::vector<int64_t>;

namespace {

TEST(NumpyRandom, BoundedIntegers) {
  NumpyRandom random(0);
  for (int64_t expected : {700346781657, 296633628802, 45050865998})
    EXPECT_EQ(random.below(int64_t(1) << 40), expected);
  // A bound that rejects a quarter of the draws.
  NumpyRandom rejecting(10007 * 5);
  for (int64_t expected :
       {2705334469448107869, 2300239929628275647, 1513623576181124524,
        5469688854698709196, 1701354979938495949, 710292916511377972})
    EXPECT_EQ(rejecting.below(int64_t(3) << 61), expected);
}

// SPEC section 3, Engram.
TEST(Engram, PublishedModel) {
  auto config = loadModelConfig(test::kPublishedConfig);
  ASSERT_TRUE(config.ok()) << config.status().str();
  std::vector<EngramHash> hashes = engramHashes(*config);
  ASSERT_EQ(hashes.size(), 2u);
  EXPECT_EQ(hashes[0].multipliers, (Ids{76632096046245, 4839876093313,
                                        35959672319349, 73987337458391}));
  EXPECT_EQ(hashes[1].multipliers, (Ids{67716810739261, 51510806800915,
                                        30921347202721, 82619226485591}));
  EXPECT_EQ(hashes[0].tableRows(), 384006168);
  EXPECT_EQ(hashes[1].tableRows(), 384016682);
  ASSERT_EQ(hashes[0].primes.size(), 24u);

  // Ids [0, 100, 2000, 30000, 99091, 5], position 3.
  Ids look = {30000, 2000, 100, 0}, rows(24);
  hashes[0].rows(look.data(), rows.data());
  EXPECT_EQ(rows[0], 10901611);
  EXPECT_EQ(rows[1], 27678486);
  EXPECT_EQ(rows[8], 134977998);
  EXPECT_EQ(rows[16], 267083179);
  EXPECT_EQ(rows[23], 368359025);
}

// The first positions of golden/engram (compressed ids of its tokens).
TEST(Engram, GoldenRows) {
  std::vector<EngramHash> hashes =
      engramHashes(test::validConfig(test::smallConfig()));
  const Ids ids = {0, 73, 78, 12, 84, 72};
  constexpr int64_t kPad = 2;
  const std::vector<Ids> expected[] = {{{59, 95, 186, 237, 316, 418},
                                        {29, 127, 186, 285, 325, 374},
                                        {19, 71, 204, 246, 323, 408},
                                        {64, 88, 207, 230, 344, 396},
                                        {28, 91, 196, 287, 335, 408},
                                        {25, 121, 207, 227, 370, 413}},
                                       {{7, 146, 258, 369, 516, 527},
                                        {53, 170, 289, 370, 433, 529},
                                        {95, 163, 234, 383, 454, 559},
                                        {21, 188, 248, 378, 449, 540},
                                        {68, 175, 291, 329, 440, 538},
                                        {55, 128, 231, 359, 446, 604}}};
  for (size_t slot = 0; slot < 2; ++slot)
    for (size_t position = 0; position < ids.size(); ++position) {
      Ids look(4, kPad), rows(6);
      for (size_t back = 0; back <= std::min<size_t>(position, 3); ++back)
        look[back] = ids[position - back];
      hashes[slot].rows(look.data(), rows.data());
      EXPECT_EQ(rows, expected[slot][position]) << slot << " " << position;
    }
}

} // namespace
