//===- TokenFile.h - Token ids from a JSON list -----------------*- C++ -*-===//

#ifndef DSFLASH_TOKENS_TOKENFILE_H
#define DSFLASH_TOKENS_TOKENFILE_H

#include "dsflash/Support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

/// Most wrong ids that one status names; the rest is counted.
constexpr int64_t kMaxListedTokens = 20;

/// Reads a JSON list of ids in [0, vocab). Errors name the position of an id;
/// `where` names the text.
Result<std::vector<int32_t>>
parseTokens(std::string_view json, const std::string &where, int64_t vocab);
/// The same from a file.
Result<std::vector<int32_t>> readTokenFile(const std::string &path,
                                           int64_t vocab);

/// Error that names the position if an id is not in [0, vocab). `first` is the
/// position of the first id.
Status checkTokens(const std::string &where, const int32_t *ids, int64_t count,
                   int64_t first, int64_t vocab);

} // namespace dsflash

#endif // DSFLASH_TOKENS_TOKENFILE_H
