//===- dsflash-run.cpp - Runs a compiled model ----------------------------===//

#include "Chat.h"
#include "Describe.h"
#include "FileFault.h"
#include "Function.h"
#include "Options.h"

#include "dsflash/Runtime/Generator.h"
#include "dsflash/Runtime/LogitsFile.h"
#include "dsflash/Runtime/Model.h"
#include "dsflash/Support/MappedFile.h"
#include "dsflash/Support/OutputFile.h"
#include "dsflash/Tokens/ChatEncoding.h"
#include "dsflash/Tokens/TokenFile.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <unistd.h>

using namespace dsflash;
using namespace dsflash::run;
using nlohmann::json;

namespace {

int fail(const Status &status) {
  for (const std::string &fault : status.faults())
    std::cerr << "dsflash-run: error: " << fault << "\n";
  return 1;
}

/// Ids of a text prompt: behind BOS as it is, or as a chat with one message;
/// `before` is the sequence that it continues, or null.
Result<std::vector<int32_t>> encodeText(const Model &model,
                                        const Options &options,
                                        const Continuation *before,
                                        std::string_view text) {
  const Tokenizer *tokenizer = model.tokenizer();
  if (!tokenizer)
    return Status::error(model.path(), "no tokenizer.json; give token ids with "
                                       "--tokens");
  if (!options.raw) {
    std::vector<ChatMessage> messages;
    if (!options.system.empty())
      messages.push_back(
          ChatMessage::plain(ChatMessage::Role::System, options.system));
    messages.push_back(
        ChatMessage::plain(ChatMessage::Role::User, std::string(text)));
    ChatOptions chat;
    chat.thinking = options.thinking;
    chat.effort = options.effort;
    chat.continues = before;
    Result<std::vector<int32_t>> turn = encodeChat(*tokenizer, messages, chat);
    if (turn && before && before->needsEnd(model))
      turn->insert(turn->begin(), model.manifest().eosToken);
    return turn;
  }
  Result<std::vector<int32_t>> ids =
      tokenizer->encode(text, /*parseAdded=*/true);
  if (ids && !before && model.manifest().bosToken >= 0)
    ids->insert(ids->begin(), model.manifest().bosToken);
  return ids;
}

Result<std::vector<int32_t>> readPrompt(const Model &model,
                                        const Options &options,
                                        const Continuation *before,
                                        const PromptSource &source) {
  switch (source.kind) {
  case PromptSource::Kind::TokenFile:
    return readTokenFile(source.value, model.module().vocab_size);
  case PromptSource::Kind::TextFile: {
    Result<MappedFile> file = MappedFile::open(source.value);
    if (!file)
      return file.status();
    return encodeText(model, options, before, file->text());
  }
  case PromptSource::Kind::Text:
    break;
  }
  return encodeText(model, options, before, source.value);
}

/// A bar on standard error while a prompt of several chunks is read.
class ProgressBar {
public:
  void operator()(int64_t done, int64_t total) {
    if (done == total && !shown)
      return;
    shown = true;
    constexpr int width = 30;
    int filled = int(width * done / total);
    std::fprintf(stderr, "\rreading the prompt [%s%s] %lld/%lld",
                 std::string(filled, '#').c_str(),
                 std::string(width - filled, ' ').c_str(),
                 static_cast<long long>(done), static_cast<long long>(total));
    if (done == total)
      std::fprintf(stderr, "\r\033[K");
  }

private:
  bool shown = false;
};

/// Prints results: the text of a single sequence as it comes, that of several
/// one after another, each ending in a newline.
class Printer {
public:
  Printer(const Model &model, const Options &options)
      : printsText(model.tokenizer() != nullptr),
        streams(!options.json && options.prompts.size() <= 1) {}

  GenerationCallbacks callbacks() const {
    GenerationCallbacks result;
    if (streams && printsText)
      result.text = [](int64_t, std::string_view text) {
        std::cout << text << std::flush;
      };
    else if (streams)
      result.token = [](int64_t, int32_t token) {
        std::cout << token << ' ' << std::flush;
      };
    if (isatty(STDERR_FILENO))
      result.progress = ProgressBar();
    return result;
  }

  Status finish(const std::vector<SequenceResult> &results,
                const Options &options, const Statistics &stats) const {
    if (options.json)
      std::cout << asJson(results, stats)
                       .dump(2, ' ', false, json::error_handler_t::replace)
                << "\n";
    else if (streams && !results.front().tokens.empty())
      std::cout << "\n";
    else if (!streams)
      for (const SequenceResult &result : results)
        std::cout << asText(result) << "\n";
    std::cout << std::flush;
    return std::cout ? Status()
                     : Status::error("standard output", "cannot write");
  }

private:
  std::string asText(const SequenceResult &result) const {
    if (printsText)
      return result.text;
    std::string ids;
    for (int32_t token : result.tokens)
      ids += std::to_string(token) + " ";
    return ids;
  }

  json asJson(const std::vector<SequenceResult> &results,
              const Statistics &stats) const {
    json sequences = json::array();
    for (const SequenceResult &result : results)
      sequences.push_back({{"prompt_tokens", result.promptTokens},
                           {"tokens", result.tokens},
                           {"text", result.text},
                           {"finish", finishReasonName(result.finish)}});
    return {{"sequences", sequences}, {"statistics", stats.json()}};
  }

  bool printsText;
  bool streams;
};

/// How calls reached the device, for the line of statistics.
std::string deviceLine(const Executor &executor) {
  if (!executor.deviceModel())
    return "";
  const DeviceCalls &calls = executor.deviceModel()->calls();
  return ", calls on the device " + std::to_string(calls.launched) +
         " kernel by kernel, " + std::to_string(calls.recorded) +
         " recorded, " + std::to_string(calls.replayed) + " replayed" +
         (calls.canRecord ? "" : " (it cannot record)");
}

/// Generates from all prompts and writes what was asked for.
Status generate(ModelRunner &runner, const Options &options,
                double loadSeconds) {
  const Model &model = runner.model();
  if (!options.generation.stops.empty() && !model.tokenizer())
    return Status::error("--stop", "the model has no tokenizer.json");

  std::optional<Continuation> before;
  if (!options.loadSession.empty()) {
    Result<Continuation> loaded = loadSession(options.loadSession, runner);
    if (!loaded)
      return loaded.status();
    before = std::move(*loaded);
  }

  Status faults;
  std::vector<std::vector<int32_t>> prompts;
  std::vector<int64_t> lengths;
  for (const PromptSource &source : options.prompts) {
    Result<std::vector<int32_t>> ids =
        readPrompt(model, options, before ? &*before : nullptr, source);
    if (!ids) {
      faults.add(ids.status());
      continue;
    }
    lengths.push_back(int64_t(ids->size()));
    prompts.push_back(std::move(*ids));
  }
  if (!faults)
    return faults;
  // A saved sequence goes on by itself.
  if (options.prompts.empty())
    prompts.emplace_back();

  std::unique_ptr<Trace> trace;
  if (!options.traceFile.empty() || !options.forceFile.empty()) {
    Result<std::unique_ptr<Trace>> created =
        Trace::create(model.module(), lengths,
                      {!options.traceFile.empty(), options.forceFile});
    if (!created)
      return created.status();
    trace = std::move(*created);
  }

  Printer printer(model, options);
  Generator generator(runner, options.generation, printer.callbacks(),
                      trace.get());
  if (before)
    generator.continueFrom(std::move(*before));
  Result<std::vector<SequenceResult>> results = generator.run(prompts);
  if (!results)
    return results.status();
  Statistics stats = generator.statistics();
  stats.loadSeconds = loadSeconds;

  faults.add(printer.finish(*results, options, stats));
  if (!options.saveSession.empty()) {
    Continuation end = generator.takeSequence(0);
    faults.add(
        saveSession(options.saveSession, model, end.session, end.waiting));
  }
  if (trace)
    faults.add(trace->checkForced());
  if (!options.traceFile.empty())
    faults.add(trace->write(options.traceFile));
  if (!options.logitsFile.empty())
    faults.add(
        writeLogits(options.logitsFile, *results, model.module().vocab_size));
  if (!options.statsFile.empty()) {
    nlohmann::json json = stats.json();
    if (DeviceModel *model = runner.executor().deviceModel()) {
      const DeviceCalls &calls = model->calls();
      json["device_calls"] = {{"launched", calls.launched},
                              {"recorded", calls.recorded},
                              {"replayed", calls.replayed},
                              {"can_record", calls.canRecord}};
      if (std::string counted = model->device().statistics(); !counted.empty())
        json["kernels"] = nlohmann::json::parse(counted);
    }
    faults.add(writeTextFile(options.statsFile, json.dump(2) + "\n"));
  }
  if (options.stats)
    std::cerr << stats.line() << deviceLine(runner.executor()) << "\n";
  return faults;
}

Status compute(const Model &model, const Options &options, double loadSeconds) {
  Result<std::unique_ptr<Device>> device =
      Device::open(options.device, model.module());
  if (!device)
    return device.status();
  ThreadPool pool(options.threads);
  Result<std::unique_ptr<ModelRunner>> runner =
      ModelRunner::create(model, pool, std::move(*device));
  if (!runner)
    return runner.status();
  Timeline timeline(pool.threads());
  if (!options.profileFile.empty()) {
    pool.setTimeline(&timeline);
    (*runner)->setTimeline(&timeline);
  }
  Status status = options.chat ? runChat(**runner, options)
                               : generate(**runner, options, loadSeconds);
  if (!options.profileFile.empty())
    status.add(timeline.write(options.profileFile));
  return status;
}

int runTool(Options options) {
  if (!options.function.name.empty()) {
    Status status = runFunction(options.function, options.threads);
    return status.ok() ? 0 : fail(status);
  }
  auto start = std::chrono::steady_clock::now();
  Result<std::unique_ptr<Model>> model = Model::open(options.model);
  if (!model)
    return fail(model.status());
  if (options.describe) {
    std::cout << (options.json ? describeJson(**model).dump(2) + "\n"
                               : describeText(**model));
    return 0;
  }
  if (Status status = (*model)->bindWeights(options.weights, options.engramFile,
                                            options.holdsEngram);
      !status)
    return fail(status);
  double loadSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  options.generation.draftWidth =
      options.draftWidth.value_or((*model)->module().draft_block);
  options.generation.scheduleDrafts =
      !options.draftWidth && !options.repeatable;
  Status status = compute(**model, options, loadSeconds);
  return status.ok() ? 0 : fail(status);
}

} // namespace

int main(int argc, char **argv) {
  reportFileFaults();
  int exitCode = 0;
  std::optional<Options> options = parseOptions(argc, argv, exitCode);
  return options ? runTool(*options) : exitCode;
}
