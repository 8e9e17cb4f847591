//===- dsflash-compile.cpp - From a checkpoint to a compiled model --------===//

#include "Driver.h"
#include "Options.h"

int main(int argc, char **argv) {
  Options options;
  if (std::optional<int> code = parseOptions(argc, argv, options))
    return *code;
  return Driver(options).run() ? 0 : 1;
}
