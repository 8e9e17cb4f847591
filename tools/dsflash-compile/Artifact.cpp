//===- Artifact.cpp - The folder of a compiled model ----------------------===//

#include "Artifact.h"
#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Support/OutputFile.h"
#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;
using dsflash::Status;

/// A name beside `path` that no other process uses.
static std::string besideOf(const std::string &path) {
  return path + ".part" + std::to_string(::getpid());
}

static Status rename(const std::string &from, const std::string &to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? Status::error(to, "cannot be written: " + error.message())
               : Status();
}

static std::string manifestText(const Manifest &manifest) {
  nlohmann::ordered_json json = {
      {"format", 1},
      {"abi", DSF_ABI_VERSION},
      {"compiler", manifest.compiler},
      {"target", manifest.target},
      {"numerics", manifest.numerics},
      {"weights", manifest.weights},
      {"config", manifest.config},
      {"operations", manifest.operations},
  };
  return json.dump(2) + "\n";
}

Status writeArtifact(const std::string &path, const Manifest &manifest,
                     const std::string &tokenizer,
                     const std::function<Status(const std::string &)> &link) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::exists(fs::path(path) / "manifest.json"))
    return Status::error(path, "exists and is no compiled model");
  std::string part = besideOf(path);
  fs::create_directories(part, error);
  if (error)
    return Status::error(path, "cannot be made: " + error.message());

  auto fill = [&]() -> Status {
    if (Status linked = link(part + "/model.so"); !linked)
      return linked;
    if (!tokenizer.empty()) {
      fs::copy_file(tokenizer, part + "/tokenizer.json", error);
      if (error)
        return Status::error(tokenizer, "cannot be copied: " + error.message());
    }
    return dsflash::writeTextFile(part + "/manifest.json",
                                  manifestText(manifest));
  };
  Status filled = fill();
  if (filled) {
    fs::remove_all(path, error);
    filled = rename(part, path);
  }
  if (!filled)
    fs::remove_all(part, error);
  return filled;
}
