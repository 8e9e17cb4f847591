//===- Tokenizer.h - Text to token ids and back -----------------*- C++ -*-===//
//
// Byte-level BPE from a Hugging Face tokenizer.json (SPEC section 5).
// Character classes are those of Unicode 16.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_TOKENS_TOKENIZER_H
#define DSFLASH_TOKENS_TOKENIZER_H

#include "dsflash/Support/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

/// Immutable once loaded; copies share their tables. Safe to use from several
/// threads.
class Tokenizer {
public:
  /// Reads a tokenizer.json. Supported: byte-level BPE whose pre-tokenizer is
  /// the three splits of SPEC section 5 or ByteLevel with use_regex. Errors,
  /// with the JSON path: every feature that would change ids and is not
  /// supported, ids that are given twice or left out, tokens that are not
  /// byte-level, a byte without token, merges of unknown tokens.
  static Result<Tokenizer> load(const std::string &path);
  /// The same from JSON text; `where` names it in errors.
  static Result<Tokenizer> parse(std::string_view json,
                                 const std::string &where);

  /// The ids of UTF-8 text, without BOS or EOS. With `parseAdded`, added tokens
  /// are matched first, leftmost longest; without, text never yields one.
  /// Error: ill-formed UTF-8, with the byte offset.
  Result<std::vector<int32_t>> encode(std::string_view text,
                                      bool parseAdded) const;

  /// The id of the added token with exactly this text.
  std::optional<int32_t> idOf(std::string_view text) const;

  /// Ids are 0 to vocabSize() - 1, without gaps.
  int32_t vocabSize() const;

  /// The bytes of a token; of an added token its text. One token may hold a
  /// part of a character (see StreamDecoder). `id` must be a valid id.
  std::string_view bytes(int32_t id) const;

  /// Whether `id` is an added token, such as BOS or <think>.
  bool isAdded(int32_t id) const;

private:
  friend class TokenizerLoader;
  struct Tables;
  explicit Tokenizer(std::shared_ptr<const Tables> tables);

  std::shared_ptr<const Tables> tables;
};

} // namespace dsflash

#endif // DSFLASH_TOKENS_TOKENIZER_H
