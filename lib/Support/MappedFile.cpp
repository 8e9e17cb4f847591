//===- MappedFile.cpp - A whole file in memory, read-only -----------------===//

#include "dsflash/Support/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace dsflash;

MappedFile::~MappedFile() {
  if (bytes)
    munmap(const_cast<char *>(bytes), length);
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a pipe must fail below instead of waiting here.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return Status::error(path,
                         std::string("cannot open: ") + std::strerror(errno));
  Status status;
  MappedFile file;
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    status.add(path, "not a regular file");
  } else if (info.st_size > 0) {
    void *start =
        mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (start == MAP_FAILED) {
      status.add(path, std::string("cannot map: ") + std::strerror(errno));
    } else {
      file.bytes = static_cast<const char *>(start);
      file.length = info.st_size;
    }
  }
  close(descriptor);
  if (!status.ok())
    return status;
  return file;
}
