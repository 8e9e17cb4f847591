//===- AlignVectors.cpp - How vectors of device code are aligned ----------===//

#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

namespace mlir::dsflash {
#define GEN_PASS_DEF_ALIGNVECTORSPASS
#include "dsflash/Conversion/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

/// The widest access of a thread, and what every buffer of a device is aligned
/// to at least (docs/ModuleABI.md).
static constexpr int64_t kWidest = 16;

static int64_t getDivisor(OpFoldResult value);

static int64_t getCommonDivisor(ValueRange values) {
  int64_t divisor = 0;
  for (Value value : values)
    divisor = std::gcd(divisor, getDivisor(value));
  return divisor;
}

static int64_t getDivisorOfValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar()
               ? std::gcd(getDivisor(loop.getLowerBound()),
                          getDivisor(loop.getStep()))
               : 1;
  }
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return getCommonDivisor(op->getOperands());
  if (isa<arith::SelectOp>(op))
    return getCommonDivisor(op->getOperands().drop_front());
  if (isa<arith::IndexCastOp>(op))
    return getDivisor(op->getOperand(0));
  if (isa<arith::MulIOp>(op))
    return std::gcd(
        getDivisor(op->getOperand(0)) * getDivisor(op->getOperand(1)), kWidest);
  return 1;
}

/// A number up to kWidest that divides an integer.
static int64_t getDivisor(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return std::gcd(*constant, kWidest);
  return getDivisorOfValue(cast<Value>(value));
}

/// Of the bytes that indices are away from the start of a buffer.
static int64_t getOffsetDivisor(MemRefType type,
                                ArrayRef<OpFoldResult> indices) {
  int64_t divisor = 0;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
    int64_t known = ShapedType::isDynamic(stride) ? 1 : stride;
    divisor = std::gcd(divisor, getDivisor(index) * known * bytes);
  }
  return divisor;
}

/// A number that divides the address at which a buffer's first element lies.
static int64_t getBaseDivisor(Value buffer) {
  Operation *op = buffer.getDefiningOp();
  if (!op) {
    auto kernel = dyn_cast<func::FuncOp>(
        cast<BlockArgument>(buffer).getOwner()->getParentOp());
    return kernel ? kWidest : 1;
  }
  if (isa<WeightDataOp, StateDataOp>(op))
    return kWidest;
  if (auto scratch = dyn_cast<memref::AllocaOp>(op))
    return std::gcd<int64_t>(scratch.getAlignment().value_or(1), kWidest);
  if (isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp>(op))
    return getBaseDivisor(op->getOperand(0));
  if (auto part = dyn_cast<memref::SubViewOp>(op))
    return std::gcd(
        getBaseDivisor(part.getSource()),
        getOffsetDivisor(part.getSourceType(), part.getMixedOffsets()));
  return 1;
}

template <typename AccessOp>
static void align(AccessOp access, VectorType vector) {
  if (access.getAlignment())
    return;
  int64_t bytes = vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  int64_t divisor =
      std::gcd(getBaseDivisor(access.getBase()),
               getOffsetDivisor(access.getMemRefType(),
                                getAsOpFoldResult(access.getIndices())));
  // Up to the largest power of two that all of these allow.
  divisor = std::gcd(std::gcd(divisor, bytes), kWidest);
  if (divisor * 8 > vector.getElementTypeBitWidth())
    access.setAlignment(divisor);
}

namespace {

struct AlignVectors : dsflash::impl::AlignVectorsPassBase<AlignVectors> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName))
        kernel.walk([](Operation *op) {
          if (auto load = dyn_cast<vector::LoadOp>(op))
            align(load, load.getVectorType());
          if (auto store = dyn_cast<vector::StoreOp>(op))
            align(store, store.getVectorType());
        });
  }
};

} // namespace
