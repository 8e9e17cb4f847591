//===- CompressorLowering.cpp - Latents of groups and global rows ---------===//

#include "Lowering.h"
#include "RowAccess.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

namespace {
/// Whether the group of `ratio` positions ends at a position.
Value completesGroup(KernelBuilder &b, Value position, int64_t ratio) {
  return b.cmp(Cmp::eq, b.rem(b.add(position, 1), ratio), b.index(0));
}

/// A vector from one of two places.
Value chooseVector(KernelBuilder &b, Value condition, VectorType type,
                   function_ref<Value()> first, function_ref<Value()> second) {
  auto choice = scf::IfOp::create(b, type, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(b, first());
  b.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(b, second());
  return choice.getResult(0);
}

/// Softmax of the gates over a group weighs its kv, in f64: the FP4 codes of
/// whole rows may hang on the last bit of a latent.
class PoolEmitter {
public:
  PoolEmitter(KernelBuilder &b, int64_t ratio, PendingType type)
      : b(b), ratio(ratio), type(type) {}

  void emit(const CallRow &row, Value kv, Value gate, Value pendingState,
            Value out) {
    PackedRows pending(b, pendingState, row.sequence);
    Value first = b.add(row.position, 1 - ratio);
    forVectors(b, type.getDim(), [&](Value f, int64_t lanes) {
      // Of position first + m: from this call, or kept since an earlier one.
      auto loadMember = [&](Value m, Value rows, int64_t column) {
        Value position = b.add(first, m);
        return chooseVector(
            b, row.isInCall(b, position),
            VectorType::get(lanes, b.getF32Type()),
            [&] {
              return b.loadVector(rows, {row.getRowOf(b, position), f}, lanes);
            },
            [&] {
              return b.loadVector(
                  pending.getPayload(),
                  {b.rem(position, type.getSlots()), b.add(f, column)}, lanes);
            });
      };
      auto loadGate = [&](Value m) {
        return b.toF64(loadMember(m, gate, type.getDim()));
      };
      Value top =
          b.loop(b.index(1), b.index(ratio), 1, {loadGate(b.index(0))},
                 [&](Value m, ArrayRef<Value> carried) {
                   return SmallVector<Value>{b.maxf(carried[0], loadGate(m))};
                 })[0];
      Value zero = b.splat(b.f64(0.0), lanes);
      SmallVector<Value> sums =
          b.loop(b.index(0), b.index(ratio), 1, {zero, zero},
                 [&](Value m, ArrayRef<Value> carried) {
                   Value e = b.exp(b.subf(loadGate(m), top));
                   Value value = b.toF64(loadMember(m, kv, /*column=*/0));
                   return SmallVector<Value>{b.fma(value, e, carried[0]),
                                             b.addf(carried[1], e)};
                 });
      Value latent = b.fromF64(b.divf(sums[0], sums[1]));
      b.storeVector(latent, out, {row.row, f});
    });
  }

private:
  KernelBuilder &b;
  int64_t ratio;
  PendingType type;
};
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, CompressOp op) {
  PendingType type = op.getPending().getType();
  int64_t ratio = op.getRatio();
  Value n = l.rows(op.getKv());
  SmallVector<Value> latent = l.dispatch(
      "compress", n, op->getOperands(), l.empty(op.getLatent().getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        PoolEmitter pool(b, ratio, type);
        b.loop(begin, end, [&](Value item) {
          CallRow row(b, item, ins[3], ins[4], ins[5]);
          b.when(
              completesGroup(b, row.position, ratio),
              [&] { pool.emit(row, ins[0], ins[1], ins[2], outs[0]); },
              [&] { fillRow(b, 0.0f, outs[0], row.row); });
        });
      });
  l.dispatch(
      "keep_pending", n, op->getOperands(), {},
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange) {
        b.loop(begin, end, [&](Value item) {
          CallRow row(b, item, ins[3], ins[4], ins[5]);
          b.when(row.isAmongLast(b, type.getSlots()), [&] {
            Value pending = PackedRows(b, ins[2], row.sequence).getPayload();
            Value slot = b.rem(row.position, type.getSlots());
            forVectors(b, type.getDim(), [&](Value f, int64_t lanes) {
              b.storeVector(b.loadVector(ins[0], {row.row, f}, lanes), pending,
                            {slot, f});
              b.storeVector(b.loadVector(ins[1], {row.row, f}, lanes), pending,
                            {slot, b.add(f, type.getDim())});
            });
          });
        });
      },
      /*writesState=*/true);
  l.replace({latent[0], op.getPending()});
}

namespace {
/// Emits `body` for the rows of a launch that complete a group and `otherwise`
/// for the others; it gets the state row of the group.
void forGroups(
    KernelBuilder &b, Value begin, Value end, Value state, Value sequences,
    Value positions,
    function_ref<void(Value row, const PackedRows &rows, Value stateRow)> body,
    function_ref<void(Value row)> otherwise) {
  int64_t ratio =
      cast<StateTypeInterface>(state.getType()).getPositionsPerRow();
  b.loop(begin, end, [&](Value row) {
    Value position = loadIndex(b, positions, {row});
    b.when(
        completesGroup(b, position, ratio),
        [&] {
          PackedRows rows(b, state, loadIndex(b, sequences, {row}));
          body(row, rows, b.div(position, ratio));
        },
        [&] { otherwise(row); });
  });
}
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, AppendOp op) {
  l.dispatch(
      "append", l.rows(op.getInput()), op->getOperands(), {},
      [](KernelBuilder &b, Value begin, Value end, ValueRange ins, ValueRange) {
        forGroups(
            b, begin, end, ins[1], ins[2], ins[3],
            [&](Value row, const PackedRows &rows, Value stateRow) {
              rows.encode(b, ins[0], row, stateRow);
            },
            [](Value) {});
      },
      /*writesState=*/true);
  l.replace(op.getState());
}

void mlir::dsflash::lowerOp(Lowering &l, LoadOp op) {
  Value n = l.rows(op.getPosition());
  int64_t dim = getFeatures(op.getResult());
  l.replace(
      l.dispatch("load", n, op->getOperands(), l.empty(op.getType(), n),
                 [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
                     ValueRange outs) {
                   forGroups(
                       b, begin, end, ins[0], ins[1], ins[2],
                       [&](Value row, const PackedRows &rows, Value stateRow) {
                         rows.decode(b, stateRow,
                                     viewRow(b, outs[0], row, b.index(0), dim));
                       },
                       [&](Value row) { fillRow(b, 0.0f, outs[0], row); });
                 }));
}
