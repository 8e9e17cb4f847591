//===- Hash.h - A checksum of bytes -----------------------------*- C++ -*-===//

#ifndef DSFLASH_SUPPORT_HASH_H
#define DSFLASH_SUPPORT_HASH_H

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace dsflash {

/// FNV-1a of 64 bits. Against accidents, not against forgers: any change of a
/// single byte gives another hash.
class Hash {
public:
  Hash &add(std::string_view bytes) {
    for (char byte : bytes)
      value = (value ^ uint8_t(byte)) * 0x100000001b3u;
    return *this;
  }
  uint64_t digest() const { return value; }
  /// Sixteen hexadecimal digits.
  std::string hexDigest() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016" PRIx64, value);
    return text;
  }

private:
  uint64_t value = 0xcbf29ce484222325u;
};

} // namespace dsflash

#endif // DSFLASH_SUPPORT_HASH_H
