//===- TokenizerTables.h - What a loaded tokenizer holds --------*- C++ -*-===//
//
// Filled by TokenizerLoader.cpp, read by Tokenizer.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_TOKENS_TOKENIZERTABLES_H
#define DSFLASH_LIB_TOKENS_TOKENIZERTABLES_H

#include "BytePair.h"
#include "PreTokenizer.h"
#include "dsflash/Tokens/Tokenizer.h"

#include <bitset>

namespace dsflash {

/// Finds added tokens in text: a trie over their bytes.
class AddedTokens {
public:
  struct Match {
    int32_t id = -1;
    size_t length = 0;
  };

  /// `content` is not empty and not there yet.
  void add(std::string_view content, int32_t id);

  /// The longest added token at the start of `text`; length 0 if there is none.
  Match longest(std::string_view text) const;

  std::optional<int32_t> idOf(std::string_view content) const {
    Match match = longest(content);
    if (content.empty() || match.length != content.size())
      return std::nullopt;
    return match.id;
  }

  /// Whether an added token begins with this byte.
  bool mayStartWith(char byte) const { return firstBytes[uint8_t(byte)]; }

private:
  PairTable children; // (node, byte) to node
  std::vector<int32_t> idAtNode = {-1};
  std::bitset<256> firstBytes;
};

struct Tokenizer::Tables {
  SplitRule splitRule = SplitRule::ThreeSplits;
  BytePairEncoder bytePairs;
  AddedTokens addedTokens;
  std::vector<bool> isAdded; // by id
  /// Bytes of token i: bytes[offsets[i], offsets[i + 1]).
  std::string bytes;
  std::vector<uint32_t> offsets = {0};
};

} // namespace dsflash

#endif // DSFLASH_LIB_TOKENS_TOKENIZERTABLES_H
