//===- Options.h - Command line of dsflash-compile --------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_OPTIONS_H
#define DSFLASH_TOOLS_COMPILE_OPTIONS_H

#include <optional>
#include <string>

/// Boundaries of the compilation, in order; each is a text that can be printed
/// and, up to LLVM, read back.
enum class Stage {
  Config,
  DSFlash,
  Phases,
  Kernels,
  LLVM,
  Asm,
  PTX,
  Cubin,
  Model
};

/// "config", "dsflash", "phases", "kernels", "llvm", "asm", "ptx", "cubin" or
/// "model".
const char *stageName(Stage stage);

struct Options {
  /// A checkpoint folder or its config.json; with `from`, a text of that stage.
  std::string input;
  std::string output;
  /// One processor, or architectures of GPUs behind commas.
  std::string target = "cpu";
  /// The program that makes cubins, "none" for PTX alone; empty: any there is.
  std::string ptxas;
  std::string numerics = "reference";
  Stage emit = Stage::Model;
  std::optional<Stage> from;
  /// Folder for the texts of all stages that are passed; empty: none.
  std::string dumpFolder;
  /// Where compiled code is kept; empty: nowhere.
  std::string cacheFolder;
  /// File of the report, "-" for standard output; empty: none.
  std::string report;
  /// The function to export instead of the module's own entries; empty: none.
  std::string function;
  bool explainCache = false;
  bool timing = false;
  bool fuseRounding = true;
  bool probes = false;
  bool checked = DSFLASH_CHECKED;
  /// Whether the user chose a numerics; a text read back has its own.
  bool numericsGiven = false;
};

/// Reads the command line. Gives the exit code when there is nothing to do:
/// 0 after --help or --version, 2 on wrong usage.
std::optional<int> parseOptions(int argc, char **argv, Options &options);

#endif // DSFLASH_TOOLS_COMPILE_OPTIONS_H
