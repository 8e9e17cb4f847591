//===- ByteAlphabet.cpp - Printable stand-ins of bytes --------------------===//

#include "ByteAlphabet.h"
#include "Utf8.h"

#include <array>

using namespace dsflash;

namespace {

/// Printable Latin-1 characters stand for themselves, the other bytes are
/// U+0100 and following, in order. All are below U+0200.
struct ByteAlphabet {
  std::array<char32_t, 256> characters;
  std::array<int, 0x200> bytes;

  ByteAlphabet() {
    bytes.fill(-1);
    char32_t extra = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      bool isPrintable =
          (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
      characters[byte] = isPrintable ? char32_t(byte) : extra++;
      bytes[characters[byte]] = byte;
    }
  }

  static const ByteAlphabet &get() {
    static const ByteAlphabet alphabet;
    return alphabet;
  }
};

} // namespace

std::string dsflash::spellBytes(std::string_view bytes) {
  std::string spelling;
  for (char byte : bytes) {
    char32_t character = ByteAlphabet::get().characters[uint8_t(byte)];
    if (character < 0x80) {
      spelling += char(character);
    } else {
      spelling += char(0xC0 | character >> 6);
      spelling += char(0x80 | (character & 0x3F));
    }
  }
  return spelling;
}

std::optional<std::string> dsflash::bytesOfSpelling(std::string_view spelling) {
  const ByteAlphabet &alphabet = ByteAlphabet::get();
  std::string bytes;
  for (size_t at = 0; at < spelling.size();) {
    Utf8Step step = utf8Step(spelling, at);
    if (step.kind != Utf8Step::Valid ||
        step.codePoint >= alphabet.bytes.size() ||
        alphabet.bytes[step.codePoint] < 0)
      return std::nullopt;
    bytes += char(alphabet.bytes[step.codePoint]);
    at += step.length;
  }
  return bytes;
}
