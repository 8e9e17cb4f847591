//===- ReplyParser.h - A reply to its parts, as it comes --------*- C++ -*-===//
//
// Reply parsing of SPEC section 5.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_TOKENS_REPLYPARSER_H
#define DSFLASH_TOKENS_REPLYPARSER_H

#include "dsflash/Tokens/ChatEncoding.h"

#include <string>
#include <string_view>

namespace dsflash {

/// Splits a reply into reasoning, content and calls. What may be the start of a
/// marker is held back until it is certain.
class ReplyParser {
public:
  /// With `thinking` the reply starts in reasoning. Only with tools
  /// `<｜DSML｜` begins calls, also inside reasoning.
  explicit ReplyParser(bool thinking, bool hasTools = false);

  /// The next text of the reply.
  void feed(std::string_view text);
  /// No text follows. Reasoning that is not closed is all reasoning; calls that
  /// are not whole are content.
  void finish();

  /// What is certain so far; its texts only grow. A call is there when it is
  /// whole, without an id.
  const ChatMessage &message() const { return reply; }

private:
  enum class Part { Reasoning, Content, Calls };

  /// Takes what is certain of a part up to a marker or what may become one.
  void take(bool atEnd);
  /// Characters at the end of what is held that may begin a marker.
  size_t startOfMarker() const;
  /// Takes whole calls from what is held.
  void takeCalls();
  void add(std::string &to, std::string_view text);
  std::string &content() { return reply.content.front().text; }

  Part part;
  bool hasTools;
  std::string held;
  ChatMessage reply;
};

/// Splits the text of a whole reply.
ChatMessage parseReply(std::string_view text, bool thinking,
                       bool hasTools = false);

} // namespace dsflash

#endif // DSFLASH_TOKENS_REPLYPARSER_H
