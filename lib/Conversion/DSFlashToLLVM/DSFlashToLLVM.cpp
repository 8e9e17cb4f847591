//===- DSFlashToLLVM.cpp - From the kernel level to LLVM ------------------===//

#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "DeviceEntry.h"
#include "LaunchTasks.h"
#include "Launches.h"
#include "ModuleTables.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_CONVERTDSFLASHTOLLVMPASS
#include "dsflash/Conversion/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

static constexpr int64_t kScratchAlignment = 64;

static LogicalResult checkCallArguments(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        (function.getNumArguments() == 0 ||
         !isa<LLVM::LLVMPointerType>(function.getArgument(0).getType())))
      return function.emitError("no call context as first argument (run "
                                "dsflash-thread-call before)");
  return success();
}

/// Scratch of fixed size moves to its function's entry block, so that a loop
/// uses the same bytes again.
static void hoistScratch(ModuleOp module) {
  module.walk([&](memref::AllocaOp alloca) {
    if (!alloca.getOperands().empty())
      return;
    auto function = alloca->getParentOfType<func::FuncOp>();
    if (!function)
      return;
    alloca->moveBefore(&function.front(), function.front().begin());
    if (!alloca.getAlignment())
      alloca.setAlignment(kScratchAlignment);
  });
}

/// Launches of the host's entries get kernels of their own, which stay there
/// when those of the device move to it.
static void copyHostKernels(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::StringMap<func::FuncOp> copies;
  module.walk([&](DispatchOp dispatch) {
    auto function = dispatch->getParentOfType<func::FuncOp>();
    auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    if (!kernel || !function->hasAttr(hostAttrName))
      return;
    func::FuncOp &copy = copies[kernel.getName()];
    if (!copy) {
      copy = kernel.clone();
      copy.setName((kernel.getName() + "_host").str());
      symbols.insert(copy, std::next(kernel->getIterator()));
    }
    dispatch.setKernel(copy.getName());
  });
}

/// Layer functions, which are called many times. They stay functions, whereas a
/// kernel is inlined in its task.
static StringSet<> getLayerFunctions(ModuleOp module) {
  StringSet<> names;
  module.walk([&](DispatchOp dispatch) {
    auto function = dispatch->getParentOfType<func::FuncOp>();
    if (function && function.isPrivate())
      names.insert(function.getName());
  });
  return names;
}

/// Attributes of our dialect have served.
static void dropAttributes(Operation *op) {
  for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
    if (isa_and_nonnull<DSFlashDialect>(attribute.getNameDialect()))
      op->removeDiscardableAttr(attribute.getName());
}

static void populatePatterns(LLVMTypeConverter &converter,
                             const ModuleLayout &layout,
                             RewritePatternSet &patterns) {
  populateDSFlashToLLVMPatterns(converter, layout, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns,
                                       /*approximateLog1p=*/false);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  if (!layout.device.empty())
    populateNVGPUToNVVMConversionPatterns(converter, patterns);
}

namespace {

struct ConvertDSFlashToLLVM
    : dsflash::impl::ConvertDSFlashToLLVMPassBase<ConvertDSFlashToLLVM> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkCallArguments(module)))
      return signalPassFailure();
    if (!device.empty())
      copyHostKernels(module);
    FailureOr<ModuleLayout> layout = ModuleLayout::get(module, device);
    if (failed(layout))
      return signalPassFailure();
    if (!device.empty() && !layout->checks.empty()) {
      layout->checks.front().second.emitError(
          "a kernel of a device cannot report");
      return signalPassFailure();
    }
    if (!device.empty() && failed(checkHostCode(module, *layout)))
      return signalPassFailure();
    hoistScratch(module);
    StringSet<> layerFunctions = getLayerFunctions(module);

    LLVMTypeConverter converter(&getContext());
    addDSFlashTypeConversions(converter);
    addEntryWrappers(*layout);
    addReportFunction(module, *layout);
    addModuleTables(module, *layout, {compiler, triple, features, device});
    if (failed(addTasks(module, *layout, converter)))
      return signalPassFailure();
    for (auto param : llvm::make_early_inc_range(module.getOps<ParamOp>()))
      param.erase();
    for (auto function : module.getOps<func::FuncOp>())
      function.removeArgAttrsAttr();

    RewritePatternSet patterns(&getContext());
    populatePatterns(converter, *layout, patterns);
    LLVMConversionTarget target(getContext());
    target.addLegalDialect<NVVM::NVVMDialect>();
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    if (!device.empty())
      addKernelTable(module, *layout, shareEntries(module, *layout));
    finish(module, layerFunctions);
  }

  /// Hides every symbol but the query.
  static void finish(ModuleOp module, const StringSet<> &layerFunctions) {
    dropAttributes(module);
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      dropAttributes(function);
      if (layerFunctions.contains(function.getName()))
        function.setNoInline(true);
      bool isKernel =
          function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
      if (!function.isExternal() && !isKernel &&
          function.getName() != DSF_MODULE_QUERY_SYMBOL)
        function.setLinkage(LLVM::Linkage::Internal);
    }
  }
};

} // namespace

void mlir::dsflash::addDSFlashToLLVMPasses(
    OpPassManager &passes, const ConvertDSFlashToLLVMPassOptions &options) {
  LowerMathPassOptions math;
  SmallVector<StringRef> features;
  StringRef(options.features).split(features, ',');
  bool onDevice = !options.device.empty();
  auto has = [&](StringRef feature) {
    return !onDevice && llvm::is_contained(features, feature);
  };
  math.fuseMultiplyAdd = onDevice || has("fma");
  math.useLibm = !onDevice;
  math.lookUpLanes = has("avx512f") ? 16 : has("avx2") ? 8 : 0;
  math.lookUpWords = has("avx512bw");
  math.lookUpBytes = has("avx512vbmi");
  math.dotBF16 = has("avx512bf16");
  if (onDevice)
    passes.addPass(createAlignVectorsPass());
  passes.addPass(createThreadCallPass());
  passes.addPass(createLowerMathPass(math));
  passes.addPass(createLowerVectorPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createConvertDSFlashToLLVMPass(options));
  if (onDevice) {
    passes.addPass(createOutlineDevicePass());
    passes.addPass(createVerifyAddressingPass());
  }
  passes.addPass(createVerifyLLVMPass());
}
