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

static int64_t getElementBytes(bool onTensorCores) {
  return onTensorCores ? 2 : 4;
}

int64_t AttentionTile::getSharedBytes(bool onTensorCores, int64_t columns,
                                      bool isTransposed) {
  int64_t width = isTransposed ? columns : depth;
  int64_t rows = isTransposed ? depth : columns;
  return (heads * getPitch(onTensorCores, depth) +
          rows * getPitch(onTensorCores, width)) *
         getElementBytes(onTensorCores);
}

AttentionTile::AttentionTile(KernelBuilder &b, bool onTensorCores,
                             int64_t columns, bool isTransposed)
    : b(b), onTensorCores(onTensorCores), columns(columns),
      isTransposed(isTransposed), warp(b.div(b.thread(), kWarp)),
      lane(b.rem(b.thread(), kWarp)) {
  Type element = onTensorCores ? Type(b.getBF16Type()) : b.getF32Type();
  int64_t pitch = getPitch(onTensorCores, depth);
  left = b.shared(0, {heads, pitch}, element);
  int64_t begin = heads * pitch * getElementBytes(onTensorCores);
  right =
      isTransposed
          ? b.shared(begin, {depth, getPitch(onTensorCores, columns)}, element)
          : b.shared(begin, {columns, pitch}, element);
}

void AttentionTile::store(Value values, Value operand, Value row, Value at) {
  if (onTensorCores && getElementTypeOrSelf(values.getType()).isF32())
    values = toBF16(b, values);
  int64_t lanes = cast<VectorType>(values.getType()).getNumElements();
  int64_t unit = std::min(lanes, getUnit());
  for (int64_t i = 0; i < lanes; i += unit)
    b.storeVector(b.slice(values, i, unit), operand, {row, b.add(at, i)},
                  llvm::Align(unit * getElementBytes(onTensorCores)));
}

void AttentionTile::storeLeft(Value values, Value head, Value term) {
  store(values, left, head, term);
}

void AttentionTile::storeRight(Value values, Value row, Value at) {
  store(values, right, row, at);
}

SmallVector<Value> AttentionTile::getZeros() const {
  return SmallVector<Value>(columns / kN * kSumsOfFragment, b.f32(0.0f));
}

SmallVector<Value> AttentionTile::multiply(Value headCount,
                                           ArrayRef<Value> sums) {
  Value isUsed = b.cmp(Cmp::slt, b.mul(warp, kM), headCount);
  auto ifOp = scf::IfOp::create(
      b, isUsed,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, onTensorCores ? multiplyOnTensorCores(sums)
                                              : multiplyByFMA(sums));
      },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, sums); });
  return SmallVector<Value>(ifOp.getResults());
}

SmallVector<Value> AttentionTile::multiplyOnTensorCores(ArrayRef<Value> sums) {
  Value octet = b.rem(lane, 8), half = b.rem(b.div(lane, 8), 2);
  Value quarter = b.div(lane, 16);
  SmallVector<Value> next(sums);
  for (int64_t k = 0; k < depth; k += kK) {
    Value head = b.add(b.mul(warp, kM), b.rem(lane, 16));
    SmallVector<Value> rows =
        loadFragment(b, left, {head, b.add(b.mul(quarter, 8), k)});
    for (int64_t first = 0; first < columns; first += kFragmentColumns) {
      Value term = b.mul(half, 8), column = b.add(b.mul(quarter, kN), first);
      SmallVector<Value> at =
          isTransposed
              ? SmallVector<Value>{b.add(b.add(term, octet), k), column}
              : SmallVector<Value>{b.add(column, octet), b.add(term, k)};
      SmallVector<Value> pairs = loadFragment(b, right, at, isTransposed);
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

SmallVector<Value> AttentionTile::multiplyByFMA(ArrayRef<Value> sums) {
  Value heads[] = {getHead(0), getHead(1)};
  Value firstColumn = b.mul(b.rem(lane, 4), 2);
  return b.loop(b.index(0), b.index(depth), 1, sums,
                [&](Value k, ArrayRef<Value> carried) {
                  Value rows[] = {b.load(left, {heads[0], k}),
                                  b.load(left, {heads[1], k})};
                  SmallVector<Value> next;
                  for (int64_t first = 0; first < columns; first += kN) {
                    Value pair[2];
                    for (int64_t i = 0; i < 2; ++i) {
                      Value column = b.add(firstColumn, first + i);
                      pair[i] = isTransposed ? b.load(right, {k, column})
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
