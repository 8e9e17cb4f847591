//===- CheckLowering.cpp - Checks of a checked model ----------------------===//

#include "ElementWalk.h"
#include "Lowering.h"
#include "RowAccess.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

namespace {
/// The kernel's value of an optional operand; null where there is none.
Value getArgument(Operation *op, Value operand, ValueRange ins) {
  for (auto [given, argument] : llvm::zip_equal(op->getOperands(), ins))
    if (operand && given == operand)
      return argument;
  return {};
}

/// The position of a row, -1 where it is not known.
Value getPosition(KernelBuilder &b, Value positions, Value row) {
  return positions ? loadIndex(b, positions, {row}) : b.index(-1);
}
/// Whether there is a NaN in buffer[row, ...].
Value hasNaN(KernelBuilder &b, Value buffer, Value row) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  if (rank == 1) {
    Value x = b.load(buffer, {row});
    return b.cmpf(CmpF::UNO, x, x);
  }
  if (rank == 3)
    buffer = memref::CollapseShapeOp::create(
        b, buffer, SmallVector<ReassociationIndices>{{0}, {1, 2}});
  Value count =
      sumVectors(b, getFeatures(buffer), 1,
                 [&](Value f, int64_t lanes, MutableArrayRef<Value> sums) {
                   Value x = b.loadVector(buffer, {row, f}, lanes);
                   Value one = b.select(b.cmpf(CmpF::UNO, x, x),
                                        b.f32(1.0f, lanes), b.f32(0.0f, lanes));
                   sums[0] = b.addf(sums[0], one);
                 })[0];
  return b.cmpf(CmpF::OGT, count, b.f32(0.0f));
}
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, CheckNaNOp op) {
  l.dispatch(
      "check_nan", l.rows(op.getInput()), op->getOperands(), {},
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange) {
        Value positions = getArgument(op, op.getPosition(), ins);
        Value outputs = getArgument(op, op.getOutputs(), ins);
        Value layer = getArgument(op, op.getLayer(), ins);
        b.loop(begin, end, [&](Value row) {
          b.when(hasNaN(b, ins[0], row), [&] {
            Value at = outputs ? loadIndex(b, outputs, {row}) : row;
            Value zero = b.index(0);
            ReportOp::create(b, Check::NaN, op.getName(), /*call=*/Value(),
                             layer, getPosition(b, positions, at), zero, zero,
                             zero);
          });
        });
      },
      /*writesState=*/true);
  l.replace({});
}

void mlir::dsflash::lowerOp(Lowering &l, CheckIdsOp op) {
  Value n = l.rows(op.getIds());
  int64_t lowest = op.getOptional() ? -1 : 0, ratio = op.getPositionsPerRow();
  l.replace(l.dispatch(
      "check_ids", n, op->getOperands(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        Value positions = getArgument(op, op.getPosition(), ins);
        Value layer = getArgument(op, op.getLayer(), ins);
        b.loop(begin, end, [&](Value row) {
          Value position = getPosition(b, positions, row), limit = ins[1];
          if (ratio)
            limit = b.min(limit, b.div(b.add(position, 1), ratio));
          forRowElements(b, ins[0], row, 1, [&](ArrayRef<Value> at) {
            Value stored = b.load(ins[0], at), id = b.toIndex(stored);
            b.store(stored, outs[0], at);
            Value inside =
                arith::AndIOp::create(b, b.cmp(Cmp::sge, id, b.index(lowest)),
                                      b.cmp(Cmp::slt, id, limit));
            b.when(
                inside, [] {},
                [&] {
                  b.store(b.intLike(stored, lowest), outs[0], at);
                  ReportOp::create(b, op.getKind(), op.getName(),
                                   /*call=*/Value(), layer, position, id, limit,
                                   b.index(0));
                });
          });
        });
      }));
}

void mlir::dsflash::lowerOp(Lowering &l, CheckWindowOp op) {
  WindowType window = op.getWindow().getType();
  int64_t count = op.getCount();
  l.dispatch(
      "check_window", l.rows(op.getPosition()), op->getOperands(), {},
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange) {
        Value layer = getArgument(op, op.getLayer(), ins);
        b.loop(begin, end, [&](Value item) {
          CallRow row(b, item, ins[2], ins[3], ins[4]);
          // The rows of a sequence share what its first one sees.
          b.when(b.cmp(Cmp::eq, row.row, row.firstRow), [&] {
            Value held = getRingPositions(b, ins[0], row.sequence);
            Value first = b.max(b.add(row.position, -count), b.index(0));
            b.loop(first, row.position, [&](Value position) {
              Value at = getRingRow(b, window, ins[1], position);
              Value found = b.add(loadIndex(b, held, {at}), -1);
              b.when(b.cmp(Cmp::ne, found, position), [&] {
                ReportOp::create(b, Check::Slot, op.getName(), /*call=*/Value(),
                                 layer, row.position, found, position,
                                 b.rem(position, window.getSlots()));
              });
            });
          });
        });
      },
      /*writesState=*/true);
  l.replace(op.getWindow());
}
