//===- ChatEncoding.h - A conversation to the model's prompt ----*- C++ -*-===//
//
// The layout of SPEC section 5. Special tokens and plain text stay apart, so
// that no text of a user can become a special token.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_TOKENS_CHATENCODING_H
#define DSFLASH_TOKENS_CHATENCODING_H

#include "dsflash/Tokens/Tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

/// A part of a message; parts are joined by two newlines.
struct ChatContent {
  enum class Kind { Text, Image };
  Kind kind = Kind::Text;
  /// Empty for an image, which is one image token here.
  std::string text;
};

struct ToolCall {
  std::string id;
  std::string name;
  /// JSON text of an object. Anything else is rendered as it is, as one
  /// parameter named "arguments".
  std::string arguments;
};

struct ChatMessage {
  enum class Role { System, User, Assistant, Tool, LatestReminder };
  Role role = Role::User;
  std::vector<ChatContent> content;

  // Of assistant messages.
  std::string reasoning;
  std::vector<ToolCall> toolCalls;
  /// The beginning of a reply that the model continues; only the last message
  /// may be one. Without content and calls the reasoning stays open.
  bool isPrefix = false;

  /// Of tool messages: ToolCall::id of the call that this answers. Results of
  /// one turn are put in the order of the calls.
  std::string toolCallId;

  /// A message of plain text.
  static ChatMessage plain(Role role, std::string text) {
    ChatMessage message;
    message.role = role;
    message.content.push_back({ChatContent::Kind::Text, std::move(text)});
    return message;
  }
};

struct ChatOptions {
  /// Whether the reply starts with reasoning.
  bool thinking = true;
  /// 1 to 100, written in thinking mode only (see parseEffort).
  int effort = 50;
  /// Whether tools are defined: thinking mode then keeps the reasoning of all
  /// turns instead of that after the last user turn only.
  bool hasTools = false;
  /// Whether the messages come behind others: there is no head then, no BOS and
  /// no effort line, and a leading system message is a later one.
  bool continues = false;
};

/// A special token by its text, or plain text between two of them.
struct ChatSegment {
  bool isSpecial = false;
  std::string text;
};

/// Reads an effort: 1 to 100, low (25), high (50), xhigh (75) or max (100).
Result<int> parseEffort(std::string_view text);

/// Renders a conversation up to the start of the reply. Errors: effort outside
/// 1..100; a prefix that is not the last message or not an assistant's.
Result<std::vector<ChatSegment>>
renderChat(const std::vector<ChatMessage> &messages,
           const ChatOptions &options);

/// Ids of rendered segments. Errors: a special token that the tokenizer does
/// not have; ill-formed UTF-8.
Result<std::vector<int32_t>>
encodeSegments(const Tokenizer &tokenizer,
               const std::vector<ChatSegment> &segments);

/// renderChat and encodeSegments.
Result<std::vector<int32_t>>
encodeChat(const Tokenizer &tokenizer, const std::vector<ChatMessage> &messages,
           const ChatOptions &options);

} // namespace dsflash

#endif // DSFLASH_TOKENS_CHATENCODING_H
