//===- PreTokenizer.h - Text to the pieces that BPE works on ----*- C++ -*-===//
//
// Hand-written scanners for the two pre-tokenizers that are supported, over a
// table of Unicode classes.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_TOKENS_PRETOKENIZER_H
#define DSFLASH_LIB_TOKENS_PRETOKENIZER_H

#include "dsflash/Support/Status.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace dsflash {

enum class SplitRule {
  /// kSplitPatterns one after another, each on the pieces of the one before
  /// (SPEC section 5).
  ThreeSplits,
  /// The pattern of a ByteLevel pre-tokenizer with use_regex:
  /// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  ByteLevel
};

/// The isolating splits of SplitRule::ThreeSplits, as tokenizer.json has them.
extern const char *const kSplitPatterns[3];

/// Classes of one character, as bits; at the bytes behind its first, Tail.
/// A character in none of the classes has no bit.
namespace char_class {
constexpr uint8_t Letter = 1;      // \p{L}
constexpr uint8_t Mark = 2;        // \p{M}
constexpr uint8_t Number = 4;      // \p{N}
constexpr uint8_t PunctSymbol = 8; // \p{P} and \p{S}
constexpr uint8_t Space = 16;      // White_Space
constexpr uint8_t Newline = 32;    // CR and LF
constexpr uint8_t EastAsian = 64;  // what the second of kSplitPatterns takes
constexpr uint8_t Tail = 128;      // no first byte of a character
} // namespace char_class

/// The classes of each byte of `text`. Error: text that is not UTF-8, with the
/// byte offset.
Result<std::vector<uint8_t>> classifyText(std::string_view text);

/// Appends the ends of the pieces of text[begin, end), which `rule` takes as a
/// text of its own; offsets are relative to `text`. Every byte is in exactly
/// one piece. `classes` come from classifyText(text).
void splitText(SplitRule rule, std::string_view text,
               const std::vector<uint8_t> &classes, size_t begin, size_t end,
               std::vector<size_t> &pieceEnds);

} // namespace dsflash

#endif // DSFLASH_LIB_TOKENS_PRETOKENIZER_H
