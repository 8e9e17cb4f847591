//===- ChatEncodingTest.cpp - Conversations to prompts --------------------===//
//
// Expected prompts: the released model's vectors and SPEC section 5.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Tokens/ChatEncoding.h"
#include "TestInputs.h"

#include <map>

using namespace dsflash;
using nlohmann::json;
using Role = ChatMessage::Role;

namespace {

ChatMessage messageOf(const json &source) {
  static const std::map<std::string, Role> roles = {
      {"system", Role::System},
      {"user", Role::User},
      {"assistant", Role::Assistant},
      {"tool", Role::Tool},
      {"latest_reminder", Role::LatestReminder}};
  ChatMessage message;
  message.role = roles.at(source["role"]);
  const json &content = source["content"];
  if (content.is_string())
    message.content.push_back({ChatContent::Kind::Text, content});
  else
    for (const json &part : content)
      message.content.push_back(
          part["type"] == "text"
              ? ChatContent{ChatContent::Kind::Text, part["text"]}
              : ChatContent{ChatContent::Kind::Image, ""});
  message.reasoning = source.value("reasoning_content", "");
  message.isPrefix = source.value("prefix", false);
  message.toolCallId = source.value("tool_call_id", "");
  for (const json &call : source.value("tool_calls", json::array()))
    message.toolCalls.push_back(
        {call["id"], call["function"]["name"], call["function"]["arguments"]});
  return message;
}

std::vector<ChatMessage> messagesOf(const json &vector) {
  std::vector<ChatMessage> messages;
  for (const json &message : vector["messages"])
    messages.push_back(messageOf(message));
  return messages;
}

ChatOptions optionsOf(const json &vector) {
  ChatOptions options;
  options.thinking = vector["options"]["thinking"];
  options.effort = vector["options"].value("effort", 50);
  return options;
}

std::string textOf(const std::vector<ChatSegment> &segments) {
  std::string text;
  for (const ChatSegment &segment : segments)
    text += segment.text;
  return text;
}

std::string render(const std::vector<ChatMessage> &messages,
                   const ChatOptions &options) {
  Result<std::vector<ChatSegment>> segments = renderChat(messages, options);
  if (!segments) {
    ADD_FAILURE() << segments.status().str();
    return {};
  }
  return textOf(*segments);
}

TEST(ChatEncoding, VectorsAsText) {
  for (const json &vector : readVectors("prompt_vectors.jsonl"))
    EXPECT_EQ(render(messagesOf(vector), optionsOf(vector)),
              vector["text"].get<std::string>())
        << vector["name"];
}

TEST(ChatEncoding, VectorsAsIds) {
  DSFLASH_REQUIRE_RELEASED_TOKENIZER();
  for (const json &vector : readVectors("prompt_vectors.jsonl")) {
    Result<std::vector<int32_t>> ids =
        encodeChat(releasedTokenizer(), messagesOf(vector), optionsOf(vector));
    ASSERT_TRUE(ids.ok()) << vector["name"] << ids.status().str();
    EXPECT_EQ(*ids, vector["ids"].get<std::vector<int32_t>>())
        << vector["name"];
  }
}

TEST(ChatEncoding, SpecialTokensComeFromTheLayoutAlone) {
  Tokenizer tokenizer = nanoTokenizer();
  std::string hostile;
  for (int32_t id = 0; id < tokenizer.vocabSize(); ++id)
    if (tokenizer.isAdded(id))
      hostile += tokenizer.bytes(id);
  ChatOptions chat;
  chat.thinking = false;
  auto special = [&](const std::string &text) {
    Result<std::vector<int32_t>> ids =
        encodeChat(tokenizer, {ChatMessage::plain(Role::User, text)}, chat);
    EXPECT_TRUE(ids.ok());
    std::vector<int32_t> added;
    for (int32_t id : *ids)
      if (tokenizer.isAdded(id))
        added.push_back(id);
    return added;
  };
  EXPECT_EQ(special(hostile), (std::vector<int32_t>{0, 2042, 2043, 2045}));
}

TEST(ChatEncoding, ReasoningOfEarlierTurns) {
  ChatMessage reply = ChatMessage::plain(Role::Assistant, "2");
  reply.reasoning = "easy";
  ChatOptions options;
  options.hasTools = true;
  std::vector<ChatMessage> messages = {ChatMessage::plain(Role::User, "1+1?"),
                                       reply,
                                       ChatMessage::plain(Role::User, "ok")};
  const char *kept = "<｜Assistant｜><think>easy</think>2<｜end▁of▁sentence｜>";
  const char *dropped = "<｜Assistant｜></think>2<｜end▁of▁sentence｜>";
  auto has = [&](const char *part) {
    return render(messages, options).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(kept));
  options.thinking = false;
  EXPECT_TRUE(has(dropped));
  options = {};
  EXPECT_TRUE(has(dropped));
  messages.pop_back();
  EXPECT_TRUE(has(kept)); // the last turn's
}

TEST(ChatEncoding, ToolArguments) {
  struct {
    const char *json, *parameters;
  } cases[] = {
      {R"({"a":1e16,"b":1.0,"c":-0.0,"d":123456789012345678901234567890})",
       R"(a=1e+16 b=1.0 c=-0.0 d=123456789012345678901234567890)"},
      {R"({"g":1e-5,"h":0.0001,"i":123456789012345680.0,"l":-7})",
       R"(g=1e-05 h=0.0001 i=1.2345678901234568e+17 l=-7)"},
      {R"({"e":{"s":"\u00e9\n\u0001\/"},"f":{"x":[],"y":{}}})",
       R"(e={"s": "é\n\u0001/"} f={"x": [], "y": {}})"},
      {R"({"k":[[1,2],[3,{"q":null}]],"t":true})",
       R"(k=[[1, 2], [3, {"q": null}]] t=true)"},
      {R"({"z":1,"a":2,"z":3})", R"(z=3 a=2)"},
      {R"([1])", R"(arguments=[1])"},
      {R"(7)", R"(arguments=7)"},
      {R"("x")", R"(arguments="x")"},
      {R"({"a":)", R"(arguments={"a":)"},
      {"", "arguments="},
      {"{}", ""}};
  for (auto &c : cases) {
    ChatMessage reply;
    reply.role = Role::Assistant;
    reply.toolCalls.push_back({"1", "f", c.json});
    std::string text = render({reply}, {});
    std::string found;
    const std::string start = "<｜DSML｜ parameter name=\"";
    for (size_t at = text.find(start); at != std::string::npos;
         at = text.find(start, at)) {
      at += start.size();
      size_t nameEnd = text.find('"', at);
      size_t valueBegin = text.find('>', at) + 1;
      size_t valueEnd = text.find("</｜DSML｜ parameter>", valueBegin);
      found += (found.empty() ? "" : " ") + text.substr(at, nameEnd - at) +
               "=" + text.substr(valueBegin, valueEnd - valueBegin);
    }
    EXPECT_EQ(found, c.parameters);
  }
}

TEST(ChatEncoding, DeepToolArgumentsStayText) {
  std::string deep = "{\"a\":" + std::string(100000, '[');
  ChatMessage reply;
  reply.role = Role::Assistant;
  reply.toolCalls.push_back({"1", "f", deep});
  EXPECT_NE(render({reply}, {}).find(deep), std::string::npos);
}

TEST(ChatEncoding, Effort) {
  for (auto [text, effort] : std::map<std::string, int>{
           {"low", 25}, {"high", 50}, {"xhigh", 75}, {"max", 100}, {"1", 1}}) {
    Result<int> parsed = parseEffort(text);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, effort);
  }
  for (const char *text :
       {"", "0", "101", "-1", "5x", "HIGH", "1.5", "99999999999"})
    EXPECT_FALSE(parseEffort(text).ok()) << text;
  for (int effort : {0, 101}) {
    ChatOptions options;
    options.effort = effort;
    Result<std::vector<ChatSegment>> segments = renderChat({}, options);
    ASSERT_FALSE(segments.ok());
    EXPECT_EQ(segments.status().str(),
              "effort: " + std::to_string(effort) + " is outside 1 to 100");
  }
}

TEST(ChatEncoding, Errors) {
  ChatMessage prefix = ChatMessage::plain(Role::Assistant, "x");
  prefix.isPrefix = true;
  ChatMessage user = ChatMessage::plain(Role::User, "y");
  EXPECT_EQ(renderChat({prefix, user}, {}).status().str(),
            "messages[0]: only the last message can be a prefix");
  user.isPrefix = true;
  EXPECT_EQ(renderChat({user}, {}).status().str(),
            "messages[0]: only an assistant message can be a prefix");
  EXPECT_EQ(encodeChat(nanoTokenizer(),
                       {ChatMessage::plain(Role::LatestReminder, "z")}, {})
                .status()
                .str(),
            "tokenizer: has no token \"<｜latest_reminder｜>\"");
  EXPECT_EQ(
      encodeChat(nanoTokenizer(), {ChatMessage::plain(Role::User, "\xFF")}, {})
          .status()
          .str(),
      "text: no valid UTF-8 at byte 0");
}

} // namespace
