//===- JIT.h - Kernels to host code -----------------------------*- C++ -*-===//

#ifndef DSFLASH_SIMT_JIT_H
#define DSFLASH_SIMT_JIT_H

#include "Runtime/Context.h"

#include <memory>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace dsflash::simt {

/// A kernel as host code.
struct CompiledKernel {
  KernelCode code = nullptr;
  KernelCodeInfo info;
};

/// What can be said of a kernel before it is compiled.
struct KernelLayout {
  /// Of every variable of the module: the offset in shared memory, or for
  /// `.global` and `.const` the address.
  std::vector<uint64_t> variables;
  uint32_t sharedBytes = 0;
};

/// Functions that a kernel calls, itself included, callees behind callers.
/// Error: they call each other in a circle.
Result<std::vector<const ptx::Function *>>
reachableFunctions(const ptx::Module &module, const ptx::Function &kernel);

/// Adds everything in a kernel that is not modelled to a status.
Status checkTranslation(const ptx::Module &module, const ptx::Function &kernel,
                        const KernelLayout &layout);

/// Kernels become host code at their first launch. What they became is kept
/// in the folder of compiled code (CompileCache.h), by their LLVM IR.
class JIT {
public:
  JIT();
  ~JIT();
  Result<CompiledKernel> compile(const ptx::Module &module,
                                 const ptx::Function &kernel,
                                 const KernelLayout &layout, bool instrumented);

private:
  Status create();
  /// Adds the object of a module, which is optimized here.
  Status addObject(llvm::Module &module);

  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_JIT_H
