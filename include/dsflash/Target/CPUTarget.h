//===- CPUTarget.h - The processor that code is made for --------*- C++ -*-===//

#ifndef DSFLASH_TARGET_CPUTARGET_H
#define DSFLASH_TARGET_CPUTARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir::dsflash {

/// An x86-64 processor. Code may use the listed features and no other, so that
/// the list is all that a runtime has to check.
class CPUTarget {
public:
  /// Reads `cpu[:LEVEL][,FEATURE...]`. LEVEL is x86-64-v2, x86-64-v3,
  /// x86-64-v4 or generic; without it the target is this machine. A FEATURE
  /// (LLVM's name, perhaps with '+') is added with all that it implies, one
  /// with '-' is left out. Unknown names are errors that list the known ones.
  static llvm::Expected<CPUTarget> parse(llvm::StringRef spec);

  /// Names that a spec may use as features.
  static llvm::ArrayRef<llvm::StringRef> getKnownFeatures();

  llvm::StringRef getTriple() const;
  /// The processor whose costs decide between equal instruction sequences.
  llvm::StringRef getTuneCPU() const { return tuneCPU; }
  /// LLVM's names in a fixed order.
  const std::vector<std::string> &getFeatures() const { return features; }
  bool hasFeature(llvm::StringRef name) const;
  /// "avx,avx2,...", as dsf_module.cpu_features has it.
  std::string getFeatureList() const;
  /// "+avx,+avx2,...", as LLVM's target-features attribute has it.
  std::string getFeatureFlags() const;

private:
  std::string tuneCPU;
  std::vector<std::string> features;
};

} // namespace mlir::dsflash

#endif // DSFLASH_TARGET_CPUTARGET_H
