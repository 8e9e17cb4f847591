//===- Jit.cpp - Kernels as functions that tests can call -----------------===//

#include "Jit.h"
#include "dsflash/Conversion/Passes.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dsflash_test;
namespace dsf = mlir::dsflash;

Jit::Jit()
    : builder(&context), module(ModuleOp::create(builder.getUnknownLoc())) {
  DialectRegistry registry;
  registry.insert<dsf::DSFlashDialect, arith::ArithDialect, func::FuncDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect, vector::VectorDialect>();
  registerAllToLLVMIRTranslations(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
}

/// Marks what tests call.
static StringRef entryAttr() {
  return getTestedDevice().empty() ? "llvm.emit_c_interface" : "test.entry";
}

Type Jit::buffer(Type element, int64_t rank) {
  return MemRefType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic),
                         element);
}

dsf::FormatAttr Jit::format(StringRef text) {
  return cast<dsf::FormatAttr>(
      parseAttribute(("#dsflash.format<" + text + ">").str(), &context));
}

void Jit::add(StringRef name, ArrayRef<Type> arguments, Body body) {
  Location loc = builder.getUnknownLoc();
  auto function =
      func::FuncOp::create(loc, name, builder.getFunctionType(arguments, {}));
  function->setAttr(entryAttr(), builder.getUnitAttr());
  module->push_back(function);
  Block *entry = function.addEntryBlock();
  dsf::KernelBuilder kernel(loc, &context);
  kernel.setInsertionPointToStart(entry);
  body(kernel, entry->getArguments());
  func::ReturnOp::create(kernel);
}

/// Replaces the weights of a kernel by their bytes, as last arguments.
static void passWeightsAsBytes(func::FuncOp kernel) {
  Block &entry = kernel.getBody().front();
  Type bytes = MemRefType::get({ShapedType::kDynamic},
                               IntegerType::get(kernel.getContext(), 8));
  for (unsigned i = 0; i < kernel.getNumArguments();) {
    BlockArgument weight = kernel.getArgument(i);
    auto type = dyn_cast<dsf::WeightType>(weight.getType());
    if (!type) {
      ++i;
      continue;
    }
    SmallVector<Value> planes;
    for (int64_t plane = 0; plane < type.getPlanes(); ++plane)
      planes.push_back(entry.addArgument(bytes, kernel.getLoc()));
    for (Operation *user : llvm::make_early_inc_range(weight.getUsers())) {
      auto data = cast<dsf::WeightDataOp>(user);
      ImplicitLocOpBuilder b(data.getLoc(), data);
      auto view = cast<MemRefType>(data.getType());
      Value offset = arith::ConstantIndexOp::create(b, 0);
      if (data.getExpert()) {
        int64_t size =
            view.getNumElements() * view.getElementTypeBitWidth() / 8;
        offset = arith::MulIOp::create(b, data.getExpert(),
                                       arith::ConstantIndexOp::create(b, size));
      }
      Value plane = planes[data.getPlane() == dsf::Plane::Scale];
      data.replaceAllUsesWith(
          memref::ViewOp::create(b, view, plane, offset, ValueRange())
              .getResult());
      data.erase();
    }
    entry.eraseArgument(i);
    kernel.setType(
        FunctionType::get(kernel.getContext(), entry.getArgumentTypes(), {}));
  }
}

void Jit::addKernel(StringRef name, StringRef model) {
  auto source = parseSourceString<ModuleOp>(model, &context);
  PassManager passes(&context);
  passes.addPass(dsf::createConvertDSFlashToKernelsPass());
  if (!source || failed(passes.run(*source)))
    llvm::report_fatal_error("the model does not become kernels");
  StringRef launched;
  source->walk([&](dsf::DispatchOp launch) { launched = launch.getKernel(); });
  for (auto function : source->getOps<func::FuncOp>()) {
    if (!function->hasAttr(dsf::kernelAttrName))
      continue;
    if (function.getName() != launched) {
      // What kernels share may be there already.
      if (!module->lookupSymbol(function.getName()))
        module->push_back(function.clone());
      continue;
    }
    func::FuncOp kernel = function.clone();
    kernel.setName(name);
    kernel.setPublic();
    kernel->setAttr(entryAttr(), builder.getUnitAttr());
    module->push_back(kernel);
    passWeightsAsBytes(kernel);
  }
}

bool Jit::hasInstructions() {
  auto host = llvm::sys::getHostCPUFeatures();
  return getTestedDevice().empty() && host.lookup("avx512vbmi") &&
         host.lookup("avx512bf16");
}

void Jit::compile(Code code) {
  bool onDevice = !getTestedDevice().empty();
  dsf::LowerMathPassOptions math;
  math.useLibm = !onDevice;
  if (code == Code::Instructions) {
    math.lookUpLanes = 16;
    math.lookUpWords = math.lookUpBytes = math.dotBF16 = true;
  }
  PassManager passes(&context);
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(dsf::createLowerMathPass(math));
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*module)))
    llvm::report_fatal_error("kernels do not become LLVM");
  if (onDevice) {
    simt = std::make_unique<SimtKernels>(*module);
    return;
  }
  auto host = cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  auto machine = cantFail(host.createTargetMachine());
  auto optimize = makeOptimizingTransformer(3, 0, machine.get());
  ExecutionEngineOptions options;
  options.transformer = optimize;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Aggressive;
  engine = cantFail(ExecutionEngine::create(*module, options));
}

void Jit::invoke(StringRef name, std::vector<void *> &arguments) {
  llvm::Error error =
      engine->invokePacked(("_mlir_ciface_" + name).str(), arguments);
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
}
