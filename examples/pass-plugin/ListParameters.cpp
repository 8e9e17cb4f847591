//===- ListParameters.cpp - A pass outside of dsflash ---------------------===//
//
// Says of every parameter how many tensors of the checkpoint it stands for.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

namespace {
struct ListParameters : PassWrapper<ListParameters, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ListParameters)

  StringRef getArgument() const override { return "list-parameters"; }
  StringRef getDescription() const override {
    return "remark the tensors that each parameter stands for";
  }

  void runOnOperation() override {
    for (auto param : getOperation().getOps<dsflash::ParamOp>()) {
      dsflash::WeightType type = param.getWeightType();
      auto layers = param.getLayers();
      int64_t tensors = type.getExperts() * (layers ? layers->size() : 1);
      param.emitRemark() << tensors << " tensors of "
                         << type.getRows() * type.getColumns() << " elements";
    }
    markAllAnalysesPreserved();
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ListParameters", "1.0",
          [] { PassRegistration<ListParameters>(); }};
}
