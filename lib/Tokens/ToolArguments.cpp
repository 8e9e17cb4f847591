//===- ToolArguments.cpp - Arguments of tool calls as text ----------------===//

#include "ToolArguments.h"
#include "dsflash/Support/Json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace dsflash;
using nlohmann::json;

namespace {

std::string jsonString(const std::string &text) { return json(text).dump(); }

/// The shortest digits that read back as `value`: plain from 1e-4 to below
/// 1e16, with an exponent otherwise.
std::string spellFloat(double value) {
  double magnitude = std::fabs(value);
  bool isPlain = value == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char digits[32];
  char *end = std::to_chars(std::begin(digits), std::end(digits), value,
                            isPlain ? std::chars_format::fixed
                                    : std::chars_format::scientific)
                  .ptr;
  std::string text(digits, end);
  if (isPlain && text.find('.') == std::string::npos)
    text += ".0";
  return text;
}

/// Collects the members of the outermost object and spells what they hold.
class ArgumentReader : public nlohmann::json_sax<json> {
public:
  std::vector<ToolParameter> parameters;

  bool null() override { return add("null"); }
  bool boolean(bool value) override { return add(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return add(std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add(std::to_string(value));
  }
  bool number_float(number_float_t value, const string_t &text) override {
    bool isLargeInteger = text.find_first_of(".eE") == std::string::npos;
    return add(isLargeInteger ? text : spellFloat(value));
  }
  bool string(string_t &value) override {
    if (depth != 1)
      return add(jsonString(value));
    parameters[current].isString = true;
    return add(value);
  }
  bool binary(binary_t &) override { return false; }

  bool start_object(size_t) override {
    return depth == 0 ? ++depth == 1 : open("{");
  }
  bool end_object() override { return --depth == 0 || close("}"); }
  bool start_array(size_t) override { return open("["); }
  bool end_array() override { return --depth == 0 || close("]"); }

  bool key(string_t &name) override {
    if (depth == 1) {
      startParameter(name);
      return true;
    }
    add(jsonString(name) + ": ");
    needsComma = false;
    return true;
  }

  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &) override {
    return false;
  }

private:
  void startParameter(const std::string &name) {
    auto known = std::find_if(
        parameters.begin(), parameters.end(),
        [&](const ToolParameter &other) { return other.name == name; });
    current = known - parameters.begin();
    if (known == parameters.end())
      parameters.emplace_back();
    parameters[current] = {name, false, ""};
    needsComma = false;
  }

  bool add(const std::string &text) {
    if (depth == 0)
      return false;
    parameters[current].value += (needsComma ? ", " : "") + text;
    needsComma = true;
    return true;
  }

  bool open(const char *bracket) {
    if (depth == kMaxJsonDepth || !add(bracket))
      return false;
    ++depth;
    needsComma = false;
    return true;
  }

  bool close(const char *bracket) {
    needsComma = false;
    return add(bracket);
  }

  int depth = 0;
  size_t current = 0;
  bool needsComma = false;
};

} // namespace

std::optional<std::vector<ToolParameter>>
dsflash::readToolArguments(std::string_view text) {
  ArgumentReader reader;
  if (!json::sax_parse(text.begin(), text.end(), &reader))
    return std::nullopt;
  return std::move(reader.parameters);
}
