//===- Chat.cpp - A conversation on standard input ------------------------===//

#include "Chat.h"

#include "dsflash/Tokens/ReplyParser.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>
#include <optional>
#include <unistd.h>

using namespace dsflash;
using namespace dsflash::run;

namespace {

constexpr const char *kHelp = R"(A line is a message, or a command:
  /help          this text
  /system TEXT   sets the system message; without TEXT there is none
  /effort E      reasoning effort: 1 to 100, low, high, xhigh or max
  /clear         forgets the conversation
  /save FILE     keeps the conversation in a file
  /load FILE     goes on with a kept conversation
  /quit          ends, as does the end of input
Ctrl-C ends a reply; at the prompt, the program.
)";

constexpr const char *kKeptSystem =
    "a kept conversation keeps its system message; /clear begins a new one";

std::atomic<bool> interrupted{false};

/// While it lives, an interrupt sets `interrupted` instead of ending the
/// process.
class InterruptGuard {
public:
  InterruptGuard() {
    interrupted = false;
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &before);
  }
  InterruptGuard(const InterruptGuard &) = delete;
  InterruptGuard &operator=(const InterruptGuard &) = delete;
  ~InterruptGuard() { sigaction(SIGINT, &before, nullptr); }

private:
  struct sigaction before{};
};

class Chat {
public:
  Chat(ModelRunner &runner, const Options &options)
      : runner(runner), options(options), system(options.system) {
    encoding.thinking = options.thinking;
    encoding.effort = options.effort;
  }

  Status run() {
    if (!options.loadSession.empty())
      if (Status status = load(options.loadSession); !status)
        return status;
    Status status = converse();
    if (status && !options.saveSession.empty())
      return save(options.saveSession);
    return status;
  }

private:
  Status converse() {
    bool isTerminal = isatty(STDIN_FILENO);
    std::string line;
    while (ask(isTerminal), std::getline(std::cin, line)) {
      if (line.empty())
        continue;
      if (line == "/quit")
        break;
      Status status = line[0] == '/' ? obey(line) : answer(line);
      if (status)
        continue;
      if (!isTerminal)
        return status;
      std::cerr << status.str() << "\n";
    }
    return Status();
  }

  void ask(bool isTerminal) {
    if (isTerminal)
      std::cerr << "> " << std::flush;
  }

  Status obey(const std::string &line) {
    size_t space = line.find(' ');
    std::string command = line.substr(0, space);
    std::string argument = space == line.npos ? "" : line.substr(space + 1);
    if (command == "/help") {
      std::cerr << kHelp;
    } else if (command == "/clear") {
      forget();
    } else if (command == "/save") {
      return save(argument);
    } else if (command == "/load") {
      return load(argument);
    } else if (command == "/system") {
      if (encoding.continues)
        return Status::error(command, kKeptSystem);
      system = argument;
    } else if (command == "/effort") {
      Result<int> effort = parseEffort(argument);
      if (!effort)
        return effort.status();
      encoding.effort = *effort;
    } else {
      return Status::error(command, "no such command; /help lists them");
    }
    return Status();
  }

  void forget() {
    history.clear();
    loaded.clear();
    sequence.reset();
    encoding.continues = false;
  }

  Status save(const std::string &path) {
    if (!sequence)
      return Status::error("/save", "there is no conversation yet");
    return saveSession(path, runner.model(), sequence->session,
                       sequence->waiting);
  }

  Status load(const std::string &path) {
    if (!system.empty())
      return Status::error(path, kKeptSystem);
    Result<Continuation> kept = loadSession(path, runner);
    if (!kept)
      return kept.status();
    forget();
    loaded = kept->session.tokens();
    loaded.insert(loaded.end(), kept->waiting.begin(), kept->waiting.end());
    if (kept->needsEnd(runner.model()))
      loaded.push_back(runner.model().manifest().eosToken);
    sequence = std::move(*kept);
    encoding.continues = true;
    return Status();
  }

  /// All tokens of the conversation up to the start of a reply.
  Result<std::vector<int32_t>>
  encode(const std::vector<ChatMessage> &messages) const {
    Result<std::vector<int32_t>> turns =
        encodeChat(*runner.model().tokenizer(), messages, encoding);
    if (turns)
      turns->insert(turns->begin(), loaded.begin(), loaded.end());
    return turns;
  }

  /// Lets the generator go on behind what the last sequence has in common with
  /// the prompt; takes that from the prompt.
  Status reuse(Generator &generator, std::vector<int32_t> &prompt) {
    if (!sequence || prompt.empty())
      return Status();
    const std::vector<int32_t> &tokens = sequence->session.tokens();
    int64_t most =
        std::min(sequence->session.length(), int64_t(prompt.size()) - 1);
    int64_t shared =
        std::mismatch(tokens.begin(), tokens.begin() + most, prompt.begin())
            .first -
        tokens.begin();
    if (shared < sequence->session.length())
      if (Status status = dropTokens(runner, sequence->session, shared);
          !status)
        return status;
    sequence->waiting.clear();
    generator.continueFrom(std::move(*sequence));
    sequence.reset();
    prompt.erase(prompt.begin(), prompt.begin() + shared);
    return Status();
  }

  /// Adds the message and the streamed reply to the history, or neither.
  Status answer(const std::string &text) {
    std::vector<ChatMessage> messages;
    if (!system.empty() && !encoding.continues)
      messages.push_back(ChatMessage::plain(ChatMessage::Role::System, system));
    messages.insert(messages.end(), history.begin(), history.end());
    ChatMessage question = ChatMessage::plain(ChatMessage::Role::User, text);
    messages.push_back(question);
    Result<std::vector<int32_t>> prompt = encode(messages);
    if (!prompt)
      return prompt.status();

    GenerationCallbacks callbacks;
    callbacks.text = [](int64_t, std::string_view part) {
      std::cout << part << std::flush;
    };
    callbacks.interrupted = [] { return interrupted.load(); };
    Generator generator(runner, options.generation, callbacks);
    InterruptGuard guard;
    if (Status status = reuse(generator, *prompt); !status)
      return status;
    Result<std::vector<SequenceResult>> results = generator.run({*prompt});
    if (!results)
      return results.status();
    sequence = generator.takeSequence(0);
    std::cout << "\n" << std::flush;
    if (options.stats)
      std::cerr << generator.statistics().line() << "\n";
    history.push_back(std::move(question));
    history.push_back(parseReply(results->front().text, encoding.thinking));
    return Status();
  }

  ModelRunner &runner;
  const Options &options;
  ChatOptions encoding;
  std::string system;
  /// Since the start, or behind `loaded`.
  std::vector<ChatMessage> history;
  /// Tokens of a conversation that was kept.
  std::vector<int32_t> loaded;
  /// What was computed last.
  std::optional<Continuation> sequence;
};

} // namespace

Status run::runChat(ModelRunner &runner, const Options &options) {
  if (!runner.model().tokenizer())
    return Status::error(runner.model().path(),
                         "no tokenizer.json, which --chat needs");
  return Chat(runner, options).run();
}
