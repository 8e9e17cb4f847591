//===- OutputFile.h - A file that appears whole or not at all --*- C++ -*-===//

#ifndef DSFLASH_SUPPORT_OUTPUTFILE_H
#define DSFLASH_SUPPORT_OUTPUTFILE_H

#include "dsflash/Support/Status.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace dsflash {

/// Writes beside the path, then renames, so that no half-written file ever
/// carries the name. A symbolic link stays and its target is replaced. What is
/// no regular file (a device, a pipe) is written to as it is, never replaced.
/// Errors: any failure of the file system, as "path: cannot write: why".
class OutputFile {
public:
  static Result<OutputFile> create(const std::string &path);

  OutputFile(OutputFile &&other) noexcept = default;
  /// Leaves nothing behind of a file that was not finished.
  ~OutputFile();

  Status write(std::string_view bytes);
  /// Closes the file and gives it its name.
  Status finish();

private:
  struct FileClose {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  explicit OutputFile(std::string path) : path(std::move(path)) {}
  Status systemError() const;

  std::string path;   ///< as the caller named it
  std::string target; ///< without symbolic links
  std::string beside; ///< where the bytes go; `target` itself if no file
  std::unique_ptr<std::FILE, FileClose> file;
};

/// Writes a file of this text at once.
Status writeTextFile(const std::string &path, std::string_view text);

} // namespace dsflash

#endif // DSFLASH_SUPPORT_OUTPUTFILE_H
