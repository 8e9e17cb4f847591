//===- dsflash-lsp-server.cpp - Language server for editors ---------------===//

#include "dsflash/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::dsflash::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
