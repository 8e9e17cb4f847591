//===- dsflash-opt.cpp - Runs passes over dsflash IR ----------------------===//

#include "dsflash/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << mlir::dsflash::getVersionText("dsflash-opt") << '\n';
  });
  mlir::DialectRegistry registry;
  mlir::dsflash::registerAllDialects(registry);
  mlir::dsflash::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "dsflash modular optimizer driver\n", registry));
}
