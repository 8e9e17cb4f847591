//===- ThreadBlock.cpp - Threads that run a kernel together ---------------===//

#include "dsflash/Kernels/KernelBuilder.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

Value KernelBuilder::thread() {
  return toIndex(NVVM::ThreadIdXOp::create(*this, getI32Type()));
}

void KernelBuilder::barrier() { NVVM::Barrier0Op::create(*this); }

void KernelBuilder::syncThreads() {
  if (threads > 1)
    barrier();
}

void KernelBuilder::onFirstThread(function_ref<void()> body) {
  if (threads == 1)
    return body();
  when(cmp(arith::CmpIPredicate::eq, thread(), index(0)), body);
}

void KernelBuilder::foldThreads(Value parts, Value count, Combination combine) {
  Value number = thread();
  for (int64_t half = threads / 2; half > 0; half /= 2) {
    when(cmp(arith::CmpIPredicate::slt, number, index(half)), [&] {
      loop(index(0), count, [&](Value i) {
        Value other = load(parts, {i, add(number, half)});
        store(combine(load(parts, {i, number}), other), parts, {i, number});
      });
    });
    barrier();
  }
}

Value KernelBuilder::reduceThreads(Value value, Combination combine) {
  if (threads == 1)
    return value;
  Value parts = shared(/*offset=*/0, {1, threads}, value.getType());
  Value zero = index(0);
  store(value, parts, {zero, thread()});
  barrier();
  foldThreads(parts, index(1), combine);
  Value result = load(parts, {zero, zero});
  barrier();
  return result;
}

Value KernelBuilder::sumThreads(Value value) {
  bool isFloat = isa<FloatType>(value.getType());
  return reduceThreads(value, [&](Value a, Value b) {
    return isFloat ? addf(a, b) : add(a, b);
  });
}

Value KernelBuilder::maxThreads(Value value) {
  return reduceThreads(value, [&](Value a, Value b) { return maxf(a, b); });
}

static Value reduceWarp(KernelBuilder &b, Value value, NVVM::ReduxKind kind) {
  if (b.getThreads() == 1)
    return value;
  return NVVM::ReduxOp::create(b, value.getType(), value, kind,
                               /*mask_and_clamp=*/b.i32(-1));
}
Value KernelBuilder::maxOfLanes(Value value, int64_t count) {
  if (count == 1)
    return value;
  constexpr int32_t lanes = 32;
  assert(llvm::isPowerOf2_64(count) && count <= lanes && "lanes of a warp");
  // The bits of this thread and those that it shares with.
  Value number = arith::IndexCastOp::create(*this, getI32Type(), thread());
  Value first = arith::AndIOp::create(*this, number, i32(lanes - count));
  auto all = static_cast<int32_t>((int64_t(1) << count) - 1);
  Value mask = arith::ShLIOp::create(*this, i32(all), first);
  for (int32_t distance = 1; distance < count; distance *= 2) {
    Value other =
        NVVM::ShflOp::create(*this, value.getType(), mask, value, i32(distance),
                             i32(lanes - 1), NVVM::ShflKind::bfly,
                             /*return_value_and_is_valid=*/UnitAttr());
    value = maxf(value, other);
  }
  return value;
}

Value KernelBuilder::maxOfWarp(Value value) {
  return reduceWarp(*this, value, NVVM::ReduxKind::MAX);
}
Value KernelBuilder::minOfWarp(Value value) {
  return reduceWarp(*this, value, NVVM::ReduxKind::MIN);
}

KernelBuilder::ThreadCount KernelBuilder::countThreads(Value flag) {
  if (threads == 1)
    return {index(0), select(flag, index(1), index(0))};
  constexpr int64_t warpThreads = 32;
  Value warp = div(thread(), warpThreads), lane = rem(thread(), warpThreads);
  Value votes = NVVM::VoteSyncOp::create(*this, getI32Type(), /*mask=*/i32(-1),
                                         flag, NVVM::VoteSyncKind::ballot);
  Value counts = shared(/*offset=*/0, {threads / warpThreads}, getI32Type());
  when(cmp(arith::CmpIPredicate::eq, lane, index(0)),
       [&] { store(math::CtPopOp::create(*this, votes), counts, {warp}); });
  barrier();
  Value lanesBefore =
      add(arith::ShLIOp::create(*this, i32(1), toI32(lane)), -1);
  Value before =
      toIndex(math::CtPopOp::create(*this, bitAnd(votes, lanesBefore)));
  Value none = index(0), total = none;
  for (int64_t other = 0; other < threads / warpThreads; ++other) {
    Value isBefore = cmp(arith::CmpIPredicate::slt, index(other), warp);
    Value count = toIndex(load(counts, {index(other)}));
    before = add(before, select(isBefore, count, none));
    total = add(total, count);
  }
  barrier();
  return {before, total};
}

/// All shared memory of a block; a launch says how much that is.
static memref::GlobalOp getSharedMemory(KernelBuilder &b) {
  constexpr StringLiteral name = "dsflash_shared";
  constexpr int64_t addressSpace = 3, alignment = 128;
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<memref::GlobalOp>(name))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto type = MemRefType::get(0, b.getI8Type(), MemRefLayoutAttrInterface(),
                              b.getI64IntegerAttr(addressSpace));
  return memref::GlobalOp::create(
      b, b.getStringAttr(name), /*sym_visibility=*/StringAttr(),
      TypeAttr::get(type), /*initial_value=*/Attribute(),
      /*constant=*/UnitAttr(), b.getI64IntegerAttr(alignment));
}

Value KernelBuilder::shared(int64_t offset, ArrayRef<int64_t> shape,
                            Type element) {
  memref::GlobalOp memory = getSharedMemory(*this);
  MemRefType bytes = memory.getType();
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(),
                              bytes.getMemorySpace());
  Value base = memref::GetGlobalOp::create(*this, bytes, memory.getSymName());
  return memref::ViewOp::create(*this, type, base, index(offset), ValueRange());
}
