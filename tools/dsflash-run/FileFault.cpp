//===- FileFault.cpp - When a mapped file can no longer be read -----------===//

#include "FileFault.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <unistd.h>

using namespace dsflash;

namespace {

/// Writes the path that is mapped at `address`; false if there is none.
bool findPath(uintptr_t address, char (&path)[4096]) {
  std::FILE *maps = std::fopen("/proc/self/maps", "r");
  char line[sizeof path + 128];
  bool found = false;
  while (maps && !found && std::fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    found = std::sscanf(line, "%lx-%lx %*s %*s %*s %*s %4095[^\n]", &begin,
                        &end, path) == 3 &&
            begin <= address && address < end;
  }
  return found;
}

/// The signal comes from an access to memory by this very thread, in compiled
/// code or in a loop over a file, never from inside of the C library: it may
/// be called here.
void endWithMessage(int signal, siginfo_t *info, void *) {
  char path[4096];
  bool isFault = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
  if (!isFault || !findPath(uintptr_t(info->si_addr), path)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  std::fprintf(stderr,
               "dsflash-run: error: %s: cannot be read any more: it was cut "
               "short, or its disk failed\n",
               path);
  _exit(1);
}

} // namespace

void run::reportFileFaults() {
  struct sigaction action{};
  action.sa_sigaction = endWithMessage;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}
