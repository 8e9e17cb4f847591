//===- dsflash-opt.cpp - Runs passes over dsflash IR ----------------------===//

#include "dsflash/InitAll.h"
#include "mlir/Debug/Counter.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace cl = llvm::cl;

static int fail(int code, const llvm::Twine &message) {
  llvm::errs() << "dsflash-opt: error: " << message << '\n';
  return code;
}

/// The options of any MLIR -opt tool, but wrong usage ends as in the other
/// tools of dsflash.
int main(int argc, char **argv) {
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << mlir::dsflash::getVersionText("dsflash-opt") << '\n';
  });
  DialectRegistry registry;
  mlir::dsflash::registerAllDialects(registry);
  mlir::dsflash::registerAllPasses();

  cl::opt<std::string> input(cl::Positional, cl::desc("<input file>"),
                             cl::init("-"));
  cl::opt<std::string> output("o", cl::desc("Output file"),
                              cl::value_desc("file"), cl::init("-"));
  MlirOptMainConfig::registerCLOptions(registry);
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  tracing::DebugCounter::registerCLOptions();
  std::string fault;
  llvm::raw_string_ostream faults(fault);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "dsflash modular optimizer driver\n", &faults)) {
    llvm::StringRef why = fault;
    why.consume_front("dsflash-opt: ");
    return fail(2, "usage: " + why.rtrim());
  }
  if (input != "-")
    if (std::error_code error =
            llvm::sys::fs::access(input, llvm::sys::fs::AccessMode::Exist))
      return fail(1, input + ": cannot open: " + error.message());
  return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
}
