//===- Options.cpp - Command line of dsflash-bench ------------------------===//

#include "Options.h"

#include "../CommandLine.h"
#include "../NumberOption.h"

#include <map>

using namespace dsflash;
using namespace dsflash::bench;

namespace {

constexpr const char *kExamples = R"(Examples:
  What this machine can do:      dsflash-bench limits
  Speed of a model:              dsflash-bench model nano.dsflash
  Where the time goes:           dsflash-bench kernels nano.dsflash --report nano.json
  What GPU kernels touch:        dsflash-bench kernels nano.dsflash --device simt:counters --report nano.json
  Prompts in phases:             dsflash-bench model nano.dsflash --prompt-tokens 2048 --prefill full,exact,bounded
  In a long context, as JSON:    dsflash-bench model mid.dsflash --context 0,4096 --json speed.json
  Up to a million tokens:        dsflash-bench model mid.dsflash --pretend --context 4096,65536,1048576 --report mid.json
  How long the compiler takes:   dsflash-bench compile models/nano
  Two compiled variants:         dsflash-bench compare before.dsflash after.dsflash
  Engram tables on a disk:       dsflash-bench engram mid.dsflash --engram-file tables.safetensors
  A checkpoint to measure with:  dsflash-bench --make-checkpoint mid --config models/mid/config.json

Exit codes: 0 done, 1 the input or the run failed, 2 wrong usage.)";

/// The command line as CLI11 sees it.
class Parser {
public:
  Parser() {
    app.footer(kExamples);
    app.set_version_flag("--version", getVersionText("dsflash-bench"));
    addMakeCheckpoint();
    addCommand(Command::Limits, "limits",
               "Memory bandwidth and multiply rates of this machine");
    addModelOptions(*addCommand(
        Command::Model, "model",
        "Prompt and generation speed, and their parts of the limits"));
    addKernelOptions(
        *addCommand(Command::Kernels, "kernels",
                    "Time of each kernel in a prompt and a decode step"));
    addCompileOptions(*addCommand(
        Command::Compile, "compile",
        "Time of the compiler: stages, passes, and from the cache"));
    addComparisonOptions(*addCommand(
        Command::Compare, "compare",
        "Two compiled variants in turns: time, sizes, and how far their values "
        "are apart, layer by layer"));
    addEngramOptions(
        *addCommand(Command::Engram, "engram",
                    "Reading Engram tables from a disk, cold and warm"));
    app.require_subcommand(0, 1);
  }

  std::optional<Options> parse(int argc, char **argv, int &exitCode) {
    if (parseCommandLine(app, argc, argv, [this] { finish(); }, exitCode))
      return options;
    return std::nullopt;
  }

private:
  void addMakeCheckpoint() {
    CLI::Option *config =
        app.add_option("--config", options.config, "Config of the checkpoint")
            ->type_name("C.json");
    CLI::Option *make =
        app.add_option("--make-checkpoint", options.checkpoint,
                       "Write a checkpoint of random weights into a new folder")
            ->type_name("DIR")
            ->needs(config);
    config->needs(make);
    app.add_option("--seed", options.random.seed,
                   "The same seed gives the same checkpoint")
        ->capture_default_str()
        ->transform(wholeNumber<uint64_t>(0))
        ->needs(make);
  }

  CLI::App *addCommand(Command command, const char *name, const char *help) {
    CLI::App *added = app.add_subcommand(name, help);
    added->callback([this, command] { options.command = command; });
    if (command != Command::Compile)
      added
          ->add_option("--threads", options.threads,
                       "Threads, never more than cores; default all")
          ->transform(wholeNumber<int>(1));
    added->add_option("--json", options.jsonFile, "Write the results")
        ->type_name("F.json");
    return added;
  }

  /// What every command that runs one model has.
  void addModelSource(CLI::App &command, std::string &model,
                      std::string &weights, int64_t &generate) {
    command.add_option("MODEL", model, "Compiled model, a folder *.dsflash")
        ->required();
    addRunOptions(command, weights, generate);
  }

  void addRunOptions(CLI::App &command, std::string &weights,
                     int64_t &generate) {
    command
        .add_option("--weights", weights,
                    "Checkpoint folder, if it is not where it was")
        ->type_name("DIR");
    command
        .add_option("--generate", generate,
                    "Tokens to generate behind the prompt")
        ->capture_default_str()
        ->transform(wholeNumber<int64_t>(1, kMostTokens));
  }

  void addModelOptions(CLI::App &command) {
    ModelBenchOptions &model = options.model;
    addModelSource(command, model.model, model.weights, model.generate);
    CLI::Option *device = command
                              .add_option("--device", model.device,
                                          "Where to run, as dsflash-run")
                              ->capture_default_str();
    command
        .add_option("--context", model.contexts,
                    "Tokens before the measured ones; a list")
        ->delimiter(',')
        ->capture_default_str()
        ->transform(wholeNumber<int64_t>(0, kMostTokens));
    CLI::Option *sequences =
        command
            .add_option("--sequences", model.sequences,
                        "Also generate so many sequences side by side; a list")
            ->delimiter(',')
            ->transform(wholeNumber<int64_t>(1, kMostTokens));
    command
        .add_option("--prompt-tokens", model.promptTokens,
                    "Tokens of the measured prompt")
        ->capture_default_str()
        ->transform(wholeNumber<int64_t>(1, kMostTokens));
    CLI::Option *pretend =
        command
            .add_flag("--pretend", model.pretends,
                      "Steps alone, the last ones of each context, whose rows "
                      "are those of a short prompt repeated")
            ->excludes(device)
            ->excludes(sequences);
    command
        .add_option("--report", model.report,
                    "What dsflash-compile --report wrote of this model: the "
                    "work of a step")
        ->type_name("F.json")
        ->needs(pretend);
    std::map<std::string, Prefill> prefills;
    for (Prefill prefill : {Prefill::Full, Prefill::Exact, Prefill::Bounded})
      prefills[prefillName(prefill)] = prefill;
    command
        .add_option("--prefill", model.prefills,
                    "How the prompt is read; a list of full, exact and bounded")
        ->delimiter(',')
        ->default_str("full")
        ->excludes(pretend)
        ->transform(CLI::CheckedTransformer(prefills));
  }

  void addKernelOptions(CLI::App &command) {
    KernelBenchOptions &kernels = options.kernels;
    addModelSource(command, kernels.model, kernels.weights, kernels.generate);
    CLI::Option *sequences =
        command
            .add_option("--sequences", kernels.sequences,
                        "Sequences that decode side by side")
            ->capture_default_str()
            ->transform(wholeNumber<int64_t>(1, kMostTokens));
    command
        .add_option("--device", kernels.device,
                    "cpu: kernels are timed. simt:counters: what they touch "
                    "in one decode step is counted")
        ->capture_default_str();
    command
        .add_option("--report", kernels.report,
                    "What dsflash-compile --report wrote of this model: the "
                    "work of its kernels in a prompt and in a step of one "
                    "sequence")
        ->type_name("F.json")
        ->excludes(sequences);
  }

  void addCompileOptions(CLI::App &command) {
    CompileBenchOptions &compile = options.compile;
    command
        .add_option("CHECKPOINT", compile.checkpoint,
                    "Checkpoint folder or config.json")
        ->required();
    command
        .add_option("OPTIONS", compile.flags,
                    "Options of dsflash-compile, behind --")
        ->type_name("");
    command
        .add_option("--repeat", compile.repeat,
                    "Runs without and with a filled cache")
        ->capture_default_str()
        ->transform(wholeNumber<int64_t>(1));
  }

  void addComparisonOptions(CLI::App &command) {
    ComparisonOptions &compare = options.comparison;
    command
        .add_option("A", compare.models[0],
                    "Compiled model, a folder *.dsflash")
        ->required();
    command.add_option("B", compare.models[1], "The other one")->required();
    addRunOptions(command, compare.weights, compare.generate);
    CLI::Option *count =
        command
            .add_option("--prompt-tokens", compare.promptTokens,
                        "Random tokens of the prompt")
            ->capture_default_str()
            ->transform(wholeNumber<int64_t>(1, kMostTokens));
    command
        .add_option("--tokens", compare.tokens,
                    "The prompt, a JSON list of ids, instead")
        ->type_name("F.json")
        ->excludes(count);
    command.add_option("--rounds", compare.rounds, "Times that both are run")
        ->capture_default_str()
        ->transform(wholeNumber<int64_t>(1));
  }

  void addEngramOptions(CLI::App &command) {
    EngramBenchOptions &engram = options.engram;
    addModelSource(command, engram.model, engram.weights, engram.generate);
    command
        .add_option("--engram-file", engram.engramFile,
                    "Engram tables in a file of their own")
        ->type_name("F.safetensors")
        ->required();
  }

  void finish() {
    if (options.checkpoint.empty() == app.get_subcommands().empty())
      throw CLI::RequiredError("--make-checkpoint or one command");
  }

  CLI::App app{"Measures this machine and compiled models.", "dsflash-bench"};
  Options options;
};

} // namespace

std::optional<Options> dsflash::bench::parseOptions(int argc, char **argv,
                                                    int &exitCode) {
  return Parser().parse(argc, argv, exitCode);
}
