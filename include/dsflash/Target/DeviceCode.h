//===- DeviceCode.h - Kernels to PTX and cubins -----------------*- C++ -*-===//

#ifndef DSFLASH_TARGET_DEVICECODE_H
#define DSFLASH_TARGET_DEVICECODE_H

#include "dsflash/Target/NVPTXTarget.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::dsflash {

/// Optimises a module of LLVM and NVVM operations and gives its PTX.
llvm::Expected<std::string> emitPTX(gpu::GPUModuleOp module,
                                    const NVPTXTarget &target);

/// The device's code in LLVM IR text of a whole model; empty when there is
/// none. `name` stands for the text in errors.
llvm::Expected<std::string> findDeviceCode(llvm::StringRef llvmIR,
                                           llvm::StringRef name);

/// The ptxas that DSFLASH_PTXAS, PATH, CUDA_HOME or /usr/local/cuda has, in
/// this order. Error: there is none; it says where to get it.
llvm::Expected<std::string> findPtxas();

/// Runs ptxas and gives the bytes of the cubin. Error: what ptxas says.
llvm::Expected<std::string> assemblePTX(llvm::StringRef ptxas,
                                        llvm::StringRef ptx,
                                        const NVPTXTarget &target);

} // namespace mlir::dsflash

#endif // DSFLASH_TARGET_DEVICECODE_H
