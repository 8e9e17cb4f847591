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

/// Parses one JSON document. `where` names the text in errors, which read
/// "where:line:column: why". Errors: no valid JSON or UTF-8, text after the
/// document, a key twice in one object, a number outside double, nesting
/// deeper than kMaxJsonDepth, text longer than kMaxJsonBytes.
Result<nlohmann::json> parseJson(std::string_view text, std::string_view where);

/// Parses a document that is a list and hands on its elements one by one,
/// without keeping them; a list or object among them is handed on empty.
/// Errors as above, and a document that is no list.
Status
parseJsonList(std::string_view text, std::string_view where,
              const std::function<void(const nlohmann::json &)> &element);

/// Reads and parses a whole file; `where` is its path.
Result<nlohmann::json> readJsonFile(const std::string &path);

} // namespace dsflash

#endif // DSFLASH_SUPPORT_JSON_H
