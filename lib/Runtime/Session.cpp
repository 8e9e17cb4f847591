//===- Session.cpp - All that one sequence owns ---------------------------===//

#include "dsflash/Runtime/Session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace dsflash;

/// Token ids that a session has room for from the start: the longest context
/// of the published model.
static constexpr int64_t kReservedPositions = 1 << 20;

Result<Session> Session::create(const dsf_module &module, int64_t index) {
  Session session;
  session.number = index;
  session.history.reserve(
      size_t(std::min(module.max_positions, kReservedPositions)));
  if (module.state_bytes == 0)
    return session;
  void *range =
      mmap(nullptr, size_t(module.state_bytes), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    return Status::error(
        "session", "cannot reserve " + std::to_string(module.state_bytes) +
                       " bytes of address space: " + std::strerror(errno));
  session.range = range;
  session.bytes = size_t(module.state_bytes);
  return session;
}

Session &Session::operator=(Session &&other) noexcept {
  std::swap(number, other.number);
  std::swap(range, other.range);
  std::swap(bytes, other.bytes);
  std::swap(history, other.history);
  return *this;
}

Session::~Session() {
  if (range)
    munmap(range, bytes);
}
