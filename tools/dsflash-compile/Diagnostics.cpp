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

void reportDiagnostic(Diagnostic &diagnostic) {
  std::string where = describe(diagnostic.getLocation());
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
    reportError(where + ": " + diagnostic.str());
  else
    reportNote(where + ": " + diagnostic.str());
  for (Diagnostic &note : diagnostic.getNotes())
    reportDiagnostic(note);
}
