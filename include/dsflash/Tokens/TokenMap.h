//===- TokenMap.h - Engram's compressed token ids ---------------*- C++ -*-===//
//
// Tokens that differ only in case, accents, compatibility forms or white space
// share one id in the Engram hash (SPEC section 3, Engram).
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_TOKENS_TOKENMAP_H
#define DSFLASH_TOKENS_TOKENMAP_H

#include "dsflash/Tokens/Tokenizer.h"

#include <cstdint>
#include <vector>

namespace dsflash {

struct EngramTokenMap {
  /// The compressed id of each token id, [Tokenizer::vocabSize()].
  std::vector<int32_t> compressedIds;
  /// Compressed ids are 0 to size - 1; the config's
  /// engram_compressed_vocab_size must equal it.
  int32_t size = 0;
};

/// Numbers the keys of all tokens in order of first sight. The key of a token
/// is its text after NFKD, without combining marks, in lower case, with white
/// space collapsed and stripped; of a token that is no whole text, the
/// vocabulary's spelling of its bytes. Error: ICU without its normalization
/// data.
Result<EngramTokenMap> engramTokenMap(const Tokenizer &tokenizer);

} // namespace dsflash

#endif // DSFLASH_TOKENS_TOKENMAP_H
