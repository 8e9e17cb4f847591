//===- Options.h - Command line of dsflash-run ------------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_DSFLASHRUN_OPTIONS_H
#define DSFLASH_TOOLS_DSFLASHRUN_OPTIONS_H

#include "Function.h"

#include "dsflash/Runtime/Generator.h"

#include <optional>
#include <string>
#include <vector>

namespace dsflash::run {

/// One sequence of the batch, as it was asked for.
struct PromptSource {
  enum class Kind { Text, TextFile, TokenFile };
  Kind kind;
  /// The text itself or the path of the file.
  std::string value;
};

struct Options {
  std::string model;
  std::vector<PromptSource> prompts;
  GenerationOptions generation;
  /// Drafts a step; nothing means as many as the model offers.
  std::optional<int64_t> draftWidth;
  /// The drawn text must be that of the seed on every machine.
  bool repeatable = false;

  /// A function to run instead of a model; without name: none.
  FunctionOptions function;

  bool chat = false;
  bool raw = false;
  std::string system;
  int effort = 50;
  bool thinking = true;

  std::string device;
  std::string prefill;
  std::string weights;
  std::string engramFile;
  bool holdsEngram = false;
  int threads = 0;

  std::string saveSession;
  std::string loadSession;

  std::string logitsFile;
  std::string traceFile;
  std::string forceFile;
  std::string statsFile;
  std::string profileFile;
  bool stats = false;
  bool describe = false;
  bool json = false;
};

/// Reads the command line. Returns nothing when the process is to end with
/// `exitCode`: after --help or --version (0), after wrong usage (2), which has
/// been reported.
std::optional<Options> parseOptions(int argc, char **argv, int &exitCode);

} // namespace dsflash::run

#endif // DSFLASH_TOOLS_DSFLASHRUN_OPTIONS_H
