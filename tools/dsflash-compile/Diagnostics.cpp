//===- Diagnostics.cpp - Messages of dsflash-compile ----------------------===//

#include "Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

void reportError(const std::string &whereAndWhy) {
  llvm::errs() << "dsflash-compile: error: " << whereAndWhy << '\n';
}

void reportNote(const std::string &text) {
  llvm::errs() << "dsflash-compile: note: " << text << '\n';
}

void reportFaults(const dsflash::Status &status) {
  for (const std::string &fault : status.faults())
    reportError(fault);
}

/// file:line:col where there is one, else the innermost name.
static std::string describe(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) +
           ":" + std::to_string(file.getColumn());
  if (auto name = location->findInstanceOf<NameLoc>())
    return name.getName().str();
  return "module";
}

/// Leaves room for what is said of a whole pipeline, below 20 lines.
static constexpr int kMaxLines = 14;

static void print(Diagnostic &diagnostic) {
  std::string text =
      describe(diagnostic.getLocation()) + ": " + diagnostic.str();
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
    reportError(text);
  else
    reportNote(text);
}

void DiagnosticPrinter::report(Diagnostic &diagnostic) {
  if (lines >= kMaxLines) {
    ++hidden;
    return;
  }
  print(diagnostic);
  ++lines;
  for (Diagnostic &note : diagnostic.getNotes()) {
    if (lines++ >= kMaxLines)
      return;
    print(note);
  }
}

DiagnosticPrinter::~DiagnosticPrinter() {
  if (hidden)
    reportNote(std::to_string(hidden) + " more diagnostics");
}
