//===- ReplyParser.cpp - A reply to its parts, as it comes ----------------===//

#include "dsflash/Tokens/ReplyParser.h"
#include "ChatTokens.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

using namespace dsflash;
using nlohmann::json;

namespace {

const std::string kBegin = std::string("<") + kDsml;
const std::string kEnd = std::string("</") + kDsml;

/// Characters at the end of a text that may be the start of a marker.
size_t startOf(std::string_view marker, std::string_view text) {
  size_t most = std::min(marker.size() - 1, text.size());
  for (size_t n = most; n > 0; --n)
    if (text.substr(text.size() - n) == marker.substr(0, n))
      return n;
  return 0;
}

/// Reads pieces of a text from its start on.
class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  bool take(std::string_view expected) {
    if (text.substr(0, expected.size()) != expected)
      return false;
    text.remove_prefix(expected.size());
    return true;
  }
  /// Up to `end`, which is taken too.
  std::optional<std::string> takeUntil(std::string_view end) {
    size_t at = text.find(end);
    if (at == text.npos)
      return std::nullopt;
    std::string found(text.substr(0, at));
    text.remove_prefix(at + end.size());
    return found;
  }
  std::string_view rest() const { return text; }

private:
  std::string_view text;
};

std::string jsonText(const std::string &value) {
  return json(value).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The parameters of a call as a JSON object; nothing if there are others.
std::optional<std::string> readParameters(std::string_view text) {
  Scanner scanner(text);
  std::string object = "{";
  while (!scanner.rest().empty()) {
    if (object.size() > 1 && !scanner.take("\n"))
      return std::nullopt;
    if (!scanner.take(kBegin + " parameter name=\""))
      return std::nullopt;
    std::optional<std::string> name = scanner.takeUntil("\" string=\"");
    if (!name)
      return std::nullopt;
    bool isString = scanner.take("true\">");
    if (!isString && !scanner.take("false\">"))
      return std::nullopt;
    std::optional<std::string> value = scanner.takeUntil(kEnd + " parameter>");
    if (!value || (!isString && !json::accept(*value)))
      return std::nullopt;
    object += (object.size() > 1 ? ", " : "") + jsonText(*name) + ": " +
              (isString ? jsonText(*value) : *value);
  }
  return object + "}";
}

std::optional<ToolCall> readCall(std::string_view text) {
  Scanner scanner(text);
  std::optional<std::string> name = scanner.takeUntil("\">\n");
  if (!name)
    return std::nullopt;
  std::string_view parameters = scanner.rest();
  if (!parameters.empty() && parameters.back() == '\n')
    parameters.remove_suffix(1);
  std::optional<std::string> arguments = readParameters(parameters);
  if (!arguments)
    return std::nullopt;
  return ToolCall{"", *name, *arguments};
}

} // namespace

ReplyParser::ReplyParser(bool thinking, bool hasTools)
    : part(thinking ? Part::Reasoning : Part::Content), hasTools(hasTools),
      reply(ChatMessage::plain(ChatMessage::Role::Assistant, "")) {}

void ReplyParser::feed(std::string_view text) {
  held += text;
  take(/*atEnd=*/false);
}

void ReplyParser::finish() { take(/*atEnd=*/true); }

size_t ReplyParser::startOfMarker() const {
  size_t close = startOf(kEndThink, held);
  return hasTools ? std::max(close, startOf(kBegin, held)) : close;
}

void ReplyParser::add(std::string &to, std::string_view text) {
  // Newlines at the start of a part are dropped.
  if (to.empty())
    text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  to += text;
}

void ReplyParser::take(bool atEnd) {
  while (part != Part::Calls) {
    bool isReasoning = part == Part::Reasoning;
    size_t close = held.find(kEndThink);
    size_t calls = hasTools ? held.find(kBegin) : held.npos;
    size_t marker = std::min(close, calls);
    bool isOpen = marker == held.npos;
    size_t certain = marker;
    if (isOpen)
      certain = held.size() - (atEnd ? 0 : startOfMarker());
    std::string_view text = std::string_view(held).substr(0, certain);
    // Newlines behind reasoning and in front of calls are of the layout.
    bool mayBeLayout = isOpen ? hasTools && !atEnd : marker == calls;
    if (isReasoning || mayBeLayout)
      text = text.substr(0, text.find_last_not_of('\n') + 1);
    add(isReasoning ? reply.reasoning : content(), text);
    if (isOpen) {
      held.erase(0, atEnd ? held.size() : text.size());
      return;
    }
    bool closes = marker == close;
    held.erase(0, closes ? marker + std::string_view(kEndThink).size()
                         : text.size());
    part = closes ? Part::Content : Part::Calls;
  }
  takeCalls();
  if (!atEnd)
    return;
  add(content(), held);
  held.clear();
}

void ReplyParser::takeCalls() {
  Scanner scanner(held);
  auto keepRest = [&] {
    held.erase(0, held.size() - scanner.rest().size());
    scanner = Scanner(held);
  };
  if (reply.toolCalls.empty()) {
    while (scanner.take("\n"))
      continue;
    scanner.take(kBegin + " calls>\n");
  }
  while (scanner.take(kBegin + " invoke name=\"")) {
    std::optional<std::string> text = scanner.takeUntil(kEnd + " invoke>\n");
    std::optional<ToolCall> call;
    if (text)
      call = readCall(*text);
    if (!call)
      return;
    reply.toolCalls.push_back(std::move(*call));
    keepRest();
  }
  if (scanner.take(kEnd + " calls>"))
    keepRest();
}

ChatMessage dsflash::parseReply(std::string_view text, bool thinking,
                                bool hasTools) {
  ReplyParser parser(thinking, hasTools);
  parser.feed(text);
  parser.finish();
  return parser.message();
}
