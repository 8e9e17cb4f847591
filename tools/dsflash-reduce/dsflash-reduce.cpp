//===- dsflash-reduce.cpp - Makes a failing input small -------------------===//

#include "dsflash/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << mlir::dsflash::getVersionText("dsflash-reduce") << '\n';
  });
  mlir::DialectRegistry registry;
  mlir::dsflash::registerAllDialects(registry);
  mlir::dsflash::registerAllPasses();
  mlir::MLIRContext context(registry);
  return failed(mlir::mlirReduceMain(argc, argv, context));
}
