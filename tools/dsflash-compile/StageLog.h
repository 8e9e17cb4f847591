//===- StageLog.h - What each stage of a run took ---------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_STAGELOG_H
#define DSFLASH_TOOLS_COMPILE_STAGELOG_H

#include "Options.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>
#include <vector>

/// Runs the stages one after the other; shows them on standard error while it
/// is a terminal, and with `timing` a table of all passes at the end.
class StageLog {
public:
  struct Time {
    std::string name;
    double seconds;
    /// Of the module behind the stage; 0 where there is none.
    int64_t operations = 0;
  };

  explicit StageLog(bool timing);

  /// Runs the work that ends in `stage`, under the name of the stage. Passes
  /// add their times to the scope that the work gets.
  bool run(Stage stage, llvm::function_ref<bool(mlir::TimingScope &)> work);

  /// Says how large the module is behind the last stage.
  void noteSize(int64_t operations) { finished.back().operations = operations; }

  const std::vector<Time> &times() const { return finished; }

private:
  mlir::DefaultTimingManager manager;
  mlir::TimingScope root;
  std::vector<Time> finished;
};

#endif // DSFLASH_TOOLS_COMPILE_STAGELOG_H
