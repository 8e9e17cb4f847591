//===- ToolArguments.h - Arguments of tool calls as text --------*- C++ -*-===//
//
// The prompt spells values as Python's json.dumps does (", " and ": ", shortest
// floats, no ASCII escapes), keys in the order of the text.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_TOKENS_TOOLARGUMENTS_H
#define DSFLASH_LIB_TOKENS_TOOLARGUMENTS_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

struct ToolParameter {
  std::string name;
  bool isString = false;
  /// The characters of a string, the JSON of anything else.
  std::string value;
};

/// The parameters of a JSON object; nothing if the text is anything else. Of a
/// key that is given twice the last value counts, at the place of the first.
std::optional<std::vector<ToolParameter>>
readToolArguments(std::string_view json);

} // namespace dsflash

#endif // DSFLASH_LIB_TOKENS_TOOLARGUMENTS_H
