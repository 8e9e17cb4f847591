//===- Json.h - JSON text to a document -------------------------*- C++ -*-===//
//
// All JSON enters here: nesting, size and duplicate keys are limited, so that
// a hostile file ends in a located error and never in a crash.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SUPPORT_JSON_H
#define DSFLASH_SUPPORT_JSON_H

#include "dsflash/Support/Status.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace dsflash {

/// Deepest nesting of arrays and objects that is read.
constexpr int kMaxJsonDepth = 64;
/// Longest JSON text that is read, in bytes.
constexpr size_t kMaxJsonBytes = size_t(256) << 20;
/// Most bytes from one string or number to the next, or to the end.
constexpr size_t kMaxJsonToken = size_t(256) << 10;
/// Most values of a document that is kept as a whole; a value takes up to 100
/// bytes of memory and as few as two of text.
constexpr size_t kMaxJsonValues = size_t(1) << 14;

/// Parses one JSON document. `where` names the text in errors, which read
/// "where:line:column: why". Errors: no valid JSON or UTF-8, text after the
/// document, a key twice in one object, a number outside double, nesting
/// deeper than kMaxJsonDepth, text longer than kMaxJsonBytes, a string or
/// number with what follows it longer than kMaxJsonToken, more than `maxValues`
/// values.
Result<nlohmann::json> parseJson(std::string_view text, std::string_view where,
                                 size_t maxValues = kMaxJsonValues);

/// Takes a member of an object.
using JsonMember =
    std::function<void(const std::string &name, const nlohmann::json &value)>;

/// Parses a document that is an object and hands on its members one by one,
/// without keeping them: a name may come again. Errors as above, for each
/// member, and a document that is no object.
Status parseJsonObject(std::string_view text, std::string_view where,
                       const JsonMember &take);

/// Parses a document that is a list and hands on its elements one by one,
/// without keeping them; a list or object among them is handed on empty.
/// Errors as above, and a document that is no list.
Status
parseJsonList(std::string_view text, std::string_view where,
              const std::function<void(const nlohmann::json &)> &element);

/// Reads and parses a whole file; `where` is its path.
Result<nlohmann::json> readJsonFile(const std::string &path,
                                    size_t maxValues = kMaxJsonValues);

} // namespace dsflash

#endif // DSFLASH_SUPPORT_JSON_H
