//===- TextStream.h - Generated tokens to text as it comes ------*- C++ -*-===//

#ifndef DSFLASH_RUNTIME_TEXTSTREAM_H
#define DSFLASH_RUNTIME_TEXTSTREAM_H

#include "dsflash/Tokens/StreamDecoder.h"

#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

/// Gives out whole characters, and holds back what may be the beginning of a
/// stop text. Stop texts may span tokens; neither they nor what follows is
/// given out.
class TextStream {
public:
  /// Empty stop texts are ignored; all are as long as `behind` did not come,
  /// unless it is empty.
  explicit TextStream(std::vector<std::string> stops, std::string behind = "");

  /// The text that is certain after a token with these bytes.
  std::string feed(std::string_view bytes);
  /// The rest, when no token follows.
  std::string finish();
  /// Whether a stop text was found. Nothing comes out after it.
  bool stopped() const { return found; }

private:
  std::string release(bool atEnd);
  /// Characters at the end of what is held, from `from` on, that may be the
  /// start of a text.
  size_t startOf(const std::string &text, size_t from) const;

  StreamDecoder decoder;
  std::vector<std::string> stops;
  std::string behind;
  std::string held;
  bool found = false;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_TEXTSTREAM_H
