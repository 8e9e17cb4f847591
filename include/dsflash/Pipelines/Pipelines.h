//===- Pipelines.h - The way from stage to stage ----------------*- C++ -*-===//
//
// One pipeline for each step between the stages dsflash, phases, kernels and
// llvm. The driver and dsflash-opt run the same ones.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_PIPELINES_PIPELINES_H
#define DSFLASH_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::dsflash {

struct PhasesPipelineOptions : PassPipelineOptions<PhasesPipelineOptions> {
  Option<std::string> numerics{*this, "numerics",
                               llvm::cl::desc("reference or ideal"),
                               llvm::cl::init("reference")};
  Option<bool> probes{*this, "probes",
                      llvm::cl::desc("keep observation points"),
                      llvm::cl::init(false)};
  Option<bool> checked{*this, "checked",
                       llvm::cl::desc("verify values as the model runs"),
                       llvm::cl::init(false)};
  Option<bool> phases{*this, "phases",
                      llvm::cl::desc("entries that read prompts in phases"),
                      llvm::cl::init(true)};
};

struct KernelsPipelineOptions : PassPipelineOptions<KernelsPipelineOptions> {
  Option<bool> fuseRounding{*this, "fuse-rounding",
                            llvm::cl::desc("round results as they are stored"),
                            llvm::cl::init(true)};
  Option<std::string> device{
      *this, "device",
      llvm::cl::desc("device that runs the kernels, as nvptx:sm_80; empty: the "
                     "host"),
      llvm::cl::init("")};
  Option<bool> tensorCores{
      *this, "tensor-cores",
      llvm::cl::desc("products of bf16 values on tensor cores of the device"),
      llvm::cl::init(true)};
  Option<int64_t> maxAllocaBytes{
      *this, "max-alloca-bytes",
      llvm::cl::desc("stack buffers of one kernel, in bytes"),
      llvm::cl::init(1048576)};
};

struct LLVMPipelineOptions : PassPipelineOptions<LLVMPipelineOptions> {
  Option<std::string> compiler{
      *this, "compiler",
      llvm::cl::desc("name and version for the module's table"),
      llvm::cl::init("dsflash")};
  Option<std::string> triple{
      *this, "triple", llvm::cl::desc("target triple for the module's table"),
      llvm::cl::init("")};
  Option<std::string> features{
      *this, "features",
      llvm::cl::desc("CPU features that the code needs, comma separated"),
      llvm::cl::init("")};
  Option<std::string> device{
      *this, "device",
      llvm::cl::desc(
          "devices that run the kernels, as nvptx:sm_80,nvptx:sm_90a;"
          " empty: the host"),
      llvm::cl::init("")};
  Option<std::string> ptxas{
      *this, "ptxas",
      llvm::cl::desc("program that makes cubins beside the PTX; empty: none"),
      llvm::cl::init("")};
};

/// dsflash-phases-pipeline, stage dsflash to phases: numerics, probes, layers
/// as calls.
void buildPhasesPipeline(OpPassManager &passes,
                         const PhasesPipelineOptions &options);

/// dsflash-kernels-pipeline, stage phases to kernels: launches on buffers, all
/// memory in a workspace.
void buildKernelsPipeline(OpPassManager &passes,
                          const KernelsPipelineOptions &options);

/// dsflash-llvm-pipeline, stage kernels to llvm: the LLVM dialect alone, with
/// the tables of ModuleABI.h.
void buildLLVMPipeline(OpPassManager &passes,
                       const LLVMPipelineOptions &options);

void registerPipelines();

} // namespace mlir::dsflash

#endif // DSFLASH_PIPELINES_PIPELINES_H
