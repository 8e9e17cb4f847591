//===- StageLog.h - What each stage of a run took ---------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_STAGELOG_H
#define DSFLASH_TOOLS_COMPILE_STAGELOG_H

#include "Options.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>
#include <vector>

/// Runs the stages one after the other; shows them on standard error while it
/// is a terminal.
class StageLog {
public:
  struct Time {
    std::string name;
    double seconds;
  };
  /// Of a pass or another part of a stage.
  struct PassTime {
    std::string stage;
    std::string name;
    double seconds;
  };

  /// `timing` prints a table of all passes when it goes; `keepPasses` keeps
  /// their times.
  StageLog(bool timing, bool keepPasses);

  /// Runs the work that ends in `stage`, under the name of the stage. Passes
  /// add their times to the scope that the work gets.
  bool run(Stage stage, llvm::function_ref<bool(mlir::TimingScope &)> work);

  const std::vector<Time> &times() const { return finished; }
  /// Of all stages, in order. Ends the measuring.
  const std::vector<PassTime> &takePassTimes();

private:
  std::vector<PassTime> passes;
  mlir::DefaultTimingManager manager;
  mlir::TimingScope root;
  std::vector<Time> finished;
};

#endif // DSFLASH_TOOLS_COMPILE_STAGELOG_H
