//===- Vocabulary.h - Spellings of tokens and their ids ---------*- C++ -*-===//
//
// One text and flat tables, so that a token takes a few bytes beyond its
// spelling while a tokenizer is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_TOKENS_VOCABULARY_H
#define DSFLASH_LIB_TOKENS_VOCABULARY_H

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

/// Tokens in the order in which they are added, then found by their spellings.
class Vocabulary {
public:
  /// `maxBytes`: at least the bytes of all spellings, below 2^32.
  explicit Vocabulary(size_t maxBytes) { text.reserve(maxBytes); }

  void add(std::string_view spelling, int32_t id);

  /// Makes tokens findable, after the last one; the first token whose spelling
  /// an earlier one has, if there is such a token.
  std::optional<size_t> index();

  /// The token of that spelling, or nothing.
  std::optional<size_t> find(std::string_view spelling) const;

  size_t size() const { return entries.size(); }
  /// Bytes of all spellings.
  size_t bytes() const { return text.size(); }
  int32_t id(size_t token) const { return entries[token].id; }
  std::string_view spelling(size_t token) const {
    size_t begin = token == 0 ? 0 : entries[token - 1].end;
    return std::string_view(text).substr(begin, entries[token].end - begin);
  }

private:
  struct Entry {
    uint32_t end; // of its spelling
    int32_t id;
  };

  /// The slot that holds the token of that spelling, or the free one for it.
  size_t slotOf(std::string_view spelling) const;

  std::string text;
  std::deque<Entry> entries;   // a deque never copies as it grows
  std::vector<uint32_t> slots; // a token plus one; 0 is free
};

} // namespace dsflash

#endif // DSFLASH_LIB_TOKENS_VOCABULARY_H
