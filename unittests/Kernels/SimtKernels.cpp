//===- SimtKernels.cpp - Kernels of tests as PTX --------------------------===//

#include "SimtKernels.h"
#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Target/DeviceCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dsflash;
using namespace dsflash_test;
namespace simt = ::dsflash::simt;

StringRef dsflash_test::getTestedDevice() {
  const char *device = std::getenv("DSFLASH_TEST_PTX");
  return device ? device : "";
}

SimtKernels::SimtKernels(ModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr("test.entry"))
      function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                        UnitAttr::get(module.getContext()));
  PassManager passes(module.getContext());
  passes.addPass(createOutlineDevicePass());
  if (failed(passes.run(module)))
    llvm::report_fatal_error("no device code");
  auto code = module.lookupSymbol<gpu::GPUModuleOp>(deviceModuleName);
  auto targets = cantFail(NVPTXTarget::parseList(getTestedDevice()));
  auto made = cantFail(emitDeviceCode(code, targets, /*ptxas=*/""));
  auto loaded = simt::Module::load(device, made[0].ptx, "test.ptx");
  if (!loaded)
    llvm::report_fatal_error(StringRef(loaded.status().str()));
  kernels = std::move(*loaded);
}

void SimtKernels::launch(StringRef name, const SimtArguments &arguments) {
  std::vector<uint64_t> mapped;
  for (auto [data, bytes] : arguments.memory) {
    // Two arguments may share a buffer.
    if (bytes && device.mapHost(data, bytes, /*writable=*/true, "buffer"))
      mapped.push_back(reinterpret_cast<uint64_t>(data));
  }
  std::vector<const void *> parameters;
  for (const int64_t &word : arguments.words)
    parameters.push_back(&word);
  ::dsflash::Status status =
      kernels->launch(name.str(), {1}, {1}, 0, parameters.data());
  EXPECT_TRUE(status.ok()) << status.str();
  for (uint64_t address : mapped)
    EXPECT_TRUE(device.release(address).ok());
}
