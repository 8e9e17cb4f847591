//===- StreamDecoder.h - Tokens to text, whole characters only --*- C++ -*-===//
//
// A token may end inside a character; its bytes wait for the next token.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_TOKENS_STREAMDECODER_H
#define DSFLASH_TOKENS_STREAMDECODER_H

#include <string>
#include <string_view>

namespace dsflash {

/// Turns a stream of token bytes into well-formed UTF-8. What can be no part
/// of a character becomes U+FFFD, one for each longest beginning of a
/// character, so that the pieces together equal the decoding of all bytes at
/// once.
class StreamDecoder {
public:
  /// The text that is complete after these bytes (Tokenizer::bytes); up to
  /// three bytes are held back.
  std::string feed(std::string_view bytes);

  /// Ends the stream: U+FFFD if it ended inside a character, else nothing.
  std::string finish();

private:
  std::string pending;
};

} // namespace dsflash

#endif // DSFLASH_TOKENS_STREAMDECODER_H
