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
  session.module = &module;
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
  return session;
}

Result<Session> Session::fork(int64_t index) const {
  Result<Session> copy = create(*module, index);
  if (!copy)
    return copy;
  copy->history = history;
  copy->waiting = waiting;
  for (int64_t i = 0; i < module->state_count; ++i) {
    const dsf_state &state = module->states[i];
    std::memcpy(copy->plane(state), plane(state),
                size_t(usedRows(state, length()) * state.row_bytes));
  }
  return copy;
}

int64_t dsflash::usedRows(const dsf_state &plane, int64_t positions) {
  return plane.positions_per_row ? positions / plane.positions_per_row
                                 : plane.rows;
}

Session &Session::operator=(Session &&other) noexcept {
  std::swap(number, other.number);
  std::swap(module, other.module);
  std::swap(range, other.range);
  std::swap(history, other.history);
  std::swap(waiting, other.waiting);
  return *this;
}

Session::~Session() {
  if (range)
    munmap(range, size_t(module->state_bytes));
}
