//===- Lexer.h - PTX text to tokens -----------------------------*- C++ -*-===//

#ifndef DSFLASH_SIMT_LEXER_H
#define DSFLASH_SIMT_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace dsflash::simt::ptx {

struct Token {
  enum class Kind { End, Word, Integer, Float, String, Punctuation, Bad };
  Kind kind = Kind::End;
  std::string_view text; ///< Word: with its dots, "ld.global.f32", ".reg"
  uint64_t value = 0;    ///< Integer, or the bits of a Float
  unsigned bytes = 0;    ///< of a Float: 4 or 8
  unsigned line = 1;

  bool is(std::string_view expected) const {
    return (kind == Kind::Word || kind == Kind::Punctuation) &&
           text == expected;
  }
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  Token next();

private:
  void skipBlanks();
  Token word(Token token);
  Token number(Token token);

  std::string_view text;
  size_t at = 0;
  unsigned line = 1;
};

} // namespace dsflash::simt::ptx

#endif // DSFLASH_SIMT_LEXER_H
