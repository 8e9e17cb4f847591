//===- Lexer.cpp - PTX text to tokens -------------------------------------===//

#include "Lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace dsflash::simt::ptx {

static bool isWordStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

static bool isWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

void Lexer::skipBlanks() {
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n')
      ++line;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (text.substr(at, 2) == "//" || c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      size_t end = std::min(text.find("*/", at + 2), text.size());
      line += std::count(text.begin() + at, text.begin() + end, '\n');
      at = std::min(end + 2, text.size());
    } else {
      return;
    }
  }
}

// Dots and "::" join a word, so that an opcode is one token.
Token Lexer::word(Token token) {
  size_t begin = at++;
  while (at < text.size()) {
    if (isWordPart(text[at]) ||
        (text[at] == '.' && at + 1 < text.size() && isWordPart(text[at + 1])))
      ++at;
    else if (text.substr(at, 2) == "::")
      at += 2;
    else
      break;
  }
  token.kind = Token::Kind::Word;
  token.text = text.substr(begin, at - begin);
  return token;
}

Token Lexer::number(Token token) {
  size_t begin = at;
  while (at < text.size() && (isWordPart(text[at]) || text[at] == '.'))
    ++at;
  token.text = text.substr(begin, at - begin);
  std::string_view digits = token.text;
  token.kind = Token::Kind::Integer;
  int base = 10;
  auto prefix = [&](char letter) {
    return digits.size() > 2 && digits[0] == '0' &&
           std::tolower(digits[1]) == letter;
  };
  if (digits.find('.') != std::string_view::npos) {
    double value = std::strtod(std::string(digits).c_str(), nullptr);
    std::memcpy(&token.value, &value, sizeof value);
    token.kind = Token::Kind::Float;
    token.bytes = 8;
    return token;
  }
  if (prefix('f') || prefix('d')) {
    token.bytes = prefix('f') ? 4 : 8;
    token.kind = Token::Kind::Float;
    base = 16;
    digits.remove_prefix(2);
  } else if (prefix('x') || prefix('b')) {
    base = prefix('x') ? 16 : 2;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
  }
  if (token.kind == Token::Kind::Integer && digits.back() == 'U')
    digits.remove_suffix(1);
  auto [end, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), token.value, base);
  if (error != std::errc() || end != digits.data() + digits.size())
    token.kind = Token::Kind::Bad;
  return token;
}

Token Lexer::next() {
  skipBlanks();
  Token token;
  token.line = line;
  if (at >= text.size())
    return token;
  char c = text[at];
  if (isWordStart(c))
    return word(token);
  if (std::isdigit(static_cast<unsigned char>(c)))
    return number(token);
  if (c == '"') {
    size_t end = std::min(text.find('"', at + 1), text.size());
    token.kind = Token::Kind::String;
    token.text = text.substr(at + 1, end - at - 1);
    line += std::count(token.text.begin(), token.text.end(), '\n');
    at = std::min(end + 1, text.size());
    return token;
  }
  token.kind = std::strchr("{}()[],;:|!@+-<>=", c) ? Token::Kind::Punctuation
                                                   : Token::Kind::Bad;
  token.text = text.substr(at++, 1);
  return token;
}

} // namespace dsflash::simt::ptx
