//===- Function.h - Runs one function of any stage --------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_DSFLASHRUN_FUNCTION_H
#define DSFLASH_TOOLS_DSFLASHRUN_FUNCTION_H

#include "dsflash/Support/Status.h"

#include <string>

namespace dsflash::run {

/// What --function needs.
struct FunctionOptions {
  /// Name of the function, the text it is in and that text's stage.
  std::string name, file, stage;
  /// Arguments and weights by name, and where results go.
  std::string input, output;
};

/// Compiles the function with the dsflash-compile beside this program, calls it
/// once with the tensors of the input file and writes the tensors that it
/// writes, [n] or [n, elements of a row]. Sequences start empty. Errors: those
/// of the compiler, which reports them itself; missing tensors, tensors of
/// another dtype or shape, tensors that the function has no use for; compiled
/// code that fails.
Status runFunction(const FunctionOptions &options, int threads);

} // namespace dsflash::run

#endif // DSFLASH_TOOLS_DSFLASHRUN_FUNCTION_H
