//===- Program.cpp - Runs another program ---------------------------------===//

#include "dsflash/Support/Program.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace dsflash;

Result<ScratchFolder> ScratchFolder::create(const std::string &prefix) {
  std::error_code error;
  std::string path = fs::temp_directory_path(error) / (prefix + "-XXXXXX");
  if (error || !mkdtemp(path.data()))
    return Status::error(path,
                         "cannot be made: " +
                             (error ? error.message() : std::strerror(errno)));
  return ScratchFolder(path);
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  if (!folder.empty())
    fs::remove_all(folder, error);
}

std::string dsflash::toolBeside(const std::string &name) {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return self.parent_path() / name;
}

Status dsflash::runProgram(const std::vector<std::string> &command) {
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (int error = posix_spawn(&child, arguments[0], nullptr, nullptr,
                              arguments.data(), environ))
    return Status::error(command[0], std::string("cannot be started: ") +
                                         std::strerror(error));
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
    return Status();
  return Status::error(command[0], WIFEXITED(state)
                                       ? "failed; its messages are above"
                                       : std::string("stopped: ") +
                                             strsignal(WTERMSIG(state)));
}
