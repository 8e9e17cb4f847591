//===- Options.cpp - Command line of dsflash-compile ----------------------===//

#include "Options.h"
#include "Diagnostics.h"
#include "dsflash/CompileCache/CompileCache.h"
#include "dsflash/InitAll.h"
#include "dsflash/Target/NVPTXTarget.h"
#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

namespace {
const std::map<std::string, Stage> stages = {
    {"config", Stage::Config}, {"dsflash", Stage::DSFlash},
    {"phases", Stage::Phases}, {"kernels", Stage::Kernels},
    {"llvm", Stage::LLVM},     {"asm", Stage::Asm},
    {"ptx", Stage::PTX},       {"cubin", Stage::Cubin},
    {"model", Stage::Model}};

const char *examples = R"(
Examples:
  dsflash-compile models/nano -o nano.dsflash
      compile a checkpoint for this machine
  dsflash-compile models/nano/config.json --emit=dsflash
      print the model IR of a config
  dsflash-compile models/nano -o ideal.dsflash --numerics=ideal --probes
      float32 throughout, with observation points
  dsflash-compile models/nano -o checked.dsflash --checked
      verify ring positions, row bounds, expert ids and NaN as it runs
  dsflash-compile --from=kernels kernels.mlir -o changed.dsflash
      go on from a text of --emit=kernels
  dsflash-compile models/nano -o nano.dsflash --target=cpu:x86-64-v3
      compile for another machine
  dsflash-compile models/nano -o nano.dsflash --dump-phases-to=stages
      keep the IR after every stage
  dsflash-compile models/nano --target=nvptx:sm_80 --emit=ptx
      print the GPU kernels
  dsflash-compile models/nano -o nano.dsflash --report=nano.json
      write sizes, memory, launches and times beside it
  dsflash-compile models/nano -o nano.dsflash --report=nano.html
      the same to read in a browser
  dsflash-compile --from=phases block.mlir --function=@norm -o norm.dsflash
      one function as the only entry
  dsflash-compile models/nano -o nano.dsflash --explain-cache
      say whether the code was in the cache, or what is new
)";

constexpr const char *kFuseRounding = "dsflash-fuse-rounding";
} // namespace

const char *stageName(Stage stage) {
  for (const auto &[name, value] : stages)
    if (value == stage)
      return name.c_str();
  return "";
}

/// What no option says alone.
static std::optional<int> checkCombination(const Options &options) {
  auto wrong = [](const std::string &why) {
    reportError("usage: " + why);
    return 2;
  };
  if (options.from && *options.from > options.emit)
    return wrong(std::string("--emit=") + stageName(options.emit) +
                 " lies before --from=" + stageName(*options.from));
  if (!options.function.empty() &&
      (!options.from || *options.from < Stage::DSFlash ||
       *options.from >= Stage::LLVM))
    return wrong("--function needs --from=dsflash, phases or kernels");
  if (!options.report.empty() &&
      (options.from || options.emit < Stage::Kernels))
    return wrong("--report needs a config and a stage from kernels on");
  bool onDevice = mlir::dsflash::NVPTXTarget::isSpec(options.target);
  if ((options.emit == Stage::PTX || options.emit == Stage::Cubin) && !onDevice)
    return wrong(std::string("--emit=") + stageName(options.emit) +
                 " needs --target=nvptx:CHIP");
  bool isOne = options.target.find(',') == std::string::npos;
  if ((options.emit == Stage::PTX || options.emit == Stage::Cubin) && !isOne)
    return wrong(std::string("--emit=") + stageName(options.emit) +
                 " needs one target");
  if (options.emit == Stage::Cubin && options.output.empty())
    return wrong("-o FILE is needed to write a cubin");
  if (options.checked && onDevice)
    return wrong(
        "--checked needs a cpu target: kernels of a GPU cannot report");
  const std::string suffix = ".dsflash";
  const std::string &name = options.output;
  if (options.emit == Stage::Model &&
      (name.size() <= suffix.size() ||
       name.compare(name.size() - suffix.size(), suffix.size(), suffix)))
    return wrong("-o NAME.dsflash is needed to write a model");
  return std::nullopt;
}

static std::string joinTargets(const std::vector<std::string> &targets) {
  std::string joined = targets.front();
  for (size_t i = 1; i < targets.size(); ++i)
    joined += "," + targets[i];
  return joined;
}

std::optional<int> parseOptions(int argc, char **argv, Options &options) {
  CLI::App app("Compiles a checkpoint, or its config.json alone, to a model "
               "that dsflash-run runs.");
  app.footer(examples);
  app.set_version_flag("--version",
                       mlir::dsflash::getVersionText("dsflash-compile"));
  std::string emit = "model", from;
  std::vector<std::string> disabled, targets;
  bool noCache = false;
  options.cacheFolder = ::dsflash::CompileCache::defaultFolder();
  auto names = [](bool textOnly) {
    std::vector<std::string> list;
    for (const auto &[name, stage] : stages)
      if (!textOnly || stage < Stage::Asm)
        list.push_back(name);
    return CLI::IsMember(list);
  };
  app.add_option("CHECKPOINT", options.input,
                 "checkpoint folder or config.json; with --from a text")
      ->required();
  app.add_option("-o,--output", options.output,
                 "the compiled model (NAME.dsflash), or the text of --emit "
                 "(default: standard output)");
  app.add_option("--target", targets,
                 "cpu (this machine), cpu:x86-64-v3, cpu:x86-64-v4, "
                 "cpu:generic; more features behind a comma. nvptx:sm_80, "
                 "nvptx:sm_90a, nvptx:sm_100a, nvptx:sm_120a; several for one "
                 "model, the first decides how kernels are made")
      ->allow_extra_args(false);
  app.add_option("--ptxas", options.ptxas,
                 "the program that makes cubins beside the PTX, none for PTX "
                 "alone (default: DSFLASH_PTXAS, ptxas in PATH, of a toolkit "
                 "or of a Python package)");
  CLI::Option *numerics =
      app.add_option("--numerics", options.numerics, "reference or ideal")
          ->check(CLI::IsMember({"reference", "ideal"}));
  app.add_option("--emit", emit, "stop at this stage and write its text")
      ->check(names(false));
  app.add_option("--from", from, "the input is a text of this stage")
      ->check(names(true));
  app.add_option("--function", options.function,
                 "@name: export this function of the text and nothing else");
  app.add_option("--dump-phases-to", options.dumpFolder,
                 "folder for the text of every stage, numbered");
  app.add_flag("--probes", options.probes,
               "keep the observation points for --trace and --force");
  app.add_flag("--checked,!--unchecked", options.checked,
               "verify ring positions, row bounds, expert ids and NaN as the "
               "model runs");
  app.add_option("--cache-dir", options.cacheFolder,
                 "folder of compiled code (default: dsflash in the user's "
                 "cache folder)");
  app.add_flag("--no-cache", noCache, "compile whatever the cache holds");
  app.add_flag("--explain-cache", options.explainCache,
               "say whether the cache had the code, or what differs");
  app.add_flag("--report{-}", options.report,
               "sizes, memory, launches and times as JSON, to --report=FILE or "
               "standard output; FILE.html: as a page");
  app.add_flag("--mlir-timing", options.timing, "print the time of every pass");
  app.add_option("--disable-pass", disabled, "leave out a fusion")
      ->check(CLI::IsMember({kFuseRounding}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    return app.exit(success);
  } catch (const CLI::ParseError &error) {
    reportError("usage: " + std::string(error.what()));
    return 2;
  }
  options.emit = stages.at(emit);
  if (!targets.empty())
    options.target = joinTargets(targets);
  if (!from.empty())
    options.from = stages.at(from);
  options.numericsGiven = numerics->count() > 0;
  options.fuseRounding = disabled.empty();
  if (!options.function.empty() && options.function.front() == '@')
    options.function.erase(0, 1);
  if (noCache)
    options.cacheFolder.clear();

  return checkCombination(options);
}
