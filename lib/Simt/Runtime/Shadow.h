//===- Shadow.h - What is remembered of words of memory ---------*- C++ -*-===//

#ifndef DSFLASH_SIMT_SHADOW_H
#define DSFLASH_SIMT_SHADOW_H

#include <cstddef>
#include <cstdint>

namespace dsflash::simt {

/// An access to a word: by which thread of which block, when, to which bytes.
struct Touch {
  uint32_t block = 0;
  uint32_t time = 0;
  uint16_t thread = 0;
  uint8_t bytes = 0; ///< mask; 0: none
  uint8_t atomic = 0;
};

/// Of 4 bytes of memory.
struct ShadowWord {
  uint32_t run = 0; ///< of the launch (or block): older notes do not count
  uint32_t writtenSite = 0;
  Touch written, read, readByOther;
  uint8_t defined = 0; ///< bytes that were written, shared memory only
  uint8_t pending = 0; ///< bytes that an asynchronous copy will write
  uint8_t counted = 0; ///< bytes in the counters: 4 bits read, 4 bits written

  void restart(uint32_t newRun) {
    *this = {};
    run = newRun;
  }
};

/// Notes of a range of memory, zero at first and only real where touched.
class ShadowWords {
public:
  ShadowWords() = default;
  ShadowWords(ShadowWords &&other) noexcept;
  ShadowWords &operator=(ShadowWords &&other) noexcept;
  ~ShadowWords();

  /// False: no memory.
  bool create(size_t bytes);
  bool exists() const { return words; }
  ShadowWord &operator[](size_t word) { return words[word]; }

private:
  ShadowWord *words = nullptr;
  size_t mapped = 0;
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_SHADOW_H
