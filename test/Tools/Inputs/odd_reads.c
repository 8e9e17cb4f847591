/* Preloaded, this gives the reads of a cold file that a disk gives on bad days.
 * Nothing is in memory. ODD_READS: "parts", a few bytes at a time, interrupted
 * in between; a number, an error at that read. */

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t preadv2(int file, const struct iovec *places, int count, off_t offset,
                int flags) {
  (void)file, (void)places, (void)count, (void)offset, (void)flags;
  errno = EAGAIN;
  return -1;
}

ssize_t pread(int file, void *bytes, size_t size, off_t offset) {
  static int reads;
  const char *mode = getenv("ODD_READS");
  ++reads;
  if (strcmp(mode, "parts") == 0) {
    if (reads % 3 == 0) {
      errno = EINTR;
      return -1;
    }
    size = size < 5 ? size : 5;
  } else if (reads == atoi(mode)) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_pread64, file, bytes, size, offset);
}

ssize_t preadv64v2(int file, const struct iovec *places, int count,
                   off_t offset, int flags) {
  return preadv2(file, places, count, offset, flags);
}

ssize_t pread64(int file, void *bytes, size_t size, off_t offset) {
  return pread(file, bytes, size, offset);
}
