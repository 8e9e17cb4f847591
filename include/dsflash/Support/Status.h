//===- Status.h - Errors of the libraries that link no LLVM ----*- C++ -*-===//
//
// An error is one or more lines "where: why". Nothing throws across a library
// boundary; a function that can fail returns a Status or a Result.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SUPPORT_STATUS_H
#define DSFLASH_SUPPORT_STATUS_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dsflash {

/// Success, or the list of everything that is wrong, each "where: why".
class [[nodiscard]] Status {
public:
  Status() = default;
  static Status error(std::string where, const std::string &why) {
    Status status;
    status.add(std::move(where), why);
    return status;
  }

  /// Adds one fault; a status with at least one fault is an error.
  void add(std::string where, const std::string &why) {
    messages.push_back(std::move(where) + ": " + why);
  }
  /// Adds all faults of another status.
  void add(const Status &other) {
    messages.insert(messages.end(), other.messages.begin(),
                    other.messages.end());
  }

  bool ok() const { return messages.empty(); }
  explicit operator bool() const { return ok(); }
  const std::vector<std::string> &faults() const { return messages; }
  /// All faults, one a line, without a final newline.
  std::string str() const {
    std::string text;
    for (const std::string &message : messages)
      text += (text.empty() ? "" : "\n") + message;
    return text;
  }

private:
  std::vector<std::string> messages;
};

/// A value, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Status status) : failure(std::move(status)) {
    assert(!failure.ok() && "a result without a value needs a fault");
  }

  bool ok() const { return value.has_value(); }
  explicit operator bool() const { return ok(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  const Status &status() const { return failure; }

private:
  std::optional<T> value;
  Status failure;
};

} // namespace dsflash

#endif // DSFLASH_SUPPORT_STATUS_H
