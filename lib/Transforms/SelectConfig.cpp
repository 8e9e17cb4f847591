//===- SelectConfig.cpp - How kernels are made for a device ---------------===//

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"
#include <limits>

namespace mlir::dsflash {
#define GEN_PASS_DEF_SELECTCONFIGPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

namespace {

struct Architecture {
  StringLiteral device;
  int64_t sharedBytes; // of a block (CUDA programming guide, table 30)
};

constexpr int64_t kKilobyte = 1024;
constexpr Architecture kArchitectures[] = {{"nvptx:sm_80", 163 * kKilobyte},
                                           {"nvptx:sm_90a", 227 * kKilobyte},
                                           {"nvptx:sm_100a", 227 * kKilobyte},
                                           {"nvptx:sm_120a", 99 * kKilobyte}};

/// Elements of the widest access of a thread.
constexpr int64_t kLanes = 4;
/// A warp: items are few and long, so they are spread over many blocks.
constexpr int64_t kThreads = 32;
/// Rows, outputs and columns of a product: with three stages a block fits the
/// shared memory of the smallest of these architectures.
constexpr int64_t kTile[] = {64, 64, 64}, kStages = 3;

const Architecture *find(StringRef device) {
  const Architecture *found =
      llvm::find_if(kArchitectures, [&](const Architecture &architecture) {
        return architecture.device == device;
      });
  return found == std::end(kArchitectures) ? nullptr : found;
}

struct SelectConfig : dsflash::impl::SelectConfigPassBase<SelectConfig> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<StringRef> devices;
    StringRef(device).split(devices, ',');
    int64_t sharedBytes = std::numeric_limits<int64_t>::max();
    for (StringRef name : devices) {
      const Architecture *architecture = find(name);
      if (!architecture) {
        module.emitError() << "no configuration for the device '" << name
                           << "'";
        return signalPassFailure();
      }
      sharedBytes = std::min(sharedBytes, architecture->sharedBytes);
    }
    module->setAttr(
        configAttrName,
        ConfigAttr::get(&getContext(), devices.front(), kLanes, kThreads,
                        sharedBytes, tensorCores ? kStages : 0,
                        tensorCores ? ArrayRef(kTile) : ArrayRef<int64_t>()));
  }
};

} // namespace
