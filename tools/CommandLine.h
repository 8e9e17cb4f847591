//===- CommandLine.h - What tools that link no LLVM share -------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMMANDLINE_H
#define DSFLASH_TOOLS_COMMANDLINE_H

#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Runtime/Device.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <string>

namespace dsflash {

/// What --version says.
inline std::string getVersionText(const std::string &tool) {
  return tool + " " DSFLASH_VERSION "\nLLVM: not linked\nABI version " +
         std::to_string(DSF_ABI_VERSION) + "\ndevices: " + deviceNames();
}

/// Reads a command line; `finish` throws a CLI::Error for what no option says
/// alone. False when the process is to end with `exitCode`: after --help or
/// --version (0), after wrong usage (2), which is reported under the name of
/// `app`.
template <typename Finish>
bool parseCommandLine(CLI::App &app, int argc, char **argv, Finish finish,
                      int &exitCode) {
  exitCode = 0;
  try {
    app.parse(argc, argv);
    finish();
    return true;
  } catch (const CLI::Success &request) {
    app.exit(request);
  } catch (const CLI::Error &error) {
    const std::string &tool = app.get_name();
    std::cerr << tool << ": error: command line: " << error.what() << "\nRun "
              << tool << " --help for the options.\n";
    exitCode = 2;
  }
  return false;
}

} // namespace dsflash

#endif // DSFLASH_TOOLS_COMMANDLINE_H
