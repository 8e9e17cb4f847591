//===- TextStreamTest.cpp -------------------------------------------------===//

#include "dsflash/Runtime/TextStream.h"

#include "gtest/gtest.h"

using namespace dsflash;

namespace {

TEST(TextStream, WholeCharactersOnly) {
  TextStream stream({});
  EXPECT_EQ(stream.feed("a\xe2\x82"), "a");
  EXPECT_EQ(stream.feed("\xac!"), "\xe2\x82\xac!");
  EXPECT_EQ(stream.feed("\xf0\x9f"), "");
  EXPECT_EQ(stream.finish(), "\xef\xbf\xbd");
}

TEST(TextStream, StopTextThatSpansTokens) {
  TextStream stream({"<end>"});
  EXPECT_EQ(stream.feed("text <"), "text ");
  EXPECT_EQ(stream.feed("en"), "");
  EXPECT_EQ(stream.feed("d> more"), "");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.feed("nothing"), "");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, FalseStartComesOut) {
  TextStream stream({"<end>"});
  EXPECT_EQ(stream.feed("a<en"), "a");
  EXPECT_EQ(stream.feed("ough"), "<enough");
  EXPECT_EQ(stream.feed("<<"), "<");
  EXPECT_EQ(stream.finish(), "<");
  EXPECT_FALSE(stream.stopped());
}

// "aab" begins inside a false start of itself.
TEST(TextStream, OverlappingStart) {
  TextStream stream({"aab"});
  EXPECT_EQ(stream.feed("a"), "");
  EXPECT_EQ(stream.feed("a"), "");
  EXPECT_EQ(stream.feed("a"), "a");
  EXPECT_EQ(stream.feed("b"), "");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, EarliestOfSeveralStops) {
  TextStream stream({"", "cd", "b"});
  EXPECT_EQ(stream.feed("abcd"), "a");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, StopTextOfSplitCharacters) {
  TextStream stream({"\xe2\x82\xac"});
  EXPECT_EQ(stream.feed("5 \xe2"), "5 ");
  EXPECT_EQ(stream.feed("\x82"), "");
  EXPECT_EQ(stream.feed("\xac"), "");
  EXPECT_TRUE(stream.stopped());
}

} // namespace
