//===- Chat.cpp - A conversation on standard input ------------------------===//

#include "Chat.h"

#include "dsflash/Tokens/ChatEncoding.h"

#include <atomic>
#include <csignal>
#include <iostream>
#include <unistd.h>

using namespace dsflash;
using namespace dsflash::run;

namespace {

constexpr const char *kHelp = R"(A line is a message, or a command:
  /help          this text
  /system TEXT   sets the system message; without TEXT there is none
  /effort E      reasoning effort: 1 to 100, low, high, xhigh or max
  /clear         forgets the conversation
  /quit          ends, as does the end of input
Ctrl-C ends a reply.
)";

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

private:
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
      history.clear();
    } else if (command == "/system") {
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

  /// Adds the message and the streamed reply to the history, or neither.
  Status answer(const std::string &text) {
    std::vector<ChatMessage> messages;
    if (!system.empty())
      messages.push_back(ChatMessage::plain(ChatMessage::Role::System, system));
    messages.insert(messages.end(), history.begin(), history.end());
    ChatMessage question = ChatMessage::plain(ChatMessage::Role::User, text);
    messages.push_back(question);
    Result<std::vector<int32_t>> prompt =
        encodeChat(*runner.model().tokenizer(), messages, encoding);
    if (!prompt)
      return prompt.status();

    GenerationCallbacks callbacks;
    callbacks.text = [](int64_t, std::string_view part) {
      std::cout << part << std::flush;
    };
    callbacks.interrupted = [] { return interrupted.load(); };
    Generator generator(runner, options.generation, callbacks);
    InterruptGuard guard;
    Result<std::vector<SequenceResult>> results = generator.run({*prompt});
    if (!results)
      return results.status();
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
  std::vector<ChatMessage> history;
};

} // namespace

Status run::runChat(ModelRunner &runner, const Options &options) {
  if (!runner.model().tokenizer())
    return Status::error(runner.model().path(),
                         "no tokenizer.json, which --chat needs");
  return Chat(runner, options).run();
}
