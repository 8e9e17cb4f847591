//===- Program.h - Runs another program -------------------------*- C++ -*-===//

#ifndef DSFLASH_SUPPORT_PROGRAM_H
#define DSFLASH_SUPPORT_PROGRAM_H

#include "dsflash/Support/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace dsflash {

/// A folder for temporary files that goes when this does.
class ScratchFolder {
public:
  /// Its name begins with `prefix`. Error: it cannot be made.
  static Result<ScratchFolder> create(const std::string &prefix);

  ScratchFolder(ScratchFolder &&other) noexcept
      : folder(std::exchange(other.folder, "")) {}
  ~ScratchFolder();

  const std::string &path() const { return folder; }

private:
  explicit ScratchFolder(std::string path) : folder(std::move(path)) {}
  std::string folder;
};

/// The path of a tool in the folder of the running one.
std::string toolBeside(const std::string &name);

/// Runs a program with these arguments, the first one its path, and waits for
/// it. It shares standard output and error. Errors: it cannot be started, ends
/// with another exit code than 0, or by a signal.
Status runProgram(const std::vector<std::string> &command);

} // namespace dsflash

#endif // DSFLASH_SUPPORT_PROGRAM_H
