//===- NumberOption.h - Numbers on command lines ----------------*- C++ -*-===//
//
// CLI11 alone also reads octal and hexadecimal digits, takes the greatest
// number for a greater one, and NaN for a positive one.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_TOOLS_NUMBEROPTION_H
#define DSFLASH_TOOLS_NUMBEROPTION_H

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>

namespace dsflash {

/// Most tokens that a count can ask for: more than models have positions, and
/// few enough to be added.
constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();

/// The fault of a number outside a range, to be reported behind its option.
template <typename T>
std::string outOfRange(T limit, const char *side, const std::string &text) {
  std::ostringstream why;
  why << "must be " << limit << " or " << side << ", got " << text;
  return why.str();
}

/// Takes decimal digits, behind a minus where `least` is negative; for
/// CLI::Option::transform. T is the type of the value.
template <typename T>
CLI::Validator wholeNumber(T least, T most = std::numeric_limits<T>::max()) {
  auto read = [least, most](std::string &text) -> std::string {
    bool isNegative = text.rfind('-', 0) == 0;
    if (text.size() == isNegative ||
        text.find_first_not_of("0123456789", isNegative) != std::string::npos)
      return "must be a whole number, got '" + text + "'";
    T value = 0;
    bool fits =
        std::from_chars(text.data(), text.data() + text.size(), value).ec ==
        std::errc();
    if (fits ? value < least : isNegative)
      return outOfRange(least, "more", text);
    if (!fits || value > most)
      return outOfRange(most, "less", text);
    text = std::to_string(value);
    return "";
  };
  return CLI::Validator(read, "");
}

/// Takes decimal fractions, with or without an exponent.
inline CLI::Validator
realNumber(double least, double most = std::numeric_limits<double>::max()) {
  auto read = [least, most](std::string &text) -> std::string {
    char *end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    if (text.find_first_not_of("+-.0123456789eE") != std::string::npos ||
        end != text.c_str() + text.size() || text.empty())
      return "must be a number, got '" + text + "'";
    if (value < least)
      return outOfRange(least, "more", text);
    if (value > most)
      return outOfRange(most, "less", text);
    return "";
  };
  return CLI::Validator(read, "");
}

} // namespace dsflash

#endif // DSFLASH_TOOLS_NUMBEROPTION_H
