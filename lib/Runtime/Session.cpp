//===- Session.cpp - All that one sequence owns ---------------------------===//

#include "dsflash/Runtime/Session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace dsflash;

/// Token ids that a session has room for from the start: the longest context
/// of the published model.
static constexpr int64_t kReservedPositions = 1 << 20;

/// A device's memory grows by this many positions.
static constexpr int64_t kGrownPositions = 256;

Result<Session> Session::create(const dsf_module &module, int64_t index,
                                Device *device) {
  Session session;
  session.number = index;
  session.module = &module;
  session.history.reserve(
      size_t(std::min(module.max_positions, kReservedPositions)));
  if (module.state_bytes == 0)
    return session;
  if (device) {
    Result<DeviceBuffer> reserved =
        device->reserve("session", module.state_bytes);
    if (!reserved)
      return reserved.status();
    session.deviceRange = std::move(*reserved);
    session.range = session.deviceRange.data();
    session.device = device;
    return session;
  }
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
  Result<Session> copy = create(*module, index, device);
  if (!copy)
    return copy;
  if (Status status = copy->grow(length()); !status)
    return status;
  copy->history = history;
  copy->waiting = waiting;
  for (int64_t i = 0; i < module->state_count; ++i) {
    const dsf_state &state = module->states[i];
    int64_t bytes = usedRows(state, length()) * state.row_bytes;
    if (Status status = copyState(copy->plane(state), plane(state), bytes);
        !status)
      return status;
  }
  return copy;
}

Status Session::copyState(void *to, const void *from, int64_t bytes) const {
  if (device)
    return device->copy(to, from, bytes);
  std::memcpy(to, from, size_t(bytes));
  return Status();
}

Status Session::grow(int64_t positions) {
  if (!device || positions <= grown)
    return Status();
  positions = std::min((positions / kGrownPositions + 1) * kGrownPositions,
                       module->max_positions);
  Status status;
  for (int64_t i = 0; i < module->state_count && status; ++i) {
    const dsf_state &state = module->states[i];
    status = device->commit(deviceRange, state.offset,
                            usedRows(state, positions) * state.row_bytes);
  }
  if (status)
    grown = positions;
  return status;
}

int64_t Session::residentBytes() const {
  int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> pages(
      size_t((module->state_bytes + page - 1) / page));
  if (pages.empty() ||
      mincore(range, size_t(module->state_bytes), pages.data()))
    return waiting.bytes();
  return waiting.bytes() +
         page * std::count_if(pages.begin(), pages.end(),
                              [](unsigned char flags) { return flags & 1; });
}

int64_t dsflash::usedRows(const dsf_state &plane, int64_t positions) {
  return plane.positions_per_row ? positions / plane.positions_per_row
                                 : plane.rows;
}

Session &Session::operator=(Session &&other) noexcept {
  std::swap(number, other.number);
  std::swap(module, other.module);
  std::swap(range, other.range);
  std::swap(device, other.device);
  std::swap(deviceRange, other.deviceRange);
  std::swap(grown, other.grown);
  std::swap(history, other.history);
  std::swap(waiting, other.waiting);
  return *this;
}

Session::~Session() {
  if (range && !device)
    munmap(range, size_t(module->state_bytes));
}
