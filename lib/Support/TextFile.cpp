//===- TextFile.cpp - Writes a whole file ---------------------------------===//

#include "dsflash/Support/TextFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace dsflash;

Status dsflash::writeTextFile(const std::string &path, std::string_view text) {
  std::string beside = path + ".tmp" + std::to_string(getpid());
  std::FILE *file = std::fopen(beside.c_str(), "wbe");
  bool ok = file != nullptr;
  if (file) {
    ok = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    ok = std::fclose(file) == 0 && ok;
  }
  if (ok && std::rename(beside.c_str(), path.c_str()) == 0)
    return Status();
  std::string why = std::strerror(errno);
  std::remove(beside.c_str());
  return Status::error(path, "cannot write: " + why);
}
