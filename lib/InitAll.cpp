//===- InitAll.cpp - Everything that dsflash registers --------------------===//

#include "dsflash/InitAll.h"
#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Conversion/Passes.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Pipelines/Pipelines.h"
#include "dsflash/Target/Passes.h"
#include "dsflash/Transforms/BufferizableOpInterfaceImpl.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "llvm/Config/llvm-config.h"

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
  registerDSFlashTargetPasses();
  registerDSFlashTransformsPasses();
  registerTestPasses();
  registerPipelines();
}

std::string mlir::dsflash::getVersionText(llvm::StringRef tool) {
  return (tool + " " DSFLASH_VERSION "\nLLVM " LLVM_VERSION_STRING "\nABI " +
          llvm::Twine(DSF_ABI_VERSION) + "\ntargets cpu, nvptx")
      .str();
}
