//===- StripProbes.cpp - Observation points cost nothing ------------------===//

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/Passes.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_STRIPPROBESPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

namespace {
struct StripProbes : dsflash::impl::StripProbesPassBase<StripProbes> {
  void runOnOperation() override {
    getOperation().walk([](ProbeOp probe) {
      if (probe.getResult())
        probe.getResult().replaceAllUsesWith(probe.getInput());
      probe.erase();
    });
    getOperation().walk([](LoadOp load) {
      if (load->use_empty())
        load.erase();
    });
  }
};
} // namespace
