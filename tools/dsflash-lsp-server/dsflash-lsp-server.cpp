//===- dsflash-lsp-server.cpp - Language server for editors ---------------===//

#include "dsflash/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << mlir::dsflash::getVersionText("dsflash-lsp-server") << '\n';
  });
  mlir::DialectRegistry registry;
  mlir::dsflash::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
