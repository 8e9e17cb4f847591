//===- DeviceCode.h - Kernels to PTX and cubins -----------------*- C++ -*-===//

#ifndef DSFLASH_TARGET_DEVICECODE_H
#define DSFLASH_TARGET_DEVICECODE_H

#include "dsflash/Target/NVPTXTarget.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::dsflash {

/// All kernels for one architecture.
struct DeviceCode {
  std::string ptx;
  std::string cubin; // bytes; empty: none
};

/// Optimises a module of LLVM and NVVM operations and gives its PTX for each
/// target, by the program `ptxas` its cubin too unless that is empty. Targets
/// are made in parallel. Error: what the code generator or ptxas says.
llvm::Expected<SmallVector<DeviceCode>>
emitDeviceCode(gpu::GPUModuleOp module, ArrayRef<NVPTXTarget> targets,
               StringRef ptxas);

/// Name of the global with the PTX for a target.
std::string getPTXSymbol(const NVPTXTarget &target);

/// The PTX in LLVM IR text of a whole model; empty when there is none. `name`
/// stands for the text in errors.
llvm::Expected<std::string> findPTX(llvm::StringRef llvmIR,
                                    llvm::StringRef name,
                                    const NVPTXTarget &target);

/// The entry of each kernel in LLVM IR text of a whole model, by its name.
llvm::Expected<llvm::StringMap<std::string>> findEntries(llvm::StringRef llvmIR,
                                                         llvm::StringRef name);

/// The ptxas that `wanted` names or, when that is empty, DSFLASH_PTXAS, PATH,
/// CUDA_HOME, /usr/local/cuda or an installed Python package has, in this
/// order. Error: there is none; it says where to get it.
llvm::Expected<std::string> findPtxas(llvm::StringRef wanted);

/// What a ptxas says of itself.
llvm::Expected<std::string> getPtxasVersion(llvm::StringRef ptxas);

/// Runs ptxas and gives the bytes of the cubin. Error: what ptxas says.
llvm::Expected<std::string> assemblePTX(llvm::StringRef ptxas,
                                        llvm::StringRef ptx,
                                        const NVPTXTarget &target);

/// What one kernel takes of a multiprocessor, as ptxas -v says.
struct KernelResources {
  int64_t registers = 0; // of a thread
  int64_t spills = 0; // bytes that its code stores and loads for want of more
  int64_t sharedMemory = 0; // bytes, the static part
};

/// Of every entry of a PTX text. Error: what ptxas says.
llvm::Expected<llvm::StringMap<KernelResources>>
getKernelResources(llvm::StringRef ptxas, llvm::StringRef ptx,
                   const NVPTXTarget &target);

/// The same from the messages of ptxas -v.
llvm::StringMap<KernelResources> parseResources(llvm::StringRef messages);

} // namespace mlir::dsflash

#endif // DSFLASH_TARGET_DEVICECODE_H
