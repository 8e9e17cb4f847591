//===- InitAll.cpp - Everything that dsflash registers --------------------===//

#include "dsflash/InitAll.h"
#include "dsflash/Conversion/Passes.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/BufferizableOpInterfaceImpl.h"
#include "dsflash/Pipelines/Pipelines.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

void mlir::dsflash::registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registry.insert<DSFlashDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
}

void mlir::dsflash::registerAllPasses() {
  mlir::registerAllPasses();
  registerDSFlashConversionPasses();
  registerDSFlashTransformsPasses();
  registerTestPasses();
  registerPipelines();
}
