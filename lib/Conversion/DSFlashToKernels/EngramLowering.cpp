//===- EngramLowering.cpp - Engram ----------------------------------------===//

#include "Lowering.h"
#include "RowAccess.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

namespace {
/// Row ids of the n-grams that end at a row (SPEC section 3, Engram).
class HashEmitter {
public:
  HashEmitter(KernelBuilder &b, EngramHashOp op, ValueRange ins, Value out)
      : b(b), multipliers(op.getMultipliers()), primes(op.getPrimes()),
        tokens(ins[0]), lookBack(ins[1]),
        tokenMap(PackedRows(b, ins[2]).getPayload()), sequences(ins[3]),
        extents(ins[4]), out(out), pad(b.i32(op.getPad())) {
    if (std::optional<int64_t> token = op.getImageToken())
      imageToken = b.i32(*token);
  }

  void emit(Value row) {
    isOver = Value();
    Value hash = getTerm(getSeen(b.load(tokens, {row})), 0);
    int64_t grams = multipliers.size() - 1;
    int64_t heads = primes.size() / grams;
    int64_t column = 0, offset = 0;
    for (int64_t gram = 1; gram <= grams; ++gram) {
      Value term = getTerm(getSeen(getEarlier(row, gram)), gram);
      hash = arith::XOrIOp::create(b, hash, term);
      for (int64_t head = 0; head < heads; ++head, ++column) {
        Value rest = b.rem(hash, primes[column]);
        b.store(b.add(rest, offset), out, {row, b.index(column)});
        offset += primes[column];
      }
    }
  }

private:
  Value getTerm(Value token, int64_t step) {
    Value id = b.load(tokenMap, {b.index(0), b.toIndex(token)});
    Value wide = arith::ExtSIOp::create(b, b.getI64Type(), id);
    return b.mul(wide, multipliers[step]);
  }

  /// The next token on the way back, or the pad token behind its end, which is
  /// the start or an image.
  Value getSeen(Value token) {
    Value ends = b.cmp(Cmp::slt, token, b.i32(0));
    if (imageToken)
      ends = b.bitOr(ends, b.cmp(Cmp::eq, token, imageToken));
    isOver = isOver ? b.bitOr(isOver, ends) : ends;
    return b.select(isOver, pad, token);
  }

  /// The token that many rows before, of this call or kept from an earlier one;
  /// -1 before the start.
  Value getEarlier(Value row, int64_t steps) {
    Value sequence = loadIndex(b, sequences, {row});
    Value inCall = b.sub(row, loadIndex(b, extents, {sequence, b.index(0)}));
    Value found = b.scratch({}, b.getI32Type());
    b.when(
        b.cmp(Cmp::sge, inCall, b.index(steps)),
        [&] { b.store(b.load(tokens, {b.add(row, -steps)}), found, {}); },
        [&] {
          Value back = b.sub(b.index(steps - 1), inCall);
          b.store(b.load(lookBack, {sequence, back}), found, {});
        });
    return b.load(found, {});
  }

  KernelBuilder &b;
  ArrayRef<int64_t> multipliers, primes;
  Value tokens, lookBack, tokenMap, sequences, extents, out, pad;
  Value imageToken; // null: no images
  Value isOver;     // whether the way back has met its end
};
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, EngramHashOp op) {
  Value n = l.rows(op.getTokens());
  l.replace(
      l.dispatch("engram_hash", n, op->getOperands(), l.empty(op.getType(), n),
                 [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
                     ValueRange outs) {
                   HashEmitter emitter(b, op, ins, outs[0]);
                   b.loop(begin, end, [&](Value row) { emitter.emit(row); });
                 }));
}

void mlir::dsflash::lowerOp(Lowering &l, EngramLookupOp op) {
  Value n = l.rows(op.getRows());
  int64_t columns = getFeatures(op.getRows());
  int64_t dim = op.getTable().getType().getColumns();
  AwaitRowsOp::create(l.builder(), l.loc(), op.getTable());
  // A device has the rows of its call for a table, in the order of its items.
  bool isStaged = bool(l.getConfig());
  SmallVector<Value> operands(op->getOperands());
  if (isStaged)
    operands.erase(operands.begin());
  l.replace(l.dispatch(
      "engram_lookup", l.times(n, columns), operands, l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        PackedRows table(b, ins.back());
        b.loop(begin, end, [&](Value item) {
          Value row = b.div(item, columns), column = b.rem(item, columns);
          Value entry = isStaged ? item : loadIndex(b, ins[0], {row, column});
          table.decode(b, entry,
                       viewRow(b, outs[0], row, b.mul(column, dim), dim));
        });
      },
      /*writesState=*/false, l.getRowBlock(dim)));
}

namespace {
/// The gate from the normed product of stream and key.
Value getGate(KernelBuilder &b, Value dot) {
  Value root = b.sqrt(b.maxf(b.f32(1e-6f), b.absf(dot)));
  return b.sigmoid(math::CopySignOp::create(b, root, dot));
}
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, EngramGateOp op) {
  Value n = l.rows(op.getStream());
  int64_t streams = getFeatures(op.getGate());
  int64_t d = getFeatures(op.getStream());
  l.replace(l.dispatch(
      "engram_gate", l.times(n, streams), op->getOperands(),
      l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        Value queryWeight = PackedRows(b, ins[2]).getPayload();
        Value keyWeight = PackedRows(b, ins[3]).getPayload();
        auto getRoot = [&](Value sum) {
          Value mean = b.divf(sum, b.f32(static_cast<float>(d)));
          return b.sqrt(b.addf(mean, b.f32(op.getEps().convertToFloat())));
        };
        b.loop(begin, end, [&](Value item) {
          Value row = b.div(item, streams), stream = b.rem(item, streams);
          Value firstKey = b.mul(stream, d);
          SmallVector<Value> sums = sumVectors(
              b, d, 3,
              [&](Value f, int64_t lanes, MutableArrayRef<Value> sums) {
                Value h = b.loadVector(ins[0], {row, stream, f}, lanes);
                Value key =
                    b.loadVector(ins[1], {row, b.add(firstKey, f)}, lanes);
                Value weight =
                    b.mulf(loadFloats(b, queryWeight, {stream, f}, lanes),
                           loadFloats(b, keyWeight, {stream, f}, lanes));
                sums[0] = b.fma(b.mulf(h, weight), key, sums[0]);
                sums[1] = b.fma(h, h, sums[1]);
                sums[2] = b.fma(key, key, sums[2]);
              });
          Value dot =
              b.divf(b.divf(sums[0], getRoot(sums[1])), getRoot(sums[2]));
          float scale =
              static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
          b.onFirstThread([&] {
            b.store(getGate(b, b.mulf(dot, b.f32(scale))), outs[0],
                    {row, stream});
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getStream())));
}

void mlir::dsflash::lowerOp(Lowering &l, EngramAddOp op) {
  int64_t streams = getFeatures(op.getGate());
  int64_t d = getFeatures(op.getStream());
  l.replace(l.dispatch(
      "engram_add", l.rows(op.getStream()), {op.getKv(), op.getGate()},
      op.getStream(),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          forVectors(b, d, [&](Value f, int64_t lanes) {
            Value value =
                b.loadVector(ins[0], {row, b.add(f, streams * d)}, lanes);
            for (int64_t s = 0; s < streams; ++s) {
              Value gate = b.splat(b.load(ins[1], {row, b.index(s)}), lanes);
              SmallVector<Value> at = {row, b.index(s), f};
              Value sum = b.fma(gate, value, b.loadVector(outs[0], at, lanes));
              b.storeVector(roundIf(b, op.getRounded(), sum), outs[0], at);
            }
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getStream())));
}
