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

// Case: stop texts apply to the content of a reply, not to its reasoning.
TEST(TextStream, StopTextsBehindATextOnly) {
  for (size_t size : {1, 2, 5, 99}) {
    std::string text = "why end</think>a <en end b", seen;
    TextStream stream({"end"}, "</think>");
    for (size_t at = 0; at < text.size(); at += size)
      seen += stream.feed(std::string_view(text).substr(at, size));
    EXPECT_EQ(seen + stream.finish(), "why end</think>a <en ");
    EXPECT_TRUE(stream.stopped());
  }
  TextStream open({"end"}, "</think>");
  EXPECT_EQ(open.feed("an end</thi"), "an end");
  EXPECT_EQ(open.finish(), "</thi");
  EXPECT_FALSE(open.stopped());
}

TEST(TextStream, StopTextOfSplitCharacters) {
  TextStream stream({"\xe2\x82\xac"});
  EXPECT_EQ(stream.feed("5 \xe2"), "5 ");
  EXPECT_EQ(stream.feed("\x82"), "");
  EXPECT_EQ(stream.feed("\xac"), "");
  EXPECT_TRUE(stream.stopped());
}

} // namespace
