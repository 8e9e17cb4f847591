//===- Reproducer.h - A file to repeat a failed pipeline --------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_REPRODUCER_H
#define DSFLASH_TOOLS_COMPILE_REPRODUCER_H

#include "mlir/Pass/PassManager.h"
#include <memory>
#include <string>

/// Runs passes so that, should one fail or crash, the module before them and
/// their names are written to a file of the temporary folder.
class Reproducer {
public:
  explicit Reproducer(mlir::PassManager &passes);

  /// The file, or empty while nothing went wrong.
  const std::string &path() const { return *file; }

private:
  std::shared_ptr<std::string> file = std::make_shared<std::string>();
};

#endif // DSFLASH_TOOLS_COMPILE_REPRODUCER_H
