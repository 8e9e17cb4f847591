//===- ChatEncoding.cpp - A conversation to the model's prompt ------------===//

#include "dsflash/Tokens/ChatEncoding.h"
#include "ChatTokens.h"
#include "ToolArguments.h"

#include <algorithm>
#include <charconv>

using namespace dsflash;

using Role = ChatMessage::Role;

namespace {

constexpr int kMinEffort = 1, kMaxEffort = 100;

bool isUserOrTool(const ChatMessage &message) {
  return message.role == Role::User || message.role == Role::Tool;
}

class ChatRenderer {
public:
  ChatRenderer(const std::vector<ChatMessage> &messages,
               const ChatOptions &options)
      : messages(messages), options(options) {}

  std::vector<ChatSegment> render() {
    for (size_t i = 0; i < messages.size(); ++i)
      if (isUserOrTool(messages[i]) ||
          (messages[i].role == Role::System && i > 0))
        lastTurn = i;

    bool startsWithSystem = !options.continues && !messages.empty() &&
                            messages[0].role == Role::System;
    if (!options.continues)
      renderHead(startsWithSystem);
    for (size_t i = startsWithSystem; i < messages.size();)
      i = renderMessage(i);
    if (messages.empty() || !messages.back().isPrefix) {
      special(kAssistant);
      special(options.thinking ? kThink : kEndThink);
    }
    return std::move(segments);
  }

private:
  void special(const char *token) { segments.push_back({true, token}); }

  void text(std::string_view more) {
    if (more.empty())
      return;
    if (segments.empty() || segments.back().isSpecial)
      segments.emplace_back();
    segments.back().text += more;
  }

  void content(const ChatMessage &message) {
    for (size_t i = 0; i < message.content.size(); ++i) {
      if (i > 0)
        text("\n\n");
      if (message.content[i].kind == ChatContent::Kind::Image)
        special(kImage);
      else
        text(message.content[i].text);
    }
  }

  void renderHead(bool startsWithSystem) {
    special(kBos);
    if (options.thinking || startsWithSystem)
      special(kSystem);
    if (options.thinking)
      text("Reasoning Effort: " + std::to_string(options.effort) +
           " (range 1-100, the higher the value, the more thorough the "
           "reasoning)\n\n");
    if (startsWithSystem)
      content(messages[0]);
  }

  /// Renders a message, or all messages of one turn; returns the next index.
  size_t renderMessage(size_t index) {
    const ChatMessage &message = messages[index];
    switch (message.role) {
    case Role::System:
      special(kSystem);
      content(message);
      return index + 1;
    case Role::LatestReminder:
      special(kLatestReminder);
      content(message);
      return index + 1;
    case Role::Assistant:
      renderReply(index);
      return index + 1;
    case Role::User:
    case Role::Tool:
      return renderTurn(index);
    }
    return index + 1;
  }

  size_t renderTurn(size_t begin) {
    size_t end = begin;
    std::vector<const ChatMessage *> results;
    for (; end < messages.size() && isUserOrTool(messages[end]); ++end)
      if (messages[end].role == Role::Tool)
        results.push_back(&messages[end]);
    sortByCalls(results, begin);

    special(kUser);
    auto nextResult = results.begin();
    for (size_t i = begin; i < end; ++i) {
      if (i > begin)
        text("\n\n");
      if (messages[i].role == Role::User) {
        content(messages[i]);
        continue;
      }
      text("<tool_result>");
      content(**nextResult++);
      text("</tool_result>");
    }
    return end;
  }

  /// Orders tool results as the calls of the reply before `turn`; what answers
  /// none of them comes last.
  void sortByCalls(std::vector<const ChatMessage *> &results, size_t turn) {
    if (turn == 0)
      return;
    const std::vector<ToolCall> &calls = messages[turn - 1].toolCalls;
    auto place = [&](const ChatMessage *result) {
      return std::find_if(
          calls.begin(), calls.end(),
          [&](const ToolCall &call) { return call.id == result->toolCallId; });
    };
    std::stable_sort(results.begin(), results.end(),
                     [&](const ChatMessage *a, const ChatMessage *b) {
                       return place(a) < place(b);
                     });
  }

  void renderReply(size_t index) {
    const ChatMessage &message = messages[index];
    bool hasAnswer =
        !message.toolCalls.empty() ||
        std::any_of(message.content.begin(), message.content.end(),
                    [](const ChatContent &part) {
                      return part.kind == ChatContent::Kind::Image ||
                             !part.text.empty();
                    });
    special(kAssistant);
    bool keepsReasoning =
        options.thinking && (options.hasTools || index >= lastTurn);
    if (keepsReasoning) {
      special(kThink);
      text(message.reasoning);
    }
    if (!keepsReasoning || hasAnswer || !message.isPrefix)
      special(kEndThink);
    content(message);
    if (!message.toolCalls.empty())
      renderCalls(message.toolCalls);
    if (!message.isPrefix)
      special(kEos);
  }

  void tag(const char *before, const std::string &after) {
    text(before);
    special(kDsml);
    text(after);
  }

  void renderCalls(const std::vector<ToolCall> &calls) {
    text("\n\n");
    tag("<", " calls>\n");
    for (const ToolCall &call : calls) {
      tag("<", " invoke name=\"" + call.name + "\">\n");
      renderParameters(call);
      text("\n");
      tag("</", " invoke>\n");
    }
    tag("</", " calls>");
  }

  void renderParameters(const ToolCall &call) {
    std::vector<ToolParameter> parameters =
        readToolArguments(call.arguments)
            .value_or(std::vector<ToolParameter>{
                {"arguments", true, call.arguments}});
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (i > 0)
        text("\n");
      const ToolParameter &parameter = parameters[i];
      tag("<", " parameter name=\"" + parameter.name + "\" string=\"" +
                   (parameter.isString ? "true" : "false") + "\">" +
                   parameter.value);
      tag("</", " parameter>");
    }
  }

  const std::vector<ChatMessage> &messages;
  const ChatOptions &options;
  std::vector<ChatSegment> segments;
  /// Last message that belongs to a user turn; 0 if there is none.
  size_t lastTurn = 0;
};

Status check(const std::vector<ChatMessage> &messages,
             const ChatOptions &options) {
  Status status;
  if (options.effort < kMinEffort || options.effort > kMaxEffort)
    status.add("effort",
               std::to_string(options.effort) + " is outside 1 to 100");
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].isPrefix)
      continue;
    std::string where = "messages[" + std::to_string(i) + "]";
    if (messages[i].role != Role::Assistant)
      status.add(where, "only an assistant message can be a prefix");
    if (i + 1 != messages.size())
      status.add(where, "only the last message can be a prefix");
  }
  return status;
}

} // namespace

Result<int> dsflash::parseEffort(std::string_view text) {
  constexpr std::pair<std::string_view, int> kNames[] = {
      {"low", 25}, {"high", 50}, {"xhigh", 75}, {"max", 100}};
  for (auto [name, effort] : kNames)
    if (text == name)
      return effort;
  int effort = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), effort);
  if (error != std::errc() || end != text.data() + text.size() ||
      effort < kMinEffort || effort > kMaxEffort)
    return Status::error("effort", "\"" + std::string(text) +
                                       "\" is none of 1 to 100, low, high, "
                                       "xhigh, max");
  return effort;
}

Result<std::vector<ChatSegment>>
dsflash::renderChat(const std::vector<ChatMessage> &messages,
                    const ChatOptions &options) {
  Status status = check(messages, options);
  if (!status)
    return status;
  return ChatRenderer(messages, options).render();
}

Result<std::vector<int32_t>>
dsflash::encodeSegments(const Tokenizer &tokenizer,
                        const std::vector<ChatSegment> &segments) {
  std::vector<int32_t> ids;
  for (const ChatSegment &segment : segments) {
    if (!segment.isSpecial) {
      Result<std::vector<int32_t>> plain =
          tokenizer.encode(segment.text, /*parseAdded=*/false);
      if (!plain)
        return plain.status();
      ids.insert(ids.end(), plain->begin(), plain->end());
      continue;
    }
    std::optional<int32_t> id = tokenizer.idOf(segment.text);
    if (!id)
      return Status::error("tokenizer",
                           "has no token \"" + segment.text + "\"");
    ids.push_back(*id);
  }
  return ids;
}

Result<std::vector<int32_t>>
dsflash::encodeChat(const Tokenizer &tokenizer,
                    const std::vector<ChatMessage> &messages,
                    const ChatOptions &options) {
  Result<std::vector<ChatSegment>> segments = renderChat(messages, options);
  if (!segments)
    return segments.status();
  return encodeSegments(tokenizer, *segments);
}
