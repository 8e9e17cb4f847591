//===- OutputFile.cpp - A file that appears whole or not at all -----------===//

#include "dsflash/Support/OutputFile.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace dsflash;

/// Where a chain of symbolic links leads, existing or not.
static fs::path followLinks(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
}

Result<OutputFile> OutputFile::create(const std::string &path) {
  OutputFile output(path);
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    output.target = output.beside = path;
  } else {
    output.target = followLinks(path).string();
    output.beside = output.target + ".tmp" + std::to_string(getpid());
  }
  output.file.reset(std::fopen(output.beside.c_str(), "wbe"));
  if (!output.file)
    return output.systemError();
  return output;
}

OutputFile::~OutputFile() {
  if (file && beside != target)
    std::remove(beside.c_str());
}

Status OutputFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size())
    return Status();
  return systemError();
}

Status OutputFile::finish() {
  // What was not written is known when the file is closed, at the latest.
  Status status;
  if (std::fclose(file.release()) != 0 ||
      (beside != target && std::rename(beside.c_str(), target.c_str()) != 0)) {
    status = systemError();
    if (beside != target)
      std::remove(beside.c_str());
  }
  return status;
}

Status OutputFile::systemError() const {
  return Status::error(path,
                       std::string("cannot write: ") + std::strerror(errno));
}

Status dsflash::writeTextFile(const std::string &path, std::string_view text) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.status();
  Status written = file->write(text);
  return written ? file->finish() : written;
}
