//===- Fuzz.h - What the fuzzers share --------------------------*- C++ -*-===//

#ifndef DSFLASH_FUZZ_FUZZ_H
#define DSFLASH_FUZZ_FUZZ_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace dsflash::fuzz {

inline std::string_view text(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// Ends the process as a finding.
inline void require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

} // namespace dsflash::fuzz

#endif // DSFLASH_FUZZ_FUZZ_H
