//===- StageLog.cpp - What each stage of a run took -----------------------===//

#include "StageLog.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;

namespace {

/// Keeps what is below the stages of a tree, and prints it if that is wanted.
class KeepPasses : public OutputStrategy {
public:
  KeepPasses(std::vector<StageLog::PassTime> &passes, bool prints)
      : OutputStrategy(llvm::errs()), passes(passes),
        printer(createOutputStrategy(DefaultTimingManager::OutputFormat::Text,
                                     prints ? llvm::errs() : llvm::nulls())) {}

  void printHeader(const TimeRecord &total) override {
    printer->printHeader(total);
  }
  void printFooter() override { printer->printFooter(); }
  void printTime(const TimeRecord &time, const TimeRecord &total) override {
    printer->printTime(time, total);
  }
  void printListEntry(llvm::StringRef name, const TimeRecord &time,
                      const TimeRecord &total, bool lastEntry) override {
    printer->printListEntry(name, time, total, lastEntry);
  }
  void printTreeEntry(unsigned indent, llvm::StringRef name,
                      const TimeRecord &time,
                      const TimeRecord &total) override {
    printer->printTreeEntry(indent, name, time, total);
    if (indent == 0)
      stage = name.str();
    else
      passes.push_back({stage, name.str(), time.wall});
  }
  void printTreeEntryEnd(unsigned indent, bool lastEntry) override {
    printer->printTreeEntryEnd(indent, lastEntry);
  }

private:
  std::vector<StageLog::PassTime> &passes;
  std::unique_ptr<OutputStrategy> printer;
  std::string stage;
};

} // namespace

StageLog::StageLog(bool timing, bool keepPasses) {
  manager.setEnabled(timing || keepPasses);
  if (keepPasses)
    manager.setOutput(std::make_unique<KeepPasses>(passes, timing));
  root = manager.getRootScope();
}

const std::vector<StageLog::PassTime> &StageLog::takePassTimes() {
  root.stop();
  manager.print();
  manager.setEnabled(false);
  return passes;
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
