//===- VerifyAddressing.cpp - Addresses in 64 bits ------------------------===//

#include "dsflash/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_VERIFYADDRESSINGPASS
#include "dsflash/Conversion/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

static constexpr unsigned kAddressBits = 64;

static bool isArithmetic(Operation *op) {
  return isa_and_nonnull<LLVM::AddOp, LLVM::SubOp, LLVM::MulOp, LLVM::ShlOp>(
      op);
}

/// The narrow sum, product or shift in `value`, an offset in 64 bits; values
/// that were looked at are in `seen`.
static Operation *findNarrow(Value value, DenseSet<Value> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(value).second)
    return nullptr;
  if (isa<LLVM::SExtOp, LLVM::ZExtOp>(op)) {
    Operation *narrow = op->getOperand(0).getDefiningOp();
    return isArithmetic(narrow) ? narrow : nullptr;
  }
  if (isArithmetic(op))
    for (Value operand : op->getOperands())
      if (Operation *narrow = findNarrow(operand, seen))
        return narrow;
  return nullptr;
}

static LogicalResult verify(LLVM::GEPOp address) {
  for (Value offset : address.getDynamicIndices()) {
    if (offset.getType().getIntOrFloatBitWidth() < kAddressBits)
      return address.emitError("an address in device code has an offset of ")
             << offset.getType();
    DenseSet<Value> seen;
    if (Operation *narrow = findNarrow(offset, seen))
      return address.emitError("an address in device code is computed in ")
             << narrow->getResult(0).getType();
  }
  return success();
}

namespace {

struct VerifyAddressing
    : dsflash::impl::VerifyAddressingPassBase<VerifyAddressing> {
  void runOnOperation() override {
    bool failures = false;
    for (auto code : getOperation().getOps<gpu::GPUModuleOp>())
      code.walk(
          [&](LLVM::GEPOp address) { failures |= failed(verify(address)); });
    if (failures)
      signalPassFailure();
  }
};

} // namespace
