//===- ReplyParserTest.cpp - A reply to its parts, as it comes ------------===//
//
// Expected parts: SPEC section 5, reply parsing.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Tokens/ReplyParser.h"

#include "gtest/gtest.h"

using namespace dsflash;
using Role = ChatMessage::Role;

namespace {

const std::string kCalls =
    "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"find\">\n"
    "<｜DSML｜ parameter name=\"text\" string=\"true\">a \"b\"\n<c>"
    "</｜DSML｜ parameter>\n"
    "<｜DSML｜ parameter name=\"most\" string=\"false\">[1, 2.5]"
    "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n"
    "<｜DSML｜ invoke name=\"now\">\n\n</｜DSML｜ invoke>\n"
    "</｜DSML｜ calls>";

struct Case {
  std::string text;
  bool thinking, hasTools;
  std::string reasoning, content;
  size_t calls = 0;
};

const Case kCases[] = {
    {"\n\nwhy\n\n</think>\n\nso", true, false, "why", "so"},
    {"why", true, false, "why", ""},
    {"why\n", true, false, "why", ""},
    {"</think>so\n", true, false, "", "so\n"},
    {"a</think>b</think>c", true, false, "a", "bc"},
    {"\nso", false, false, "", "so"},
    {"a</think>b", false, false, "", "ab"},
    {"\n</think>\nb", false, false, "", "b"},
    {"", true, false, "", ""},
    {"", false, false, "", ""},
    // What only looked like a marker is text.
    {"why\n</thi", true, false, "why\n</thi", ""},
    {"a </b> </think c", false, false, "", "a </b> </think c"},
    {"so <｜DS", false, true, "", "so <｜DS"},
    // Calls need tools, and may come inside of reasoning.
    {"so\n\n" + kCalls, false, true, "", "so", 2},
    {"so\n\n" + kCalls, false, false, "", "so\n\n" + kCalls},
    {"why\n</think>\n\n" + kCalls, true, true, "why", "", 2},
    {"why\n\n" + kCalls, true, true, "why", "", 2},
    {"so\n\n", false, true, "", "so\n\n"},
    // Calls that are not whole stay text.
    {"so\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n", false, true, "",
     "so\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n"},
    {"<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\nx\n</｜DSML｜ invoke>\n",
     false, true, "",
     "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\nx\n</｜DSML｜ invoke>\n"},
};

void expectParts(const ChatMessage &reply, const Case &c) {
  EXPECT_EQ(reply.role, Role::Assistant);
  EXPECT_EQ(reply.reasoning, c.reasoning) << c.text;
  ASSERT_EQ(reply.content.size(), 1u);
  EXPECT_EQ(reply.content[0].text, c.content) << c.text;
  ASSERT_EQ(reply.toolCalls.size(), c.calls) << c.text;
  if (c.calls == 0)
    return;
  EXPECT_EQ(reply.toolCalls[0].name, "find");
  EXPECT_EQ(reply.toolCalls[0].arguments,
            R"({"text": "a \"b\"\n<c>", "most": [1, 2.5]})");
  EXPECT_EQ(reply.toolCalls[1].name, "now");
  EXPECT_EQ(reply.toolCalls[1].arguments, "{}");
}

TEST(ReplyParser, WholeReplies) {
  for (const Case &c : kCases)
    expectParts(parseReply(c.text, c.thinking, c.hasTools), c);
}

// In pieces of any length the parts only grow, and end the same.
TEST(ReplyParser, Streaming) {
  for (const Case &c : kCases)
    for (size_t size : {1, 2, 3, 7}) {
      ReplyParser parser(c.thinking, c.hasTools);
      std::string reasoning, content;
      auto expectGrowth = [&] {
        const ChatMessage &now = parser.message();
        EXPECT_EQ(now.reasoning.substr(0, reasoning.size()), reasoning);
        EXPECT_EQ(now.content[0].text.substr(0, content.size()), content);
        reasoning = now.reasoning;
        content = now.content[0].text;
        EXPECT_EQ(c.reasoning.substr(0, reasoning.size()), reasoning) << c.text;
        EXPECT_EQ(c.content.substr(0, content.size()), content) << c.text;
      };
      for (size_t at = 0; at < c.text.size(); at += size) {
        parser.feed(std::string_view(c.text).substr(at, size));
        expectGrowth();
      }
      parser.finish();
      expectGrowth();
      expectParts(parser.message(), c);
    }
}

// Text that cannot be the start of a marker is there at once.
TEST(ReplyParser, HoldsBackNothingElse) {
  ReplyParser parser(/*thinking=*/true);
  parser.feed("why<");
  EXPECT_EQ(parser.message().reasoning, "why");
  parser.feed("b>");
  EXPECT_EQ(parser.message().reasoning, "why<b>");
  parser.feed("</think>so");
  EXPECT_EQ(parser.message().content[0].text, "so");
}

// What the prompt says of a reply is read back.
TEST(ReplyParser, ReadsWhatIsRendered) {
  ChatMessage reply = ChatMessage::plain(Role::Assistant, "so");
  reply.toolCalls = {{"1", "f", R"({"a": "x<y", "b": {"c": [null, 1.5]}})"},
                     {"2", "g", "{}"}};
  Result<std::vector<ChatSegment>> segments =
      renderChat({ChatMessage::plain(Role::User, "?"), reply}, {});
  ASSERT_TRUE(segments.ok());
  std::string text;
  for (const ChatSegment &segment : *segments)
    text += segment.text;
  size_t begin = text.find("</think>"),
         end = text.find("<｜end▁of▁sentence｜>");
  ChatMessage read = parseReply(text.substr(begin, end - begin), true, true);
  EXPECT_EQ(read.content[0].text, "so");
  ASSERT_EQ(read.toolCalls.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.toolCalls[i].name, reply.toolCalls[i].name);
    EXPECT_EQ(read.toolCalls[i].arguments, reply.toolCalls[i].arguments);
  }
}

} // namespace
