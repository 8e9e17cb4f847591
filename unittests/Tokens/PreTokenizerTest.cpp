//===- PreTokenizerTest.cpp - Pieces of the two split rules ---------------===//
//
// Expected pieces follow from the regular expressions of SPEC section 5 and of
// the ByteLevel pre-tokenizer.
//
//===----------------------------------------------------------------------===//

#include "PreTokenizer.h"

#include <gtest/gtest.h>

using namespace dsflash;

namespace {

using Pieces = std::vector<std::string>;

Pieces split(SplitRule rule, std::string_view text) {
  Result<std::vector<uint8_t>> classes = classifyText(text);
  if (!classes) {
    ADD_FAILURE() << classes.status().str();
    return {};
  }
  std::vector<size_t> ends;
  splitText(rule, text, *classes, 0, text.size(), ends);
  Pieces pieces;
  size_t begin = 0;
  for (size_t end : ends) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return pieces;
}

struct Case {
  std::string_view text;
  Pieces pieces;
};

void expectPieces(SplitRule rule, const std::vector<Case> &cases) {
  for (const Case &c : cases)
    EXPECT_EQ(split(rule, c.text), c.pieces) << '"' << c.text << '"';
}

TEST(PreTokenizer, ThreeSplits) {
  expectPieces(SplitRule::ThreeSplits,
               {{"", {}},
                {"Hello world", {"Hello", " world"}},
                {"1234567", {"123", "456", "7"}},
                {"a1b", {"a", "1", "b"}},
                {"!!foo ?.bar", {"!!", "foo", " ?.", "bar"}},
                {"x.foo9", {"x", ".foo", "9"}},
                {"...\r\n\n x", {"...\r\n\n", " x"}},
                {"a\t\tb", {"a", "\t", "\tb"}},
                {"a  \n  b", {"a", "  \n", " ", " b"}},
                {"a   ", {"a", "   "}},
                {"\u00A0\u3000a", {"\u00A0", "\u3000a"}},
                {"e\u0301\u0301x\u0301", {"e\u0301\u0301x\u0301"}},
                {"日本テスト", {"日本テスト"}},
                {"x日y", {"x", "日", "y"}},
                // Inside an East Asian piece the third split goes on: U+30FB is
                // punctuation, U+3040 is unassigned.
                {"ア・イ", {"ア", "・", "イ"}},
                {"\u3040\u3040", {"\u3040\u3040"}}});
}

TEST(PreTokenizer, EndOfPieceIsEndOfText) {
  // "  " before a digit is a piece of the first split: white space at its end
  // stays together.
  expectPieces(SplitRule::ThreeSplits, {{"a  1", {"a", "  ", "1"}},
                                        {"a  日", {"a", "  ", "日"}},
                                        {"a  b", {"a", " ", " b"}}});
}

TEST(PreTokenizer, UnmatchedTextStaysTogether) {
  // Controls, format characters and unassigned code points match only in front
  // of a letter or mark.
  expectPieces(SplitRule::ThreeSplits,
               {{{"\0\1\2", 3}, {std::string("\0\1\2", 3)}},
                {"\1\1a\x7F", {"\1", "\1a", "\x7F"}},
                {"\uE000\uE001!", {"\uE000\uE001", "!"}},
                {"\u0378\u0378 \u0378", {"\u0378\u0378", " ", "\u0378"}}});
}

TEST(PreTokenizer, UnicodeVersion) {
  // U+105C0 and U+10D40 (a letter and a digit) are new in Unicode 16.
  expectPieces(SplitRule::ThreeSplits,
               {{" \U000105C0a", {" \U000105C0a"}},
                {"\U00010D40\U00010D40\U00010D40\U00010D40",
                 {"\U00010D40\U00010D40\U00010D40", "\U00010D40"}}});
}

TEST(PreTokenizer, ByteLevel) {
  expectPieces(SplitRule::ByteLevel,
               {{"", {}},
                {"I'll don't we'VE 's",
                 {"I", "'ll", " don", "'t", " we", "'", "VE", " '", "s"}},
                {"a1234 567", {"a", "1234", " 567"}},
                {"x  y\n\n z ", {"x", " ", " y", "\n\n", " z", " "}},
                {"e\u0301!", {"e", "\u0301!"}},
                {"\t\u0378 \u0378", {"\t", "\u0378", " \u0378"}},
                {"'", {"'"}},
                {"日本 1", {"日本", " 1"}}});
}

TEST(PreTokenizer, IllFormedText) {
  struct {
    std::string_view text;
    size_t offset;
  } cases[] = {{"ab\x80", 2},
               {"\xC3", 0},
               {"x\xC0\x80", 1},
               {"é\xED\xA0\x80", 2},
               {"\xF4\x90\x80\x80", 0},
               {"\xE2\x82", 0},
               {"日\xFF", 3}};
  for (auto &c : cases) {
    Result<std::vector<uint8_t>> classes = classifyText(c.text);
    ASSERT_FALSE(classes.ok());
    EXPECT_EQ(classes.status().str(),
              "text: no valid UTF-8 at byte " + std::to_string(c.offset));
  }
}

} // namespace
