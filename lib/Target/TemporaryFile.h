//===- TemporaryFile.h - Files for other tools ------------------*- C++ -*-===//

#ifndef DSFLASH_LIB_TARGET_TEMPORARYFILE_H
#define DSFLASH_LIB_TARGET_TEMPORARYFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dsflash {

inline llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// A file that is gone at the end, whatever happens. Errors do not tell its
/// name, which nobody gave.
class TemporaryFile {
public:
  /// `model` with a new letter or digit for every '%'.
  static llvm::Expected<TemporaryFile> create(const llvm::Twine &model) {
    llvm::SmallString<128> path;
    if (std::error_code code = llvm::sys::fs::createUniqueFile(model, path))
      return makeError("cannot make a temporary file: " + code.message());
    llvm::sys::RemoveFileOnSignal(path);
    return TemporaryFile(path);
  }
  TemporaryFile(TemporaryFile &&other) : name(std::move(other.name)) {
    other.name.clear();
  }
  ~TemporaryFile() {
    if (name.empty())
      return;
    llvm::sys::fs::remove(name);
    llvm::sys::DontRemoveFileOnSignal(name);
  }

  llvm::StringRef path() const { return name; }
  llvm::Error write(llvm::StringRef content) const {
    std::error_code code;
    llvm::raw_fd_ostream stream(name, code);
    if (!code) {
      stream << content;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    if (code)
      return makeError("cannot write a temporary file: " + code.message());
    return llvm::Error::success();
  }
  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(name);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  /// Gives the file its last name.
  llvm::Error keep(llvm::StringRef path) {
    if (std::error_code code = llvm::sys::fs::rename(name, path))
      return makeError(path + ": " + code.message());
    llvm::sys::DontRemoveFileOnSignal(name);
    name.clear();
    return llvm::Error::success();
  }

private:
  explicit TemporaryFile(llvm::StringRef path) : name(path) {}
  std::string name;
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_TARGET_TEMPORARYFILE_H
