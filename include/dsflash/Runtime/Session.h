//===- Session.h - All that one sequence owns -------------------*- C++ -*-===//

#ifndef DSFLASH_RUNTIME_SESSION_H
#define DSFLASH_RUNTIME_SESSION_H

#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Runtime/Device.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dsflash {

/// The cache state of a sequence, one reserved address range whose pages come
/// into being as they are written, and its token ids. The range is the host's
/// or that of a device, which then outlives the session.
class Session {
public:
  /// `index` is the caller's number for the sequence; null: on the host.
  /// Error: the address range cannot be reserved.
  static Result<Session> create(const dsf_module &module, int64_t index = 0,
                                Device *device = nullptr);

  /// A second sequence with the same positions, which goes its own way from
  /// here. Error: as of create.
  Result<Session> fork(int64_t index) const;

  Session(Session &&other) noexcept { *this = std::move(other); }
  Session &operator=(Session &&other) noexcept;
  ~Session();

  int64_t index() const { return number; }
  /// The address range, dsf_module.state_bytes; zero where nothing was written.
  void *state() const { return range; }
  /// Makes memory for so many positions real where writing alone does not.
  /// Error: the device has no more.
  Status grow(int64_t positions);
  /// Copies bytes of planes to the host, back, or to another session.
  Status copyState(void *to, const void *from, int64_t bytes) const;
  bool isOnDevice() const { return device; }
  /// First byte of a plane of the state.
  char *plane(const dsf_state &plane) const {
    return static_cast<char *>(range) + plane.offset;
  }
  /// Bytes of the range that are in the host's memory, in whole pages, and of
  /// what waits for the decoder tail.
  int64_t residentBytes() const;
  /// Positions that were computed.
  int64_t length() const { return int64_t(history.size()); }
  /// Their token ids, [length()].
  const std::vector<int32_t> &tokens() const { return history; }

  /// Rows of the newest positions that only the encoder has seen, for the
  /// decoder tail: the last `rows` of `stream` and `pre`.
  struct Boundary {
    int64_t rows = 0;
    std::vector<float> stream, pre;

    int64_t bytes() const {
      return int64_t((stream.capacity() + pre.capacity()) * sizeof(float));
    }
  };
  Boundary &boundary() { return waiting; }
  const Boundary &boundary() const { return waiting; }

  /// Adds computed positions.
  void append(const int32_t *ids, int64_t count) {
    history.insert(history.end(), ids, ids + count);
  }
  /// Takes back all positions from `length` on, and what waits for a tail.
  /// Costs nothing: state rows at and above the length are written again
  /// before they are read.
  void truncate(int64_t length) {
    history.resize(size_t(length));
    waiting = Boundary();
  }

private:
  Session() = default;

  int64_t number = 0;
  const dsf_module *module = nullptr;
  void *range = nullptr;
  Device *device = nullptr;
  DeviceBuffer deviceRange;
  int64_t grown = -1; ///< positions that `deviceRange` has memory for
  std::vector<int32_t> history;
  Boundary waiting;
};

/// Rows of a plane that a sequence of `positions` tokens has in use.
int64_t usedRows(const dsf_state &plane, int64_t positions);

} // namespace dsflash

#endif // DSFLASH_RUNTIME_SESSION_H
