//===- CpuFeatures.h - What this processor can do ---------------*- C++ -*-===//
//
// A compiled model names the instruction set extensions that it uses; they are
// checked before any of its code runs.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_CPUFEATURES_H
#define DSFLASH_RUNTIME_CPUFEATURES_H

#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

/// The names of `features` (comma separated, LLVM's names, an optional '+' in
/// front, those with '-' are not wanted) that this processor or its operating
/// system does not offer. A name that is not known counts as missing.
std::vector<std::string> missingCpuFeatures(std::string_view features);

} // namespace dsflash

#endif // DSFLASH_RUNTIME_CPUFEATURES_H
