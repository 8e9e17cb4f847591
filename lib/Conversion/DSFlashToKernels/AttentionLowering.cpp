//===- AttentionLowering.cpp - CSA2, compressor, RoPE ---------------------===//

#include "Attention.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

//===----------------------------------------------------------------------===//
// RoPE
//===----------------------------------------------------------------------===//

void mlir::dsflash::lowerOp(Lowering &l, RopeTableOp op) {
  ArrayRef<float> frequencies = op.getFrequencies();
  int64_t count = frequencies.size();
  Value n = l.rows(op.getPosition());
  l.replace(l.dispatch(
      "rope_table", n, op.getPosition(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        auto type = VectorType::get(count, b.getF32Type());
        Value constants = arith::ConstantOp::create(
            b, DenseElementsAttr::get(type, frequencies));
        Value angles = b.scratch({count}, b.getF32Type());
        b.loop(begin, end, [&](Value row) {
          Value position = b.load(ins[0], {row});
          Value inGroup = b.rem(position, op.getRatio());
          Value start = b.splat(b.toF32(b.sub(position, inGroup)), count);
          b.storeVector(b.mulf(start, constants), angles, {b.index(0)});
          b.loop(count, [&](Value f) {
            Value angle = b.load(angles, {f});
            b.store(math::CosOp::create(b, angle), outs[0],
                    {row, f, b.index(0)});
            b.store(math::SinOp::create(b, angle), outs[0],
                    {row, f, b.index(1)});
          });
        });
      }));
}

namespace {
/// Even and odd elements of adjacent pairs.
std::pair<Value, Value> loadPairs(KernelBuilder &b, Value buffer,
                                  ArrayRef<Value> indices, int64_t lanes) {
  auto pairs = vector::DeinterleaveOp::create(
      b, b.loadVector(buffer, indices, 2 * lanes));
  return {pairs.getRes1(), pairs.getRes2()};
}
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, RotateOp op) {
  Value n = l.rows(op.getInput());
  int64_t headDim = op.getHeadDim();
  int64_t heads = getFeatures(op.getInput()) / headDim;
  int64_t pairs = op.getTable().getType().getDimSize(1);
  int64_t copied = headDim - 2 * pairs;
  bool rounded = op.getRounded(), inverse = op.getInverse();
  l.replace(l.dispatch(
      "rotate", n, op->getOperands(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        int64_t lanes = KernelBuilder::getLanes(pairs);
        // The table as [n, 2 f]: cosines and sines alternate.
        Value table = memref::CollapseShapeOp::create(
            b, ins[1], SmallVector<ReassociationIndices>{{0}, {1, 2}});
        b.loop(begin, end, [&](Value row) {
          b.loop(heads, [&](Value head) {
            Value first = b.mul(head, headDim);
            forVectors(b, copied, [&](Value f, int64_t width) {
              Value at = b.add(first, f);
              Value x = b.loadVector(ins[0], {row, at}, width);
              b.storeVector(roundIf(b, rounded, x), outs[0], {row, at});
            });
            b.loop(b.index(0), b.index(2 * pairs), 2 * lanes, [&](Value f) {
              Value at = b.add(b.add(first, copied), f);
              auto [x, y] = loadPairs(b, ins[0], {row, at}, lanes);
              auto [cos, sin] = loadPairs(b, table, {row, f}, lanes);
              if (inverse)
                sin = arith::NegFOp::create(b, sin);
              Value left = b.subf(b.mulf(x, cos), b.mulf(y, sin));
              Value right = b.addf(b.mulf(x, sin), b.mulf(y, cos));
              Value turned = vector::InterleaveOp::create(
                  b, roundIf(b, rounded, left), roundIf(b, rounded, right));
              b.storeVector(turned, outs[0], {row, at});
            });
          });
        });
      }));
}

//===----------------------------------------------------------------------===//
// One softmax over decoded keys
//===----------------------------------------------------------------------===//

AttentionShape::AttentionShape(int64_t heads, int64_t dim,
                               bool roundProbabilities)
    : heads(heads), dim(dim), roundProbabilities(roundProbabilities) {
  // More heads of an item decode less, more items run on more threads.
  constexpr int64_t mostItemHeads = 32;
  constexpr int64_t tileElements = 4096, mostTileKeys = 16;
  itemHeads = std::min(heads, mostItemHeads);
  while (heads % itemHeads)
    --itemHeads;
  tileKeys = mostTileKeys;
  while (tileKeys > 1 && tileKeys * dim > tileElements)
    tileKeys /= 2;
}

AttentionEmitter::AttentionEmitter(KernelBuilder &b,
                                   const AttentionShape &shape)
    : b(b), shape(shape) {
  Type f32 = b.getF32Type();
  tile = b.scratch({shape.tileKeys, shape.dim}, f32);
  mask = b.scratch({shape.tileKeys}, f32);
  scores = b.scratch({shape.itemHeads, shape.tileKeys}, f32);
  tops = b.scratch({shape.itemHeads, shape.tileKeys}, f32);
  denominators = b.scratch({shape.itemHeads, shape.tileKeys}, f32);
}

void AttentionEmitter::take(const PackedRows &rows, Value row, Value slot) {
  rows.decode(b, row, viewRow(b, tile, slot, b.index(0), shape.dim));
}

void AttentionEmitter::take(Value matrix, Value row, Value slot) {
  copyRow(b, matrix, row, tile, slot);
}

void AttentionEmitter::hide(Value slot) {
  fillRow(b, 0.0f, tile, slot);
  b.store(b.f32(-std::numeric_limits<float>::infinity()), mask, {slot});
}

Value AttentionEmitter::getFeature(Value head, Value feature) {
  return b.add(b.mul(b.add(firstHead, head), shape.dim), feature);
}

void AttentionEmitter::forTiles(Value count, Fetch fetch,
                                function_ref<void()> body) {
  b.loop(b.index(0), count, shape.tileKeys, [&](Value begin) {
    b.storeVector(b.f32(0.0f, shape.tileKeys), mask, {b.index(0)});
    b.loop(shape.tileKeys, [&](Value slot) {
      Value t = b.add(begin, slot);
      b.when(
          b.cmp(Cmp::slt, t, count), [&] { fetch(t, slot); },
          [&] { hide(slot); });
    });
    body();
  });
}

/// scores[head, slot] = q . key * dim^-0.5, a few heads and keys at a time to
/// share what is loaded; hidden keys get minus infinity.
void AttentionEmitter::scoreTile() {
  int64_t headStep = std::gcd(shape.itemHeads, int64_t(4));
  int64_t keyStep = std::min(shape.tileKeys, int64_t(4));
  Value scale = b.f32(
      static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.dim))));
  b.loop(b.index(0), b.index(shape.tileKeys), keyStep, [&](Value slot) {
    b.loop(b.index(0), b.index(shape.itemHeads), headStep, [&](Value head) {
      SmallVector<Value> dots = sumVectors(
          b, shape.dim, headStep * keyStep,
          [&](Value f, int64_t lanes, MutableArrayRef<Value> sums) {
            SmallVector<Value> keys;
            for (int64_t k = 0; k < keyStep; ++k)
              keys.push_back(b.loadVector(tile, {b.add(slot, k), f}, lanes));
            for (int64_t h = 0; h < headStep; ++h) {
              Value feature = getFeature(b.add(head, h), f);
              Value q = b.loadVector(query, {row, feature}, lanes);
              for (int64_t k = 0; k < keyStep; ++k)
                sums[h * keyStep + k] =
                    b.fma(q, keys[k], sums[h * keyStep + k]);
            }
          });
      for (int64_t h = 0; h < headStep; ++h)
        for (int64_t k = 0; k < keyStep; ++k)
          b.store(b.mulf(dots[h * keyStep + k], scale), scores,
                  {b.add(head, h), b.add(slot, k)});
    });
  });
  Value masks = b.loadVector(mask, {b.index(0)}, shape.tileKeys);
  b.loop(shape.itemHeads, [&](Value head) {
    Value s = b.loadVector(scores, {head, b.index(0)}, shape.tileKeys);
    b.storeVector(b.addf(s, masks), scores, {head, b.index(0)});
  });
}

/// Turns scores into probabilities and adds the values that they weigh.
void AttentionEmitter::addTile() {
  b.loop(shape.itemHeads, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    Value top = b.splat(b.load(tops, line), shape.tileKeys);
    Value e = b.exp(b.subf(b.loadVector(scores, line, shape.tileKeys), top));
    Value sum = b.loadVector(denominators, line, shape.tileKeys);
    b.storeVector(b.addf(sum, e), denominators, line);
    b.storeVector(roundIf(b, shape.roundProbabilities, e), scores, line);
  });
  int64_t headStep = std::gcd(shape.itemHeads, int64_t(8));
  b.loop(b.index(0), b.index(shape.itemHeads), headStep, [&](Value head) {
    forVectors(b, shape.dim, [&](Value f, int64_t lanes) {
      SmallVector<Value> features, sums;
      for (int64_t h = 0; h < headStep; ++h) {
        features.push_back(getFeature(b.add(head, h), f));
        sums.push_back(b.loadVector(out, {row, features[h]}, lanes));
      }
      sums = b.loop(b.index(0), b.index(shape.tileKeys), 1, sums,
                    [&](Value slot, ArrayRef<Value> carried) {
                      Value value = b.loadVector(tile, {slot, f}, lanes);
                      SmallVector<Value> next;
                      for (int64_t h = 0; h < headStep; ++h) {
                        Value p = b.load(scores, {b.add(head, h), slot});
                        next.push_back(
                            b.fma(b.splat(p, lanes), value, carried[h]));
                      }
                      return next;
                    });
      for (int64_t h = 0; h < headStep; ++h)
        b.storeVector(sums[h], out, {row, features[h]});
    });
  });
}

/// Divides by the sum of all probabilities and the sink's. It is 0 only where
/// there is no key.
void AttentionEmitter::finish(Value sink) {
  PackedRows sinks(b, sink);
  b.loop(shape.itemHeads, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    Value logit =
        loadFloat(b, sinks.getPayload(), {b.index(0), b.add(firstHead, head)});
    Value sum = b.reduceAdd(b.loadVector(denominators, line, shape.tileKeys));
    sum = b.addf(sum, b.exp(b.subf(logit, b.load(tops, line))));
    Value isZero = b.cmpf(CmpF::OEQ, sum, b.f32(0.0f));
    Value divisor = b.select(isZero, b.f32(1.0f), sum);
    forVectors(b, shape.dim, [&](Value f, int64_t lanes) {
      SmallVector<Value> at = {row, getFeature(head, f)};
      Value x = b.loadVector(out, at, lanes);
      b.storeVector(b.divf(x, b.splat(divisor, lanes)), out, at);
    });
  });
}

void AttentionEmitter::emit(Value itemRow, Value itemHead, Value queries,
                            Value sink, Value count, Fetch fetch,
                            Value results) {
  row = itemRow;
  firstHead = itemHead;
  query = queries;
  out = results;
  // The lowest finite value keeps a row without keys free of NaN.
  constexpr float lowest = std::numeric_limits<float>::lowest();
  b.loop(shape.itemHeads, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    b.storeVector(b.f32(lowest, shape.tileKeys), tops, line);
    b.storeVector(b.f32(0.0f, shape.tileKeys), denominators, line);
    forVectors(b, shape.dim, [&](Value f, int64_t lanes) {
      b.storeVector(b.f32(0.0f, lanes), out, {row, getFeature(head, f)});
    });
  });
  forTiles(count, fetch, [&] {
    scoreTile();
    b.loop(shape.itemHeads, [&](Value head) {
      SmallVector<Value> line = {head, b.index(0)};
      Value s = b.loadVector(scores, line, shape.tileKeys);
      Value top = b.loadVector(tops, line, shape.tileKeys);
      b.storeVector(b.maxf(s, top), tops, line);
    });
  });
  b.loop(shape.itemHeads, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    b.store(b.reduceMax(b.loadVector(tops, line, shape.tileKeys)), tops, line);
  });
  forTiles(count, fetch, [&] {
    scoreTile();
    addTile();
  });
  finish(sink);
}

//===----------------------------------------------------------------------===//
// CSA2
//===----------------------------------------------------------------------===//

namespace {
/// The columns of a selection between which its rows lie: first and number.
std::pair<Value, Value> getSelectedColumns(KernelBuilder &b, Value selection,
                                           Value row) {
  int64_t columns = getFeatures(selection);
  SmallVector<Value> limits =
      b.loop(b.index(0), b.index(columns), 1, {b.index(columns), b.index(0)},
             [&](Value column, ArrayRef<Value> carried) {
               Value isSelected =
                   b.cmp(Cmp::sge, b.load(selection, {row, column}), b.i32(0));
               Value first = b.min(carried[0], column);
               return SmallVector<Value>{
                   b.select(isSelected, first, carried[0]),
                   b.select(isSelected, b.add(column, 1), carried[1])};
             });
  return {limits[0], b.max(b.sub(limits[1], limits[0]), b.index(0))};
}
} // namespace

Value mlir::dsflash::getRingRow(KernelBuilder &b, WindowType window,
                                Value layer, Value position) {
  return b.add(b.mul(layer, window.getSlots()),
               b.rem(position, window.getSlots()));
}

Value mlir::dsflash::getRingPositions(KernelBuilder &b, Value window,
                                      Value sequence) {
  auto type = cast<StateTypeInterface>(window.getType());
  return StateDataOp::create(b, getPlaneType(type, Plane::Position),
                             /*call=*/Value(), window, sequence,
                             Plane::Position);
}

void mlir::dsflash::lowerOp(Lowering &l, CSA2Op op) {
  WindowType window = op.getWindow().getType();
  AttentionShape shape(op.getHeads(), window.getDim(),
                       op.getRoundProbabilities());
  int64_t visible = op.getSlidingWindow();
  Value n = l.rows(op.getQuery());
  SmallVector<Value> results = l.dispatch(
      "csa2", l.times(n, shape.getItemsPerRow()), op->getOperands(),
      l.empty(op.getResult().getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        Value query = ins[0], kv = ins[1], ringState = ins[2], layer = ins[3];
        AttentionEmitter attention(b, shape);
        b.loop(begin, end, [&](Value item) {
          CallRow row(b, b.div(item, shape.getItemsPerRow()), ins[5], ins[6],
                      ins[7]);
          Value firstHead =
              b.mul(b.rem(item, shape.getItemsPerRow()), shape.itemHeads);
          PackedRows ring(b, ringState, row.sequence);
          Value first = b.max(b.add(row.position, 1 - visible),
                              op.getWithinCall() ? row.firstPosition
                                                 : b.index(0));
          Value windowCount = b.add(b.sub(row.position, first), 1);

          auto fetchWindow = [&](Value t, Value slot) {
            Value position = b.add(first, t);
            b.when(
                row.isInCall(b, position),
                [&] { attention.take(kv, row.getRowOf(b, position), slot); },
                [&] {
                  Value at = getRingRow(b, window, layer, position);
                  attention.take(ring, at, slot);
                });
          };
          if (op.getMode() == Mode::Window) {
            attention.emit(row.row, firstHead, query, ins[4], windowCount,
                           fetchWindow, outs[0]);
            return;
          }
          PackedRows global(b, ins[8], row.sequence);
          Value selection = ins[9];
          auto [firstColumn, columns] =
              getSelectedColumns(b, selection, row.row);
          Value column = b.sub(firstColumn, windowCount);
          auto fetch = [&](Value t, Value slot) {
            b.when(
                b.cmp(Cmp::slt, t, windowCount), [&] { fetchWindow(t, slot); },
                [&] {
                  Value at =
                      loadIndex(b, selection, {row.row, b.add(column, t)});
                  b.when(
                      b.cmp(Cmp::sge, at, b.index(0)),
                      [&] { attention.take(global, at, slot); },
                      [&] { attention.hide(slot); });
                });
          };
          attention.emit(row.row, firstHead, query, ins[4],
                         b.add(windowCount, columns), fetch, outs[0]);
        });
      });
  lowerRingWrite(l, op.getKv(), op.getWindow(), op.getLayer(), op.getSequence(),
                 op.getPosition(), op.getExtents());
  l.replace({results[0], op.getWindow()});
}

void mlir::dsflash::lowerRingWrite(Lowering &l, Value kv,
                                   TypedValue<WindowType> window, Value layer,
                                   Value sequence, Value position,
                                   Value extents) {
  WindowType type = window.getType();
  l.dispatch(
      "append_window", l.rows(kv),
      {kv, window, layer, sequence, position, extents}, {},
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange) {
        b.loop(begin, end, [&](Value item) {
          CallRow row(b, item, ins[3], ins[4], ins[5]);
          b.when(row.isAmongLast(b, type.getSlots()), [&] {
            PackedRows ring(b, ins[1], row.sequence);
            Value slot = getRingRow(b, type, ins[2], row.position);
            ring.encode(b, ins[0], row.row, slot);
            if (type.getPositions())
              b.store(b.toI32(b.add(row.position, 1)),
                      getRingPositions(b, ins[1], row.sequence), {slot});
          });
        });
      },
      /*writesState=*/true);
}

void mlir::dsflash::lowerOp(Lowering &l, AppendWindowOp op) {
  lowerRingWrite(l, op.getKv(), op.getWindow(), op.getLayer(), op.getSequence(),
                 op.getPosition(), op.getExtents());
  l.replace(op.getWindow());
}

//===----------------------------------------------------------------------===//
// Compressor and global rows
//===----------------------------------------------------------------------===//

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
