//===- NVPTXTarget.h - The GPU that kernels are made for --------*- C++ -*-===//

#ifndef DSFLASH_TARGET_NVPTXTARGET_H
#define DSFLASH_TARGET_NVPTXTARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir::dsflash {

/// An architecture of NVIDIA GPUs and the PTX version that its code is in.
class NVPTXTarget {
public:
  /// Whether a spec is meant for this kind of target.
  static bool isSpec(llvm::StringRef spec);

  /// Reads `nvptx:CHIP`. CHIP is sm_80, sm_90a, sm_100a or sm_120a; others are
  /// errors that list these.
  static llvm::Expected<NVPTXTarget> parse(llvm::StringRef spec);

  /// Reads a list, separated by commas. An architecture twice is an error.
  static llvm::Expected<std::vector<NVPTXTarget>>
  parseList(llvm::StringRef specs);

  /// "nvptx64-nvidia-cuda".
  static llvm::StringRef getTriple();
  llvm::StringRef getChip() const { return chip; }
  /// "+ptx80", as LLVM's target-features attribute has it.
  std::string getFeatureFlags() const;

private:
  llvm::StringRef chip;
  unsigned ptxVersion = 0; // 80 is 8.0
};

} // namespace mlir::dsflash

#endif // DSFLASH_TARGET_NVPTXTARGET_H
