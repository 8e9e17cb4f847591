//===- Toolchain.h - The compiler's identity --------------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_TOOLCHAIN_H
#define DSFLASH_TOOLS_COMPILE_TOOLCHAIN_H

#include <string>

/// Names this build of the compiler, the libraries that it has loaded and the
/// linker at `linker`, by their build ids.
std::string describeToolchain(const std::string &linker);

#endif // DSFLASH_TOOLS_COMPILE_TOOLCHAIN_H
