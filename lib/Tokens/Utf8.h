//===- Utf8.h - One step of UTF-8 decoding ----------------------*- C++ -*-===//
//
// Encoding refuses ill-formed text, streaming replaces it; both need the same
// step, which also tells text that merely ends too early.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_TOKENS_UTF8_H
#define DSFLASH_LIB_TOKENS_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dsflash {

struct Utf8Step {
  /// Incomplete: the text ends inside a character that was well-formed so far.
  enum Kind : uint8_t { Valid, Invalid, Incomplete };
  Kind kind;
  /// Bytes of the character, or those that one U+FFFD stands for (the longest
  /// beginning of a character, at least one byte).
  uint8_t length;
  char32_t codePoint;
};

/// Decodes the character at byte `at`, which lies inside `text`.
inline Utf8Step utf8Step(std::string_view text, size_t at) {
  unsigned lead = static_cast<uint8_t>(text[at]);
  if (lead < 0x80)
    return {Utf8Step::Valid, 1, lead};
  if (lead < 0xC2 || lead > 0xF4)
    return {Utf8Step::Invalid, 1, 0};
  uint8_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t codePoint = lead & (0x7F >> length);
  // The second byte's range leaves out overlong forms, surrogates and what is
  // above U+10FFFF.
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (uint8_t i = 1; i < length; ++i) {
    if (at + i == text.size())
      return {Utf8Step::Incomplete, i, 0};
    unsigned next = static_cast<uint8_t>(text[at + i]);
    if (next < low || next > high)
      return {Utf8Step::Invalid, i, 0};
    codePoint = codePoint << 6 | (next & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Step::Valid, length, codePoint};
}

} // namespace dsflash

#endif // DSFLASH_LIB_TOKENS_UTF8_H
