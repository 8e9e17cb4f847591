//===- TokenizerFeatures.h - What a tokenizer.json asks for -----*- C++ -*-===//
//
// Its members but for tokens and merges: what changes ids and is not what the
// encoder does is refused.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_TOKENS_TOKENIZERFEATURES_H
#define DSFLASH_LIB_TOKENS_TOKENIZERFEATURES_H

#include "PreTokenizer.h"
#include "dsflash/Support/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace dsflash {

/// How text is split. Errors, all listed, name the JSON path behind `where`.
Result<SplitRule> checkTokenizerFeatures(const nlohmann::json &document,
                                         const std::string &where);

/// A feature that is supported only where it is off; `path` ends where the key
/// begins.
void requireOff(Status &status, const std::string &path,
                const nlohmann::json &object, const char *key);

/// A member that is there and not null, or nullptr.
const nlohmann::json *find(const nlohmann::json &object, const char *key);
/// The text of a member, or nothing if there is no such string.
std::optional<std::string_view> findString(const nlohmann::json &object,
                                           const char *key);
/// "list[index]".
std::string element(const char *list, size_t index);
/// A text in quotes; wrong bytes become U+FFFD.
std::string jsonString(std::string_view text);

} // namespace dsflash

#endif // DSFLASH_LIB_TOKENS_TOKENIZERFEATURES_H
