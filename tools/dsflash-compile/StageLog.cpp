//===- StageLog.cpp - What each stage of a run took -----------------------===//

#include "StageLog.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;

StageLog::StageLog(bool timing) {
  manager.setEnabled(timing);
  root = manager.getRootScope();
}

static const char *describe(Stage stage) {
  switch (stage) {
  case Stage::Config:
    return "reading the config";
  case Stage::DSFlash:
    return "making model IR";
  case Stage::Phases:
    return "lowering to phases";
  case Stage::Kernels:
    return "lowering to kernels";
  case Stage::LLVM:
    return "lowering to LLVM";
  case Stage::Asm:
    return "writing assembly";
  case Stage::PTX:
    return "writing PTX";
  case Stage::Cubin:
    return "assembling PTX";
  case Stage::Model:
    return "generating code";
  }
  return "";
}

/// Leaves the cursor at the start of the line, so that a message of the work
/// takes the place of the text.
static void showStart(Stage stage) {
  if (llvm::errs().is_displayed())
    llvm::errs() << describe(stage) << " ...\r";
}

static void showEnd(Stage stage, double seconds) {
  if (llvm::errs().is_displayed())
    llvm::errs() << describe(stage) << " ... " << llvm::format("%.1f", seconds)
                 << " s\n";
}

bool StageLog::run(Stage stage, llvm::function_ref<bool(TimingScope &)> work) {
  using Clock = std::chrono::steady_clock;
  TimingScope scope = root.nest(stageName(stage));
  showStart(stage);
  Clock::time_point start = Clock::now();
  if (!work(scope))
    return false;
  std::chrono::duration<double> seconds = Clock::now() - start;
  finished.push_back({stageName(stage), seconds.count()});
  showEnd(stage, seconds.count());
  return true;
}
