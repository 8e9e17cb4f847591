//===- Pipelines.cpp - The order of passes --------------------------------===//

#include "dsflash/Pipelines/Pipelines.h"
#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Conversion/Passes.h"
#include "dsflash/Target/Passes.h"
#include "dsflash/Transforms/GreedyConfig.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::dsflash;

static void addCleanup(OpPassManager &passes) {
  passes.addPass(
      createCanonicalizerPass(getStructuredConfig().setUseTopDownTraversal()));
  passes.addPass(createCSEPass());
}

void mlir::dsflash::buildPhasesPipeline(OpPassManager &passes,
                                        const PhasesPipelineOptions &options) {
  if (options.phases) {
    passes.addPass(createDerivePromptPass());
    passes.addPass(createDeriveTailPass({/*bounded=*/false}));
    passes.addPass(createDeriveTailPass({/*bounded=*/true}));
  }
  passes.addPass(createLowerStructurePass());
  // Behind the slicing of layers, which would leave checks of what is gone, and
  // before rounding points go.
  if (options.checked)
    passes.addPass(createInsertChecksPass());
  passes.addPass(createLegalizeNumericsPass({options.numerics}));
  if (!options.probes)
    passes.addPass(createStripProbesPass());
  passes.addPass(createDeriveReplayPass());
  passes.addPass(createDeriveEngramRowsPass());
  passes.addPass(createVerifyStatePass());
  addCleanup(passes);
}

/// Tensors to buffers. Every function works on plain layouts, so that kernels
/// see contiguous rows.
static void addBufferization(OpPassManager &passes) {
  passes.addPass(createResultsToDestinationsPass());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  passes.addPass(bufferization::createOneShotBufferizePass(options));
  passes.addPass(createDropResultsPass());
  addCleanup(passes);
}

void mlir::dsflash::buildKernelsPipeline(
    OpPassManager &passes, const KernelsPipelineOptions &options) {
  if (!options.device.empty())
    passes.addPass(
        createSelectConfigPass({options.device, options.tensorCores}));
  if (options.fuseRounding)
    passes.addPass(createFuseRoundingPass());
  passes.addPass(createConvertDSFlashToKernelsPass());
  addCleanup(passes);
  addBufferization(passes);
  passes.addPass(createPlanMemoryPass());
  addCleanup(passes);
  passes.addPass(createVerifyBufferizedPass({options.maxAllocaBytes}));
}

void mlir::dsflash::buildLLVMPipeline(OpPassManager &passes,
                                      const LLVMPipelineOptions &options) {
  ConvertDSFlashToLLVMPassOptions convert;
  convert.compiler = options.compiler;
  convert.triple = options.triple;
  convert.features = options.features;
  convert.device = options.device;
  addDSFlashToLLVMPasses(passes, convert);
  if (!options.device.empty())
    passes.addPass(createSerializeDevicePass({options.device, options.ptxas}));
}

void mlir::dsflash::registerPipelines() {
  PassPipelineRegistration<PhasesPipelineOptions>(
      "dsflash-phases-pipeline", "model IR to plain calls of layers",
      buildPhasesPipeline);
  PassPipelineRegistration<KernelsPipelineOptions>(
      "dsflash-kernels-pipeline", "plain calls of layers to kernels on buffers",
      buildKernelsPipeline);
  PassPipelineRegistration<LLVMPipelineOptions>(
      "dsflash-llvm-pipeline", "kernels on buffers to the LLVM dialect",
      buildLLVMPipeline);
}
