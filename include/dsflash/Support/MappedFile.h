//===- MappedFile.h - A whole file in memory, read-only ---------*- C++ -*-===//
//
// The pages of a mapped file are read when they are first touched, so mapping
// a checkpoint costs nothing by itself.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SUPPORT_MAPPEDFILE_H
#define DSFLASH_SUPPORT_MAPPEDFILE_H

#include "dsflash/Support/Status.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace dsflash {

/// A regular file, mapped read-only for the life of the object (moving it
/// keeps the addresses).
class MappedFile {
public:
  /// Errors: the file cannot be opened or mapped, or is not a regular file.
  static Result<MappedFile> open(const std::string &path);

  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  /// First byte, page aligned; null if the file is empty.
  const char *data() const { return bytes; }
  /// Length in bytes.
  size_t size() const { return length; }
  std::string_view text() const { return {bytes, length}; }

private:
  void swap(MappedFile &other) noexcept {
    std::swap(bytes, other.bytes);
    std::swap(length, other.length);
  }

  const char *bytes = nullptr;
  size_t length = 0;
};

} // namespace dsflash

#endif // DSFLASH_SUPPORT_MAPPEDFILE_H
