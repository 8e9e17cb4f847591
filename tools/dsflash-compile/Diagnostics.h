//===- Diagnostics.h - Messages of dsflash-compile --------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_DIAGNOSTICS_H
#define DSFLASH_TOOLS_COMPILE_DIAGNOSTICS_H

#include "dsflash/Support/Status.h"
#include <string>

namespace mlir {
class Diagnostic;
} // namespace mlir

/// "dsflash-compile: error: where: why" on standard error.
void reportError(const std::string &whereAndWhy);
/// "dsflash-compile: note: text" on standard error.
void reportNote(const std::string &text);
/// An error for every fault of a status.
void reportFaults(const dsflash::Status &status);
/// Reports the diagnostics of MLIR with their notes, as many as fit on a
/// screen; the number of the others at the end.
class DiagnosticPrinter {
public:
  ~DiagnosticPrinter();

  void report(mlir::Diagnostic &diagnostic);

private:
  int lines = 0, hidden = 0;
};

#endif // DSFLASH_TOOLS_COMPILE_DIAGNOSTICS_H
