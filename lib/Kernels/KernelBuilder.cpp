//===- KernelBuilder.cpp - Integers, loops, memory and f32 ----------------===//

#include "dsflash/Kernels/KernelBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

int64_t KernelBuilder::getLanes(int64_t extent) const {
  return std::gcd(extent, maxLanes);
}

//===----------------------------------------------------------------------===//
// Constants and integers
//===----------------------------------------------------------------------===//

Value KernelBuilder::integer(Type type, int64_t value) {
  return arith::ConstantOp::create(
      *this, cast<TypedAttr>(IntegerAttr::get(type, value)));
}

Value KernelBuilder::index(int64_t value) {
  return integer(getIndexType(), value);
}
Value KernelBuilder::i32(int64_t value) { return integer(getI32Type(), value); }
Value KernelBuilder::i64(int64_t value) { return integer(getI64Type(), value); }
Value KernelBuilder::f32(float value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}
Value KernelBuilder::f32(float value, int64_t lanes) {
  auto type = VectorType::get(lanes, getF32Type());
  return arith::ConstantOp::create(*this, DenseElementsAttr::get(type, value));
}
Value KernelBuilder::i32(int64_t value, int64_t lanes) {
  auto type = VectorType::get(lanes, getI32Type());
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(type, static_cast<int32_t>(value)));
}

Value KernelBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(*this, a, b);
}
Value KernelBuilder::sub(Value a, Value b) {
  return arith::SubIOp::create(*this, a, b);
}
Value KernelBuilder::mul(Value a, Value b) {
  return arith::MulIOp::create(*this, a, b);
}
Value KernelBuilder::div(Value a, Value b) {
  return arith::DivUIOp::create(*this, a, b);
}
Value KernelBuilder::rem(Value a, Value b) {
  return arith::RemUIOp::create(*this, a, b);
}
Value KernelBuilder::min(Value a, Value b) {
  return arith::MinSIOp::create(*this, a, b);
}
Value KernelBuilder::max(Value a, Value b) {
  return arith::MaxSIOp::create(*this, a, b);
}
Value KernelBuilder::add(Value a, int64_t b) {
  return b ? add(a, integer(a.getType(), b)) : a;
}
Value KernelBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : mul(a, integer(a.getType(), b));
}
Value KernelBuilder::div(Value a, int64_t b) {
  return b == 1 ? a : div(a, integer(a.getType(), b));
}
Value KernelBuilder::rem(Value a, int64_t b) {
  return rem(a, integer(a.getType(), b));
}

Value KernelBuilder::cmp(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(*this, predicate, a, b);
}
Value KernelBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(*this, condition, a, b);
}
Value KernelBuilder::toIndex(Value integer) {
  return arith::IndexCastOp::create(*this, getIndexType(), integer);
}
Value KernelBuilder::toI32(Value index) {
  return arith::IndexCastOp::create(*this, getI32Type(), index);
}

Type KernelBuilder::withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

Value KernelBuilder::toF32(Value integer) {
  return arith::SIToFPOp::create(
      *this, withElement(integer.getType(), getF32Type()), integer);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void KernelBuilder::loop(Value begin, Value end, Value step, LoopBody body) {
  auto forOp = scf::ForOp::create(*this, begin, end, step);
  InsertionGuard guard(*this);
  setInsertionPointToStart(forOp.getBody());
  body(forOp.getInductionVar());
}

SmallVector<Value> KernelBuilder::loop(Value begin, Value end, int64_t step,
                                       ArrayRef<Value> initial,
                                       CarryBody body) {
  auto forOp =
      scf::ForOp::create(*this, begin, end, index(step), ValueRange(initial));
  InsertionGuard guard(*this);
  setInsertionPointToStart(forOp.getBody());
  SmallVector<Value> carried(forOp.getRegionIterArgs());
  SmallVector<Value> next = body(forOp.getInductionVar(), carried);
  if (!initial.empty())
    scf::YieldOp::create(*this, next);
  return SmallVector<Value>(forOp.getResults());
}

void KernelBuilder::shareLoop(int64_t end, int64_t step, LoopBody body) {
  shareLoop(index(end), step, body);
}

void KernelBuilder::shareLoop(Value end, int64_t step, LoopBody body) {
  shareLoop(end, step, {}, [&](Value i, ArrayRef<Value>) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> KernelBuilder::shareLoop(int64_t end, int64_t step,
                                            ArrayRef<Value> initial,
                                            CarryBody body) {
  return shareLoop(index(end), step, initial, body);
}

SmallVector<Value> KernelBuilder::shareLoop(Value end, int64_t step,
                                            ArrayRef<Value> initial,
                                            CarryBody body) {
  Value first = threads == 1 ? index(0) : mul(thread(), step);
  return loop(first, end, threads * step, initial, body);
}

void KernelBuilder::when(Value condition, function_ref<void()> body) {
  auto ifOp = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(ifOp.thenBlock());
  body();
}

void KernelBuilder::when(Value condition, function_ref<void()> body,
                         function_ref<void()> otherwise) {
  auto ifOp = scf::IfOp::create(*this, condition, /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(ifOp.thenBlock());
  body();
  setInsertionPointToStart(ifOp.elseBlock());
  otherwise();
}

SmallVector<Value> KernelBuilder::choose(Value condition, ValuesBody body,
                                         ValuesBody otherwise) {
  auto yielding = [&](ValuesBody values) {
    return [this, values](OpBuilder &, Location) {
      scf::YieldOp::create(*this, values());
    };
  };
  auto ifOp =
      scf::IfOp::create(*this, condition, yielding(body), yielding(otherwise));
  return SmallVector<Value>(ifOp.getResults());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelBuilder::load(Value buffer, ArrayRef<Value> indices) {
  return memref::LoadOp::create(*this, buffer, ValueRange(indices));
}
void KernelBuilder::store(Value value, Value buffer, ArrayRef<Value> indices) {
  memref::StoreOp::create(*this, value, buffer, ValueRange(indices));
}
Value KernelBuilder::loadVector(Value buffer, ArrayRef<Value> indices,
                                int64_t lanes, llvm::MaybeAlign alignment) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  return vector::LoadOp::create(*this, VectorType::get(lanes, element), buffer,
                                ValueRange(indices), /*nontemporal=*/false,
                                alignment);
}
Value KernelBuilder::loadFirst(Value buffer, ArrayRef<Value> indices,
                               int64_t lanes, Value count) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  auto type = VectorType::get(lanes, element);
  Value mask = vector::CreateMaskOp::create(
      *this, VectorType::get(lanes, getI1Type()), count);
  Value zeros = arith::ConstantOp::create(*this, getZeroAttr(type));
  return vector::MaskedLoadOp::create(*this, type, buffer, ValueRange(indices),
                                      mask, zeros);
}
void KernelBuilder::storeVector(Value vector, Value buffer,
                                ArrayRef<Value> indices,
                                llvm::MaybeAlign alignment) {
  vector::StoreOp::create(*this, vector, buffer, ValueRange(indices),
                          /*nontemporal=*/false, alignment);
}

void KernelBuilder::prefetch(Value buffer, ArrayRef<Value> indices) {
  constexpr unsigned secondLevel = 2;
  memref::PrefetchOp::create(*this, buffer, ValueRange(indices),
                             /*isWrite=*/false, secondLevel,
                             /*isDataCache=*/true);
}

Value KernelBuilder::scratch(ArrayRef<int64_t> shape, Type element) {
  constexpr int64_t alignment = 64;
  InsertionGuard guard(*this);
  Operation *parent = getInsertionBlock()->getParentOp();
  auto function = dyn_cast<func::FuncOp>(parent);
  if (!function)
    function = parent->getParentOfType<func::FuncOp>();
  setInsertionPointToStart(&function.getBody().front());
  return memref::AllocaOp::create(*this, MemRefType::get(shape, element),
                                  getI64IntegerAttr(alignment));
}

//===----------------------------------------------------------------------===//
// F32, scalar or vector
//===----------------------------------------------------------------------===//

Value KernelBuilder::f64(double value) {
  return arith::ConstantOp::create(*this, getF64FloatAttr(value));
}
Value KernelBuilder::toF64(Value f32) {
  return arith::ExtFOp::create(*this, withElement(f32.getType(), getF64Type()),
                               f32);
}
Value KernelBuilder::fromF64(Value f64) {
  return arith::TruncFOp::create(*this,
                                 withElement(f64.getType(), getF32Type()), f64);
}
Value KernelBuilder::constantLike(Type type, float value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return f32(value, vector.getNumElements());
  return f32(value);
}

Value KernelBuilder::addf(Value a, Value b) {
  return arith::AddFOp::create(*this, a, b);
}
Value KernelBuilder::subf(Value a, Value b) {
  return arith::SubFOp::create(*this, a, b);
}
Value KernelBuilder::mulf(Value a, Value b) {
  return arith::MulFOp::create(*this, a, b);
}
Value KernelBuilder::divf(Value a, Value b) {
  return arith::DivFOp::create(*this, a, b);
}
Value KernelBuilder::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(*this, a, b, c);
}

void KernelBuilder::addProducts(Value a, ArrayRef<Value> others,
                                MutableArrayRef<Value> sums) {
  int64_t lanes = cast<VectorType>(a.getType()).getNumElements();
  for (int64_t i = 0; i < lanes; ++i)
    for (auto [other, sum] : llvm::zip_equal(others, sums))
      sum = fma(vector::ExtractOp::create(*this, a, i),
                vector::ExtractOp::create(*this, other, i), sum);
}
Value KernelBuilder::dotBF16(Value a, Value b, Value sum) {
  return DotBF16Op::create(*this, sum.getType(), a, b, sum);
}
Value KernelBuilder::minf(Value a, Value b) {
  return select(cmpf(arith::CmpFPredicate::OLT, a, b), a, b);
}
Value KernelBuilder::maxf(Value a, Value b) {
  return select(cmpf(arith::CmpFPredicate::OGT, a, b), a, b);
}
Value KernelBuilder::absf(Value a) { return math::AbsFOp::create(*this, a); }
Value KernelBuilder::sqrt(Value a) { return math::SqrtOp::create(*this, a); }
Value KernelBuilder::exp(Value a) { return math::ExpOp::create(*this, a); }
Value KernelBuilder::log1p(Value a) { return math::Log1pOp::create(*this, a); }
Value KernelBuilder::sigmoid(Value a) {
  Value one = constantLike(a.getType(), 1.0f);
  Value negated = arith::NegFOp::create(*this, a);
  return divf(one, addf(one, exp(negated)));
}
Value KernelBuilder::cmpf(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(*this, predicate, a, b);
}
Value KernelBuilder::splat(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(
      *this, VectorType::get(lanes, scalar.getType()), scalar);
}

Value KernelBuilder::slice(Value vector, int64_t first, int64_t lanes) {
  if (cast<VectorType>(vector.getType()).getNumElements() == lanes)
    return vector;
  return vector::ExtractStridedSliceOp::create(
      *this, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{lanes},
      ArrayRef<int64_t>{1});
}

Value KernelBuilder::reduce(Value vector,
                            function_ref<Value(Value, Value)> combine) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> low(half), high(half);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), half);
    vector = combine(vector::ShuffleOp::create(*this, vector, vector, low),
                     vector::ShuffleOp::create(*this, vector, vector, high));
  }
  return vector::ExtractOp::create(*this, vector, int64_t(0));
}
Value KernelBuilder::reduceAdd(Value vector) {
  return reduce(vector, [&](Value a, Value b) { return addf(a, b); });
}
Value KernelBuilder::reduceMax(Value vector) {
  return reduce(vector, [&](Value a, Value b) { return maxf(a, b); });
}
Value KernelBuilder::reduceAddEach(ArrayRef<Value> vectors) {
  SmallVector<Value> parts(vectors);
  int64_t lanes = cast<VectorType>(parts[0].getType()).getNumElements();
  int64_t groups = 1, width = lanes; // of each part
  while (parts.size() > 1 || width > 1) {
    int64_t joined = parts.size() > 1 ? 2 : 1;
    int64_t half = std::max(width / 2, int64_t(1));
    SmallVector<int64_t> low;
    for (int64_t group = 0; group < joined * groups; ++group)
      for (int64_t lane = 0; lane < half; ++lane)
        low.push_back(group * width + lane);
    SmallVector<int64_t> high(
        llvm::map_range(low, [&](int64_t lane) { return lane + half; }));
    SmallVector<Value> sums;
    for (size_t i = 0; i < parts.size(); i += joined) {
      auto pick = [&](ArrayRef<int64_t> mask) {
        return vector::ShuffleOp::create(*this, parts[i], parts[i + joined - 1],
                                         mask);
      };
      sums.push_back(width > 1 ? addf(pick(low), pick(high))
                               : Value(pick(low)));
    }
    parts = sums;
    groups *= joined;
    width = half;
  }
  return parts[0];
}
Value KernelBuilder::reduceMinI(Value vector) {
  return reduce(vector, [&](Value a, Value b) { return min(a, b); });
}

Value KernelBuilder::bitcast(Value value, Type element) {
  Type type = withElement(value.getType(), element);
  if (isa<VectorType>(type))
    return vector::BitCastOp::create(*this, type, value);
  return arith::BitcastOp::create(*this, type, value);
}
Value KernelBuilder::bitsOf(Value f32) { return bitcast(f32, getI32Type()); }
Value KernelBuilder::fromBits(Value i32) { return bitcast(i32, getF32Type()); }
