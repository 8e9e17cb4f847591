//===- SimtKernels.h - Kernels of tests as PTX ------------------*- C++ -*-===//

#ifndef DSFLASH_UNITTESTS_KERNELS_SIMTKERNELS_H
#define DSFLASH_UNITTESTS_KERNELS_SIMTKERNELS_H

#include "dsflash/Simt/Simt.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace dsflash_test {

/// The architecture whose PTX tests are to run, from DSFLASH_TEST_PTX
/// ("nvptx:sm_80"); empty: they run as code of the host.
llvm::StringRef getTestedDevice();

/// The arguments of a kernel: words of its parameters, and the memory that it
/// may use.
struct SimtArguments {
  void add(int64_t value) { words.push_back(value); }
  template <typename T> void add(T *data, int64_t elements) {
    add(reinterpret_cast<int64_t>(data));
    memory.push_back({data, size_t(elements) * sizeof(T)});
  }

  std::vector<int64_t> words;
  std::vector<std::pair<const void *, size_t>> memory;
};

/// Kernels of one thread on the simt device, with all checks.
class SimtKernels {
public:
  /// Makes PTX of a module in the LLVM dialect whose entries have the unit
  /// attribute `test.entry`.
  explicit SimtKernels(mlir::ModuleOp module);

  void launch(llvm::StringRef name, const SimtArguments &arguments);

private:
  dsflash::simt::Device device;
  std::optional<dsflash::simt::Module> kernels;
};

} // namespace dsflash_test

#endif // DSFLASH_UNITTESTS_KERNELS_SIMTKERNELS_H
