//===- Options.cpp - Command line of dsflash-run --------------------------===//

#include "Options.h"

#include "../CommandLine.h"
#include "../NumberOption.h"

#include "dsflash/Tokens/ChatEncoding.h"

#include <cstdlib>
#include <map>
#include <set>

using namespace dsflash;
using namespace dsflash::run;

namespace {

constexpr const char *kExamples = R"(Examples:
  Continue a text:         dsflash-run nano.dsflash --raw --prompt "In the beginning" -n 60
  Ask a chat model:        dsflash-run model.dsflash --prompt "Why is the sky blue?" --effort low
  A conversation:          dsflash-run model.dsflash --chat --system "Be brief."
  Always the same text:    dsflash-run nano.dsflash --raw --prompt-file verse.txt --greedy
  A batch of sequences:    dsflash-run nano.dsflash --raw --prompt "And it" --prompt "But he"
  Token ids, all logits:   dsflash-run nano.dsflash --tokens ids.json -n 0 --logits out.safetensors
  Speed:                   dsflash-run nano.dsflash --raw --prompt "And" --stats --threads 2
  Where the time goes:     dsflash-run nano.dsflash --raw --prompt "And" --profile timeline.json
  Without drafts:          dsflash-run nano.dsflash --raw --prompt "And" --draft off
  Stop and go on later:    dsflash-run nano.dsflash --raw --prompt "And" --save-session s.session
                           dsflash-run nano.dsflash --load-session s.session -n 20
  Look inside:             dsflash-run probed.dsflash --tokens ids.json -n 0 --trace seen.safetensors
  What a model needs:      dsflash-run nano.dsflash --describe
  One function of a text:  dsflash-run --function=@norm --from=phases block.mlir --input in.safetensors --output out.safetensors

Exit codes: 0 done, 1 the input or the run failed, 2 wrong usage.)";

/// "off", "auto" or a count; reports a usage error by throwing, as CLI11 does.
std::optional<int64_t> parseDraft(const std::string &text) {
  if (text == "auto")
    return std::nullopt;
  if (text == "off")
    return 0;
  std::string count = text;
  if (!wholeNumber<int64_t>(0)(count).empty())
    throw CLI::ValidationError("--draft",
                               "'" + text + "' is not off, auto or a count");
  return std::stoll(count);
}

/// The command line as CLI11 sees it.
class Parser {
public:
  Parser() {
    app.footer(kExamples);
    app.set_version_flag("--version", getVersionText("dsflash-run"));
    app.add_option("MODEL", options.model,
                   "Compiled model, a folder *.dsflash; with --function a "
                   "text");
    addFunctionOptions();
    addPromptOptions();
    addGenerationOptions();
    addExecutionOptions();
    addOutputOptions();
  }

  std::optional<Options> parse(int argc, char **argv, int &exitCode) {
    if (parseCommandLine(app, argc, argv, [this] { finish(); }, exitCode))
      return options;
    return std::nullopt;
  }

private:
  void addFunctionOptions() {
    FunctionOptions &function = options.function;
    CLI::Option *name =
        app.add_option("--function", function.name,
                       "Compile and run this function of a text")
            ->type_name("@NAME");
    auto add = [&](const char *option, std::string &value, const char *help) {
      CLI::Option *added = app.add_option(option, value, help);
      name->needs(added);
      return added->needs(name);
    };
    add("--from", function.stage, "Stage of the text")
        ->check(CLI::IsMember({"dsflash", "phases", "kernels"}));
    add("--input", function.input, "Arguments and weights of the function")
        ->type_name("A.safetensors");
    add("--output", function.output, "Where its results go")
        ->type_name("B.safetensors");
  }

  void addPromptOptions() {
    addPromptSource("--prompt", PromptSource::Kind::Text, "TEXT",
                    "A prompt; repeat for a batch");
    addPromptSource("--prompt-file", PromptSource::Kind::TextFile, "FILE",
                    "A prompt from a file");
    addPromptSource("--tokens", PromptSource::Kind::TokenFile, "F.json",
                    "A prompt of token ids, used as they are");
    app.add_flag("--chat", options.chat,
                 "A conversation, line by line from standard input");
    CLI::Option *raw = app.add_flag("--raw", options.raw,
                                    "The prompt as it is, behind BOS, "
                                    "instead of a chat with one message");
    app.add_option("--system", options.system, "System message of the chat")
        ->type_name("TEXT")
        ->excludes(raw);
    app.add_option("--effort", effort,
                   "Reasoning effort: 1 to 100, low, high, xhigh or max")
        ->type_name("E")
        ->excludes(raw);
    app.add_flag("--no-think", noThink, "Reply without reasoning")
        ->excludes(raw);
  }

  void addPromptSource(const char *name, PromptSource::Kind kind,
                       const char *type, const char *help) {
    CLI::Option *option = app.add_option(name, promptValues[kind], help);
    option->type_name(type)->allow_extra_args(false);
    promptKinds[option] = kind;
  }

  void addGenerationOptions() {
    GenerationOptions &generation = options.generation;
    app.add_option("-n", generation.maxTokens, "New tokens, at most")
        ->capture_default_str()
        ->transform(wholeNumber<int64_t>(0));
    CLI::Option *greedy =
        app.add_flag("--greedy", isGreedy, "Always take the best token");
    app.add_option("--temperature", generation.sampling.temperature,
                   "0 is the same as --greedy")
        ->capture_default_str()
        ->transform(realNumber(0))
        ->excludes(greedy);
    app.add_option("--top-p", generation.sampling.topP,
                   "Draw from the best tokens that reach this probability")
        ->capture_default_str()
        ->transform(realNumber(0, 1))
        ->excludes(greedy);
    app.add_option("--seed", generation.sampling.seed,
                   "The same seed gives the same text")
        ->capture_default_str()
        ->transform(wholeNumber<uint64_t>(0));
    app.add_option("--stop", generation.stops,
                   "End before this text; of a chat reply, in its content")
        ->type_name("TEXT")
        ->allow_extra_args(false);
    app.add_flag("--ignore-eos", generation.ignoreEos,
                 "Go on behind an end token");
  }

  void addExecutionOptions() {
    app.add_option("--draft", draft,
                   "Drafted tokens a step: off, a count, or auto: those that "
                   "pay by their confidence and by the time steps take; with "
                   "--seed all of a block")
        ->capture_default_str();
    app.add_option("--chunk", options.generation.chunk,
                   "Prompt positions in one call")
        ->capture_default_str()
        ->transform(wholeNumber<int64_t>(1));
    app.add_option("--prefill", options.prefill, "How the prompt is read")
        ->default_val("exact")
        ->check(CLI::IsMember({"full", "exact", "bounded"}));
    app.add_option(
           "--device", options.device,
           "Where to run: cpu, cuda, simt; options of the device behind ':'")
        ->default_val("cpu")
        ->check([](const std::string &device) {
          std::string name = device.substr(0, device.find(':'));
          return CLI::IsMember({"cpu", "cuda", "simt"})(name);
        });
    app.add_option("--save-session", options.saveSession,
                   "Write the sequence at the end, to go on with it later")
        ->type_name("F");
    app.add_option("--load-session", options.loadSession,
                   "Go on with a saved sequence; the prompts come behind it")
        ->type_name("F");
    app.add_option("--threads", options.threads,
                   "Threads, never more than cores; default all")
        ->transform(wholeNumber<int>(1));
    app.add_option("--weights", options.weights,
                   "Checkpoint folder, if it is not where it was")
        ->type_name("DIR");
    app.add_option("--engram-file", options.engramFile,
                   "Engram tables, if they are in a file of their own")
        ->type_name("F.safetensors");
    app.add_flag("--engram-in-memory", options.holdsEngram,
                 "Read the Engram tables into memory at the start");
  }

  void addOutputOptions() {
    app.add_option("--logits", options.logitsFile,
                   "Write the logits of all positions and new tokens")
        ->type_name("F.safetensors");
    app.add_option("--trace", options.traceFile,
                   "Write what passed the observation points over the prompt")
        ->type_name("F.safetensors");
    app.add_option("--force", options.forceFile,
                   "Replace 'stream' and 'pre' values over the prompt")
        ->type_name("F.safetensors");
    app.add_flag("--stats", options.stats, "A line of statistics at the end");
    app.add_option("--stats-json", options.statsFile, "Write the statistics")
        ->type_name("F.json");
    app.add_option("--profile", options.profileFile,
                   "Write a timeline that Perfetto opens")
        ->type_name("F.json");
    app.add_flag("--describe", options.describe,
                 "Entries, state, memory and needs of the model");
    app.add_flag("--json", options.json, "Result as one JSON object");
  }

  void finish() {
    std::map<PromptSource::Kind, size_t> used;
    for (const CLI::Option *option : app.parse_order()) {
      auto found = promptKinds.find(option);
      if (found == promptKinds.end())
        continue;
      PromptSource::Kind kind = found->second;
      options.prompts.push_back({kind, promptValues[kind][used[kind]++]});
    }
    if (options.model.empty())
      throw CLI::RequiredError("MODEL");
    std::string &function = options.function.name;
    if (!function.empty()) {
      options.function.file = options.model;
      function.erase(0, function[0] == '@');
      for (const CLI::Option *option : app.parse_order())
        if (!functionOptions.count(option->get_name()))
          throw CLI::ExcludesError("--function", option->get_name());
    } else if (options.prompts.empty() && !options.describe && !options.chat &&
               options.loadSession.empty())
      throw CLI::RequiredError("--prompt, --prompt-file, --tokens or --chat");
    if (options.prompts.size() > 1 && !options.saveSession.empty())
      throw CLI::ValidationError("--save-session", "takes a single sequence");
    if (!options.loadSession.empty())
      for (const char *other : {"--trace", "--force"})
        if (app.count(other))
          throw CLI::ExcludesError("--load-session", other);
    if (options.chat)
      for (const char *other :
           {"--prompt", "--prompt-file", "--tokens", "--raw", "--json",
            "--logits", "--trace", "--force", "--stats-json"})
        if (app.count(other))
          throw CLI::ExcludesError("--chat", other);
    if (isGreedy)
      options.generation.sampling.temperature = 0;
    options.generation.prefill = options.prefill == "full" ? Prefill::Full
                                 : options.prefill == "bounded"
                                     ? Prefill::Bounded
                                     : Prefill::Exact;
    options.generation.keepLogits = !options.logitsFile.empty();
    options.draftWidth = parseDraft(draft);
    options.repeatable = !isGreedy && app.count("--seed");
    options.thinking = !noThink;
    if (options.thinking && !options.raw &&
        (options.chat || !options.prompts.empty()) &&
        promptValues[PromptSource::Kind::TokenFile].empty())
      options.generation.stopsBehind = "</think>";
    Result<int> parsed = parseEffort(effort);
    if (!parsed)
      throw CLI::ValidationError("--" + parsed.status().str());
    options.effort = *parsed;
  }

  const std::set<std::string> functionOptions = {
      "MODEL", "--function", "--from", "--input", "--output", "--threads"};
  CLI::App app{"Runs a compiled model.", "dsflash-run"};
  Options options;
  std::map<PromptSource::Kind, std::vector<std::string>> promptValues;
  std::map<const CLI::Option *, PromptSource::Kind> promptKinds;
  std::string draft = "auto", effort = "high";
  bool noThink = false, isGreedy = false;
};

} // namespace

std::optional<Options> run::parseOptions(int argc, char **argv, int &exitCode) {
  return Parser().parse(argc, argv, exitCode);
}
