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
#include <vector>

namespace dsflash {

/// Deepest nesting of arrays and objects that is read.
constexpr int kMaxJsonDepth = 64;
/// Longest JSON text that is read, in bytes.
constexpr size_t kMaxJsonBytes = size_t(256) << 20;
/// Most bytes from one string or number to the next, or to the end.
constexpr size_t kMaxJsonToken = size_t(256) << 10;
/// Most values that are kept of a document, and of an element of a stream; a
/// value takes up to 100 bytes of memory and as few as two of text.
constexpr size_t kMaxJsonValues = size_t(1) << 14;

/// An object or a list that may be long: its elements are handed on one by one
/// and not kept, so that memory does not grow with their number.
struct JsonStream {
  /// Its place: the keys from the root; empty is the root.
  std::vector<std::string> path;
  /// json::value_t::object or json::value_t::array.
  nlohmann::json::value_t type;
  /// Takes an element; `name` is its key in an object, which may come again,
  /// and empty in a list.
  std::function<void(const std::string &name, const nlohmann::json &value)>
      take;
};

/// Parses one JSON document; objects and lists that `streams` took are empty in
/// the result. `where` names the text in errors, which read
/// "where:line:column: why". Errors: no valid JSON or UTF-8, text after the
/// document, a key twice in one object, a number outside double, nesting
/// deeper than kMaxJsonDepth, text longer than kMaxJsonBytes, a string or
/// number with what follows it longer than kMaxJsonToken, more than
/// kMaxJsonValues values, another type than a stream has (null is none, but at
/// the root).
Result<nlohmann::json> parseJson(std::string_view text, std::string_view where,
                                 const std::vector<JsonStream> &streams = {});

/// Reads and parses a whole file; `where` is its path.
Result<nlohmann::json> readJsonFile(const std::string &path);

} // namespace dsflash

#endif // DSFLASH_SUPPORT_JSON_H
