//===- Shadow.cpp - What is remembered of words of memory -----------------===//

#include "Shadow.h"

#include <sys/mman.h>
#include <utility>

namespace dsflash::simt {

ShadowWords::ShadowWords(ShadowWords &&other) noexcept {
  *this = std::move(other);
}

ShadowWords &ShadowWords::operator=(ShadowWords &&other) noexcept {
  std::swap(words, other.words);
  std::swap(mapped, other.mapped);
  return *this;
}

ShadowWords::~ShadowWords() {
  if (words)
    munmap(words, mapped);
}

bool ShadowWords::create(size_t bytes) {
  size_t size = (bytes / 4 + 2) * sizeof(ShadowWord);
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  words = static_cast<ShadowWord *>(memory);
  mapped = size;
  return true;
}

} // namespace dsflash::simt
