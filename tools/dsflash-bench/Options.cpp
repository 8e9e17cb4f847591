//===- Options.cpp - Command line of dsflash-bench ------------------------===//

#include "Options.h"

#include "dsflash/ABI/ModuleABI.h"

#include <CLI/CLI.hpp>

#include <iostream>

using namespace dsflash::bench;

namespace {

constexpr const char *kExamples = R"(Examples:
  A checkpoint to measure with:  dsflash-bench --make-checkpoint mid --config models/mid/config.json

Exit codes: 0 done, 1 the input or the run failed, 2 wrong usage.)";

std::string versionText() {
  return "dsflash-bench " DSFLASH_VERSION "\nLLVM: not linked\nABI version " +
         std::to_string(DSF_ABI_VERSION) + "\ndevices: cpu";
}

} // namespace

std::optional<Options> dsflash::bench::parseOptions(int argc, char **argv,
                                                    int &exitCode) {
  CLI::App app{"Measures this machine and compiled models.", "dsflash-bench"};
  Options options;
  app.footer(kExamples);
  app.set_version_flag("--version", versionText());

  CLI::Option *config =
      app.add_option("--config", options.config, "Config of the checkpoint")
          ->type_name("C.json");
  CLI::Option *make =
      app.add_option("--make-checkpoint", options.checkpoint,
                     "Write a checkpoint of random weights into a new folder")
          ->type_name("DIR")
          ->needs(config);
  app.add_option("--seed", options.seed, "The same seed gives the same bytes")
      ->capture_default_str()
      ->needs(make);

  exitCode = 0;
  try {
    app.parse(argc, argv);
    if (!*make)
      throw CLI::RequiredError("--make-checkpoint");
    return options;
  } catch (const CLI::Success &request) {
    app.exit(request);
  } catch (const CLI::Error &error) {
    std::cerr << "dsflash-bench: error: command line: " << error.what()
              << "\nRun dsflash-bench --help for the options.\n";
    exitCode = 2;
  }
  return std::nullopt;
}
