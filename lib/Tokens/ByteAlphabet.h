//===- ByteAlphabet.h - Printable stand-ins of bytes ------------*- C++ -*-===//
//
// Byte-level vocabularies write each byte as one printable character.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_TOKENS_BYTEALPHABET_H
#define DSFLASH_LIB_TOKENS_BYTEALPHABET_H

#include <optional>
#include <string>
#include <string_view>

namespace dsflash {

/// The vocabulary's spelling of some bytes.
std::string spellBytes(std::string_view bytes);

/// The bytes that a spelling stands for; nothing if it has other characters.
std::optional<std::string> bytesOfSpelling(std::string_view spelling);

} // namespace dsflash

#endif // DSFLASH_LIB_TOKENS_BYTEALPHABET_H
