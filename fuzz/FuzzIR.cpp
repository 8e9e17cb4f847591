//===- FuzzIR.cpp - IR text through the passes of dsflash -----------------===//

#include "Fuzz.h"

#include "dsflash/InitAll.h"
#include "dsflash/Support/Hash.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

/// Every pass of dsflash, some with options too, and the pipelines.
static constexpr StringLiteral kPasses[] = {
#include "FuzzPasses.inc"
    "dsflash-legalize-numerics{mode=ideal}",
    "dsflash-derive-tail{bounded=true}",
    "dsflash-export-function{function=f}",
    "dsflash-test-drop-rounding{points=attn.norm,state.window}",
    "convert-dsflash-to-llvm{device=nvptx:sm_80}",
    "dsflash-phases-pipeline",
    "dsflash-kernels-pipeline",
    "dsflash-llvm-pipeline"};

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  mlir::dsflash::registerAllDialects(registry);
  mlir::dsflash::registerAllPasses();
  return registry;
}

/// A checksum of the text chooses the pass that it goes through.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const DialectRegistry registry = makeRegistry();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  // The parser reads up to a terminating zero.
  std::string text(::dsflash::fuzz::text(data, size));
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return 0;
  auto passes = PassManager::on<ModuleOp>(&context);
  StringRef pass =
      kPasses[::dsflash::Hash().add(text).digest() % std::size(kPasses)];
  ::dsflash::fuzz::require(succeeded(parsePassPipeline(pass, passes)),
                           "every pass is registered");
  if (succeeded(passes.run(*module)))
    ::dsflash::fuzz::require(succeeded(verify(*module)),
                             "a pass leaves valid IR");
  return 0;
}
