//===- AttentionTile.cpp - Heads times keys or features -------------------===//

#include "AttentionTile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

/// Columns of a fragment that two loads of eight matrices give.
static constexpr int64_t kFragmentColumns = 2 * kN;

AttentionTile::AttentionTile(KernelBuilder &b, const Shape &shape)
    : b(b), shape(shape), warp(b.div(b.thread(), kWarp)),
      lane(b.rem(b.thread(), kWarp)) {
  Type element = shape.onTensorCores ? Type(b.getBF16Type()) : b.getF32Type();
  left = b.shared(0, {shape.leftStages, heads, shape.getPitch(shape.depth)},
                  element);
  right = shape.isTransposed
              ? b.shared(shape.getLeftBytes(),
                         {shape.depth, shape.getPitch(shape.columns)}, element)
              : b.shared(shape.getLeftBytes(),
                         {shape.columns, shape.getPitch(shape.depth)}, element);
}

void AttentionTile::store(Value values, Value operand, ArrayRef<Value> at) {
  if (shape.onTensorCores)
    values = toBF16(b, values);
  int64_t lanes = cast<VectorType>(values.getType()).getNumElements();
  // 16 bytes at most.
  int64_t unit = std::min(lanes, 16 / shape.getElementBytes());
  SmallVector<Value> to(at);
  for (int64_t i = 0; i < lanes; i += unit) {
    to.back() = b.add(at.back(), i);
    b.storeVector(b.slice(values, i, unit), operand, to,
                  llvm::Align(unit * shape.getElementBytes()));
  }
}

void AttentionTile::storeLeft(Value values, Value head, Value term) {
  store(values, left, {b.index(0), head, term});
}

void AttentionTile::storeRight(Value values, Value row, Value at) {
  store(values, right, {row, at});
}

SmallVector<Value> AttentionTile::getZeros() const {
  return SmallVector<Value>(shape.columns / kN * kSumsOfFragment, b.f32(0.0f));
}

SmallVector<Value> AttentionTile::multiply(Value headCount, Value leftStage,
                                           ArrayRef<Value> sums) {
  Value isUsed = b.cmp(Cmp::slt, b.mul(warp, kM), headCount);
  auto ifOp = scf::IfOp::create(
      b, isUsed,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, shape.onTensorCores
                                    ? multiplyOnTensorCores(leftStage, sums)
                                    : multiplyByFMA(leftStage, sums));
      },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, sums); });
  return SmallVector<Value>(ifOp.getResults());
}

SmallVector<Value> AttentionTile::multiplyOnTensorCores(Value stage,
                                                        ArrayRef<Value> sums) {
  Value octet = b.rem(lane, 8), half = b.rem(b.div(lane, 8), 2);
  Value quarter = b.div(lane, 16);
  SmallVector<Value> next(sums);
  for (int64_t k = 0; k < shape.depth; k += kK) {
    Value head = b.add(b.mul(warp, kM), b.rem(lane, 16));
    SmallVector<Value> rows =
        loadFragment(b, left, {stage, head, b.add(b.mul(quarter, 8), k)});
    for (int64_t first = 0; first < shape.columns; first += kFragmentColumns) {
      Value term = b.mul(half, 8), column = b.add(b.mul(quarter, kN), first);
      SmallVector<Value> at =
          shape.isTransposed
              ? SmallVector<Value>{b.add(b.add(term, octet), k), column}
              : SmallVector<Value>{b.add(column, octet), b.add(term, k)};
      SmallVector<Value> pairs = loadFragment(b, right, at, shape.isTransposed);
      for (int64_t i = 0; i < 2; ++i) {
        MutableArrayRef<Value> part = MutableArrayRef(next).slice(
            (first / kN + i) * kSumsOfFragment, kSumsOfFragment);
        llvm::copy(multiplyAdd(b, rows, ArrayRef(pairs).slice(2 * i, 2), part),
                   part.begin());
      }
    }
  }
  return next;
}

SmallVector<Value> AttentionTile::multiplyByFMA(Value stage,
                                                ArrayRef<Value> sums) {
  Value heads[] = {getHead(0), getHead(1)};
  Value firstColumn = b.mul(b.rem(lane, 4), 2);
  return b.loop(b.index(0), b.index(shape.depth), 1, sums,
                [&](Value k, ArrayRef<Value> carried) {
                  Value rows[] = {b.load(left, {stage, heads[0], k}),
                                  b.load(left, {stage, heads[1], k})};
                  SmallVector<Value> next;
                  for (int64_t first = 0; first < shape.columns; first += kN) {
                    Value pair[2];
                    for (int64_t i = 0; i < 2; ++i) {
                      Value column = b.add(firstColumn, first + i);
                      pair[i] = shape.isTransposed ? b.load(right, {k, column})
                                                   : b.load(right, {column, k});
                    }
                    for (Value row : rows)
                      for (Value column : pair)
                        next.push_back(
                            b.fma(row, column, carried[next.size()]));
                  }
                  return next;
                });
}

Value AttentionTile::getHead(int64_t number) {
  return b.add(b.add(b.mul(warp, kM), b.div(lane, 4)), number * kM / 2);
}

void AttentionTile::forSums(
    ArrayRef<Value> sums,
    function_ref<void(int64_t number, Value column, Value both)> body) {
  Value column = b.mul(b.rem(lane, 4), 2);
  for (int64_t i = 0; i < int64_t(sums.size()); i += 2) {
    Value both = vector::FromElementsOp::create(
        b, VectorType::get(2, b.getF32Type()), sums.slice(i, 2));
    body(i % kSumsOfFragment / 2, b.add(column, i / kSumsOfFragment * kN),
         both);
  }
}
