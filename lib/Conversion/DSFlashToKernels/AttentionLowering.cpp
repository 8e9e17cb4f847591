//===- AttentionLowering.cpp - CSA2 and draft attention -------------------===//

#include "BlockAttentionLowering.h"
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

//===----------------------------------------------------------------------===//
// One softmax over decoded keys
//===----------------------------------------------------------------------===//

namespace {
/// The size of an attention and how its work is cut.
struct AttentionShape {
  AttentionShape(int64_t heads, int64_t dim, bool roundProbabilities,
                 int64_t maxLanes);

  int64_t heads;
  int64_t dim;
  bool roundProbabilities;
  int64_t itemHeads;  // heads of one item
  int64_t groupItems; // most items of a row that share the decoded keys
  int64_t tileKeys;   // keys decoded at a time, a power of two

  int64_t getItemsPerRow() const { return heads / itemHeads; }
};

/// One softmax over K = V rows with a sink (SPEC section 3, attention). The
/// keys are walked twice, first for the maximum, so that no buffer depends on
/// their number; probabilities are relative to the maximum over all keys, and
/// sums run over the keys in order.
class AttentionEmitter {
public:
  AttentionEmitter(KernelBuilder &b, const AttentionShape &shape);

  /// Takes `heads` heads of a row, from `firstHead`.
  void start(Value row, Value firstHead, Value heads, Value query, Value sink,
             Value out);
  /// Emits what brings key t to a slot of the tile, by one of the calls below.
  using Fetch = function_ref<void(Value t, Value slot)>;
  /// Computes these heads over `count` keys.
  void emit(Value count, Fetch fetch);

  void take(const PackedRows &rows, Value row, Value slot);
  void take(Value matrix, Value row, Value slot);
  /// There is no such key.
  void hide(Value slot);

private:
  void forTiles(Value count, Fetch fetch, function_ref<void()> body);
  void scoreTile();
  void addTile();
  void finish();
  Value getFeature(Value head, Value feature);
  void forHeads(int64_t step, function_ref<void(Value head)> body) {
    b.loop(b.index(0), heads, step, body);
  }

  KernelBuilder &b;
  AttentionShape shape;
  Value tile, mask, scores, tops, denominators;
  Value row, firstHead, heads, query, sink, out; // since the last start
};
} // namespace

AttentionShape::AttentionShape(int64_t heads, int64_t dim,
                               bool roundProbabilities, int64_t maxLanes)
    : heads(heads), dim(dim), roundProbabilities(roundProbabilities) {
  // Few heads an item let the only row of a decode step run on many threads;
  // many heads together decode less.
  constexpr int64_t mostItemHeads = 8;
  constexpr int64_t mostGroupHeads = 32;
  constexpr int64_t tileElements = 4096;
  itemHeads = std::min(heads, mostItemHeads);
  while (heads % itemHeads)
    --itemHeads;
  groupItems = std::min(mostGroupHeads / itemHeads, getItemsPerRow());
  tileKeys = maxLanes;
  while (tileKeys > 1 && tileKeys * dim > tileElements)
    tileKeys /= 2;
}

AttentionEmitter::AttentionEmitter(KernelBuilder &b,
                                   const AttentionShape &shape)
    : b(b), shape(shape) {
  Type f32 = b.getF32Type();
  tile = b.scratch({shape.tileKeys, shape.dim}, f32);
  mask = b.scratch({shape.tileKeys}, f32);
  int64_t mostHeads = shape.itemHeads * shape.groupItems;
  scores = b.scratch({mostHeads, shape.tileKeys}, f32);
  tops = b.scratch({mostHeads, shape.tileKeys}, f32);
  denominators = b.scratch({mostHeads, shape.tileKeys}, f32);
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
    forHeads(headStep, [&](Value head) {
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
  forHeads(1, [&](Value head) {
    Value s = b.loadVector(scores, {head, b.index(0)}, shape.tileKeys);
    b.storeVector(b.addf(s, masks), scores, {head, b.index(0)});
  });
}

/// Turns scores into probabilities and adds the values that they weigh.
void AttentionEmitter::addTile() {
  forHeads(1, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    Value top = b.splat(b.load(tops, line), shape.tileKeys);
    Value e = b.exp(b.subf(b.loadVector(scores, line, shape.tileKeys), top));
    Value sum = b.loadVector(denominators, line, shape.tileKeys);
    b.storeVector(b.addf(sum, e), denominators, line);
    b.storeVector(roundIf(b, shape.roundProbabilities, e), scores, line);
  });
  int64_t headStep = std::gcd(shape.itemHeads, int64_t(8));
  forHeads(headStep, [&](Value head) {
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
void AttentionEmitter::finish() {
  PackedRows sinks(b, sink);
  forHeads(1, [&](Value head) {
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

void AttentionEmitter::start(Value itemRow, Value itemHead, Value headCount,
                             Value queries, Value sinks, Value results) {
  row = itemRow;
  firstHead = itemHead;
  heads = headCount;
  query = queries;
  sink = sinks;
  out = results;
}

void AttentionEmitter::emit(Value count, Fetch fetch) {
  // The lowest finite value keeps a row without keys free of NaN.
  constexpr float lowest = std::numeric_limits<float>::lowest();
  forHeads(1, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    b.storeVector(b.f32(lowest, shape.tileKeys), tops, line);
    b.storeVector(b.f32(0.0f, shape.tileKeys), denominators, line);
    forVectors(b, shape.dim, [&](Value f, int64_t lanes) {
      b.storeVector(b.f32(0.0f, lanes), out, {row, getFeature(head, f)});
    });
  });
  forTiles(count, fetch, [&] {
    scoreTile();
    forHeads(1, [&](Value head) {
      SmallVector<Value> line = {head, b.index(0)};
      Value s = b.loadVector(scores, line, shape.tileKeys);
      Value top = b.loadVector(tops, line, shape.tileKeys);
      b.storeVector(b.maxf(s, top), tops, line);
    });
  });
  forHeads(1, [&](Value head) {
    SmallVector<Value> line = {head, b.index(0)};
    b.store(b.reduceMax(b.loadVector(tops, line, shape.tileKeys)), tops, line);
  });
  forTiles(count, fetch, [&] {
    scoreTile();
    addTile();
  });
  finish();
}

//===----------------------------------------------------------------------===//
// Launches
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

/// What both attentions start with.
enum AttentionOperand {
  Query,
  KV,
  Ring,
  Layer,
  Sink,
  Sequence,
  Position,
  Extents
};

/// Launches an attention over all rows and a few heads an item; `emitItems`
/// emits what was started: adjacent items of one row.
template <typename OpTy>
static Value
lowerAttention(Lowering &l, StringRef name, OpTy op,
               function_ref<void(KernelBuilder &b, AttentionEmitter &attention,
                                 const CallRow &row, ValueRange ins)>
                   emitItems) {
  AttentionShape shape(op.getHeads(), op.getWindow().getType().getDim(),
                       op.getRoundProbabilities(), l.getMaxLanes());
  Value n = l.rows(op.getQuery());
  return l.dispatch(
      name, l.times(n, shape.getItemsPerRow()), op->getOperands(),
      l.empty(op.getResult().getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        AttentionEmitter attention(b, shape);
        int64_t perRow = shape.getItemsPerRow();
        Value lastRow = b.div(b.add(end, perRow - 1), perRow);
        b.loop(b.div(begin, perRow), lastRow, [&](Value number) {
          CallRow row(b, number, ins[Sequence], ins[Position], ins[Extents]);
          Value rowItem = b.mul(number, perRow);
          Value last = b.min(end, b.add(rowItem, perRow));
          b.loop(b.max(begin, rowItem), last, shape.groupItems,
                 [&](Value item) {
                   Value items =
                       b.min(b.sub(last, item), b.index(shape.groupItems));
                   attention.start(number,
                                   b.mul(b.sub(item, rowItem), shape.itemHeads),
                                   b.mul(items, shape.itemHeads), ins[Query],
                                   ins[Sink], outs[0]);
                   emitItems(b, attention, row, ins);
                 });
        });
      })[0];
}

/// Writes the rows of a call to their ring slots, of each sequence the last
/// ones that the ring holds.
static void lowerRingWrite(Lowering &l, Value kv, TypedValue<WindowType> window,
                           Value layer, Value sequence, Value position,
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

SeenPositions mlir::dsflash::getSeenPositions(KernelBuilder &b,
                                              const CallRow &row, CSA2Op op) {
  int64_t visible = op.getSlidingWindow();
  Value first = b.max(b.add(row.position, 1 - visible),
                      op.getWithinCall() ? row.firstPosition : b.index(0));
  return {first, b.add(b.sub(row.position, first), 1)};
}

SeenPositions mlir::dsflash::getSeenPositions(KernelBuilder &b,
                                              const CallRow &row,
                                              DraftAttentionOp op) {
  int64_t visible = op.getSlidingWindow();
  Value ringCount = b.min(row.firstPosition, b.index(visible));
  return {b.sub(row.firstPosition, ringCount), b.add(ringCount, row.rowCount)};
}

static Value lowerByThreads(Lowering &l, CSA2Op op) {
  WindowType window = op.getWindow().getType();
  return lowerAttention(
      l, "csa2", op,
      [&](KernelBuilder &b, AttentionEmitter &attention, const CallRow &row,
          ValueRange ins) {
        PackedRows ring(b, ins[Ring], row.sequence);
        SeenPositions seen = getSeenPositions(b, row, op);
        Value first = seen.first, windowCount = seen.count;
        auto fetchWindow = [&](Value t, Value slot) {
          Value position = b.add(first, t);
          b.when(
              row.isInCall(b, position),
              [&] { attention.take(ins[KV], row.getRowOf(b, position), slot); },
              [&] {
                Value at = getRingRow(b, window, ins[Layer], position);
                attention.take(ring, at, slot);
              });
        };
        if (op.getMode() == Mode::Window) {
          attention.emit(windowCount, fetchWindow);
          return;
        }
        PackedRows global(b, ins[8], row.sequence);
        Value selection = ins[9];
        auto [firstColumn, columns] = getSelectedColumns(b, selection, row.row);
        Value column = b.sub(firstColumn, windowCount);
        auto fetch = [&](Value t, Value slot) {
          b.when(
              b.cmp(Cmp::slt, t, windowCount), [&] { fetchWindow(t, slot); },
              [&] {
                Value at = loadIndex(b, selection, {row.row, b.add(column, t)});
                b.when(
                    b.cmp(Cmp::sge, at, b.index(0)),
                    [&] { attention.take(global, at, slot); },
                    [&] { attention.hide(slot); });
              });
        };
        attention.emit(b.add(windowCount, columns), fetch);
      });
}

void mlir::dsflash::lowerOp(Lowering &l, CSA2Op op) {
  Value result = lowerByBlocks(l, op);
  if (!result)
    result = lowerByThreads(l, op);
  lowerRingWrite(l, op.getKv(), op.getWindow(), op.getLayer(), op.getSequence(),
                 op.getPosition(), op.getExtents());
  l.replace({result, op.getWindow()});
}

void mlir::dsflash::lowerOp(Lowering &l, DraftAttentionOp op) {
  WindowType window = op.getWindow().getType();
  if (Value result = lowerByBlocks(l, op))
    return l.replace(result);
  l.replace(lowerAttention(
      l, "draft_attention", op,
      [&](KernelBuilder &b, AttentionEmitter &attention, const CallRow &row,
          ValueRange ins) {
        PackedRows ring(b, ins[Ring], row.sequence);
        SeenPositions seen = getSeenPositions(b, row, op);
        Value ringCount = b.sub(row.firstPosition, seen.first);
        auto fetch = [&](Value t, Value slot) {
          b.when(
              b.cmp(Cmp::slt, t, ringCount),
              [&] {
                Value at =
                    getRingRow(b, window, ins[Layer], b.add(seen.first, t));
                attention.take(ring, at, slot);
              },
              [&] {
                Value at = b.add(row.firstRow, b.sub(t, ringCount));
                attention.take(ins[KV], at, slot);
              });
        };
        attention.emit(seen.count, fetch);
      }));
}

void mlir::dsflash::lowerOp(Lowering &l, AppendWindowOp op) {
  lowerRingWrite(l, op.getKv(), op.getWindow(), op.getLayer(), op.getSequence(),
                 op.getPosition(), op.getExtents());
  l.replace(op.getWindow());
}
