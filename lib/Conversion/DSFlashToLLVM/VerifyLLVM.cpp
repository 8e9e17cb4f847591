//===- VerifyLLVM.cpp - The last check before translation -----------------===//

#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_VERIFYLLVMPASS
#include "dsflash/Conversion/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

ArrayRef<StringRef> mlir::dsflash::getAllowedExternalFunctions() {
  static const StringRef names[] = {"cosf", "memcpy", "memmove", "memset",
                                    "sinf"};
  return names;
}

/// Operations that code generation turns into calls of a library.
static bool becomesCall(Operation *op) {
  return isa<LLVM::FRemOp, LLVM::ExpOp, LLVM::Exp2Op, LLVM::Exp10Op,
             LLVM::LogOp, LLVM::Log2Op, LLVM::Log10Op, LLVM::PowOp,
             LLVM::PowIOp, LLVM::SinOp, LLVM::CosOp, LLVM::TanOp, LLVM::ASinOp,
             LLVM::ACosOp, LLVM::ATanOp, LLVM::ATan2Op, LLVM::SinhOp,
             LLVM::CoshOp, LLVM::TanhOp, LLVM::SincosOp>(op);
}

static LogicalResult verify(Operation *op) {
  bool isWhole = isa<ModuleOp>(op) && !op->getParentOp();
  if (isWhole || isa<gpu::GPUModuleOp>(op))
    return success();
  bool onDevice = op->getParentOfType<gpu::GPUModuleOp>() != nullptr;
  if (!isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()) &&
      !(onDevice && isa_and_nonnull<NVVM::NVVMDialect>(op->getDialect())))
    return emitError(op->getLoc())
           << "no lowering to LLVM for '" << op->getName() << "'";
  if (becomesCall(op))
    return emitError(op->getLoc())
           << "'" << op->getName() << "' would become a library call";
  auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
  if (function && function.isExternal() &&
      (onDevice ||
       !llvm::is_contained(getAllowedExternalFunctions(), function.getName())))
    return emitError(op->getLoc()) << "generated code may not call external '"
                                   << function.getName() << "'";
  return success();
}

namespace {

/// Casts that a conversion left are a consequence of another operation that
/// stayed, and are reported only when there is none.
struct VerifyLLVM : dsflash::impl::VerifyLLVMPassBase<VerifyLLVM> {
  void runOnOperation() override {
    bool failures = false;
    SmallVector<Operation *> casts;
    getOperation().walk([&](Operation *op) {
      if (isa<UnrealizedConversionCastOp>(op))
        casts.push_back(op);
      else
        failures |= failed(verify(op));
    });
    if (!failures)
      for (Operation *cast : casts)
        failures |= failed(verify(cast));
    if (failures)
      signalPassFailure();
  }
};

} // namespace
