//===- Artifact.h - The folder of a compiled model --------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_ARTIFACT_H
#define DSFLASH_TOOLS_COMPILE_ARTIFACT_H

#include "dsflash/Support/Status.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

/// What a compiled model says of itself beside its code.
struct Manifest {
  std::string compiler;
  std::string target;
  std::string numerics;
  /// Folder of the checkpoint; empty when it was compiled without one.
  std::string weights;
  /// Digest of the config; empty when it was compiled from a later stage.
  std::string config;
  /// Operations of the IR behind each stage, by its name.
  nlohmann::ordered_json operations = nlohmann::ordered_json::object();
};

/// Makes the folder `path` of a compiled model: `link` writes model.so to the
/// path that it is given; `tokenizer`, if not empty, is copied. The folder
/// appears whole or not at all; an earlier model of that name is replaced.
dsflash::Status
writeArtifact(const std::string &path, const Manifest &manifest,
              const std::string &tokenizer,
              const std::function<dsflash::Status(const std::string &)> &link);

#endif // DSFLASH_TOOLS_COMPILE_ARTIFACT_H
