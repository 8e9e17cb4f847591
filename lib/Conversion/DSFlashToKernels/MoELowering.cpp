//===- MoELowering.cpp - Router and experts -------------------------------===//

#include "BestEntries.h"
#include "ElementWalk.h"
#include "Lowering.h"
#include "RowAccess.h"
#include "dsflash/Kernels/TensorProduct.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

//===----------------------------------------------------------------------===//
// Router
//===----------------------------------------------------------------------===//

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int64_t noExpert = std::numeric_limits<int32_t>::max();

/// An expert's place in the order of choice: higher keys, then lower ids.
struct Choice {
  Value key; // f32
  Value id;  // i32
};
} // namespace

/// sqrt(log(1 + exp(x))) without overflow.
static Value sqrtSoftplus(KernelBuilder &b, Value x) {
  Type type = x.getType();
  Value tail = b.log1p(b.exp(b.subf(b.constantLike(type, 0.0f), b.absf(x))));
  return b.sqrt(b.addf(b.maxf(b.constantLike(type, 0.0f), x), tail));
}

/// The first of keys[0, ...] that comes after `previous`. Each thread looks at
/// the keys that it stored itself.
static Choice findNext(KernelBuilder &b, Value keys, Choice previous) {
  int64_t experts = getFeatures(keys);
  int64_t lanes = b.getLanes(experts);
  SmallVector<int32_t> ascending(lanes);
  std::iota(ascending.begin(), ascending.end(), 0);
  Value lane = arith::ConstantOp::create(
      b, DenseElementsAttr::get(VectorType::get(lanes, b.getI32Type()),
                                ArrayRef<int32_t>(ascending)));
  Value lastKey = b.splat(previous.key, lanes);
  Value lastId = b.splat(previous.id, lanes);
  Value none = b.i32(noExpert, lanes);
  SmallVector<Value> best = b.shareLoop(
      experts, lanes, {b.f32(-infinity, lanes), none},
      [&](Value first, ArrayRef<Value> carried) -> SmallVector<Value> {
        Value key = b.loadVector(keys, {first}, lanes);
        Value id = b.add(b.splat(b.toI32(first), lanes), lane);
        Value after = b.cmp(Cmp::sgt, id, lastId);
        Value tie = b.cmpf(CmpF::OEQ, key, lastKey);
        Value left = b.bitOr(b.cmpf(CmpF::OLT, key, lastKey),
                             arith::AndIOp::create(b, tie, after));
        Value better = b.bitOr(b.cmpf(CmpF::OGT, key, carried[0]),
                               b.cmp(Cmp::eq, carried[1], none));
        Value taken = arith::AndIOp::create(b, left, better);
        return {b.select(taken, key, carried[0]),
                b.select(taken, id, carried[1])};
      });
  Value key = b.reduceMax(best[0]);
  Value equal = b.cmpf(CmpF::OEQ, best[0], b.splat(key, lanes));
  Value id = b.reduceMinI(b.select(equal, best[1], none));
  if (b.getThreads() == 1)
    return {key, id};
  Value rank = BestEntries::getRank(b, key), top = b.maxOfWarp(rank);
  Value isTop = b.cmp(Cmp::eq, rank, top);
  id = b.minOfWarp(b.select(isTop, id, b.i32(noExpert)));
  return {b.load(keys, {b.toIndex(id)}), id};
}

/// A warp chooses for a row on a device.
static BlockAttr getRouterBlock(ConfigAttr config, int64_t experts) {
  constexpr int64_t threads = 32;
  if (!config)
    return {};
  return BlockAttr::get(config.getContext(), threads, 2 * experts * 4);
}

void mlir::dsflash::lowerOp(Lowering &l, RouterOp op) {
  int64_t experts = getFeatures(op.getLogits());
  int64_t count = getFeatures(op.getExperts());
  float temperature = op.getTemperature().convertToFloat();
  float scaling = op.getScaling().convertToFloat();
  bool normalize = op.getNormalize() && count > 1;
  Value n = l.rows(op.getLogits());
  BlockAttr block = getRouterBlock(l.getConfig(), experts);
  l.replace(l.dispatch(
      "router", n, {op.getLogits(), op.getBias()},
      {l.empty(op.getExperts().getType(), n),
       l.empty(op.getWeights().getType(), n)},
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        Value bias = PackedRows(b, ins[1]).getPayload();
        auto makeBuffer = [&](int64_t offset) {
          Type f32 = b.getF32Type();
          return block ? b.shared(offset, {experts}, f32)
                       : b.scratch({experts}, f32);
        };
        Value scores = makeBuffer(0), keys = makeBuffer(experts * 4);
        b.loop(begin, end, [&](Value row) {
          // The row before is done with the scores.
          b.syncThreads();
          forVectors(b, experts, [&](Value first, int64_t lanes) {
            Value logits = b.loadVector(ins[0], {row, first}, lanes);
            Value score =
                sqrtSoftplus(b, b.divf(logits, b.f32(temperature, lanes)));
            b.storeVector(score, scores, {first});
            Value key =
                b.addf(score, loadFloats(b, bias, {b.index(0), first}, lanes));
            Value isNaN = b.cmpf(CmpF::UNO, key, key);
            b.storeVector(b.select(isNaN, b.f32(-infinity, lanes), key), keys,
                          {first});
          });
          b.syncThreads();
          SmallVector<Value> initial = {b.f32(infinity), b.i32(-1),
                                        b.f32(0.0f)};
          Value sum = b.loop(
              b.index(0), b.index(count), 1, initial,
              [&](Value choice, ArrayRef<Value> carried) -> SmallVector<Value> {
                Choice next = findNext(b, keys, {carried[0], carried[1]});
                Value score = b.load(scores, {b.toIndex(next.id)});
                b.onFirstThread([&] {
                  b.store(next.id, outs[0], {row, choice});
                  b.store(score, outs[1], {row, choice});
                });
                return {next.key, next.id, b.addf(carried[2], score)};
              })[2];
          Value divisor = b.addf(sum, b.f32(1e-20f));
          b.onFirstThread([&] {
            b.loop(count, [&](Value choice) {
              Value weight = b.load(outs[1], {row, choice});
              if (normalize)
                weight = b.divf(weight, divisor);
              b.store(b.mulf(weight, b.f32(scaling)), outs[1], {row, choice});
            });
          });
        });
      },
      /*writesState=*/false, block));
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// Slots as rows of what has a row for each choice.
static Value mergeRows(KernelBuilder &b, Value buffer) {
  SmallVector<ReassociationIndices> merged = {{0, 1}};
  if (cast<MemRefType>(buffer.getType()).getRank() == 3)
    merged.push_back({2});
  return memref::CollapseShapeOp::create(b, buffer, merged);
}

/// Emits the product of the slots of an expert, where it has any, with
/// `emit(b, rows, input, output)`.
static void
forExpert(KernelBuilder &b, Value expert, ValueRange ins, Value result,
          function_ref<void(const ProductRows &rows, Value input, Value output)>
              emit) {
  bool perChoice = cast<MemRefType>(ins[0].getType()).getRank() == 3;
  Value first = loadIndex(b, ins[3], {expert});
  Value last = loadIndex(b, ins[3], {b.add(expert, 1)});
  b.when(b.cmp(Cmp::slt, first, last), [&] {
    Value input = perChoice ? mergeRows(b, ins[0]) : Value(ins[0]);
    ProductRows rows = {b.sub(last, first), mergeRows(b, ins[2]), first,
                        perChoice ? 1 : getFeatures(ins[2])};
    emit(rows, input, mergeRows(b, result));
  });
}

/// Items are (tile of outputs, expert), experts innermost, so that every piece
/// of a launch holds a share of each expert that has slots.
void mlir::dsflash::lowerOp(Lowering &l, ExpertLinearOp op) {
  WeightType weight = op.getWeight().getType();
  int64_t experts = weight.getExperts();
  auto dispatch = [&](int64_t tiles, KernelBody body, BlockAttr block) {
    l.replace(l.dispatch("expert_linear", l.index(tiles * experts),
                         op->getOperands(),
                         l.empty(op.getType(), l.rows(op.getOrder())), body,
                         /*writesState=*/false, block));
  };
  TensorProduct onTensorCores(weight, /*groups=*/1, op.getRounded(),
                              l.getConfig());
  if (l.hasBF16Input() && onTensorCores.isPossible())
    return dispatch(
        onTensorCores.getTiles(),
        [&](KernelBuilder &b, Value item, Value, ValueRange ins,
            ValueRange outs) {
          Value expert = b.rem(item, experts), tile = b.div(item, experts);
          forExpert(b, expert, ins, outs[0],
                    [&](const ProductRows &rows, Value input, Value output) {
                      Value pieces = b.div(
                          b.add(rows.count, onTensorCores.getTileRows() - 1),
                          onTensorCores.getTileRows());
                      onTensorCores.emit(b, b.mul(tile, pieces),
                                         b.mul(b.add(tile, 1), pieces), rows,
                                         input, ins[1], output, expert);
                    });
        },
        onTensorCores.getBlock());
  MatrixProduct product(weight, /*groups=*/1, op.getRounded(),
                        l.builder().getF32Type(), l.hasPairs());
  dispatch(product.getTiles(),
           [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
               ValueRange outs) {
             b.loop(experts, [&](Value expert) {
               // The items tile * experts + expert of the range.
               auto tilesBelow = [&](Value item) {
                 Value ahead = b.add(b.sub(item, expert), experts - 1);
                 return b.div(ahead, experts);
               };
               forExpert(
                   b, expert, ins, outs[0],
                   [&](const ProductRows &rows, Value input, Value output) {
                     product.emit(b, tilesBelow(begin), tilesBelow(end), rows,
                                  input, ins[1], output, expert);
                   });
             });
           },
           /*block=*/{});
}

void mlir::dsflash::lowerOp(Lowering &l, SwiGLUOp op) {
  float limit = op.getLimit().convertToFloat();
  Value n = l.rows(op.getGate());
  l.replace(l.dispatch(
      "swiglu", n, op->getOperands(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          forRowVectors(b, ins[0], row, [&](ArrayRef<Value> at, int64_t lanes) {
            Value gate = b.loadVector(ins[0], at, lanes);
            Value up = b.loadVector(ins[1], at, lanes);
            if (limit > 0) {
              Value high = b.f32(limit, lanes), low = b.f32(-limit, lanes);
              gate = b.minf(high, gate);
              up = b.maxf(low, b.minf(high, up));
            }
            Value result = b.mulf(b.mulf(gate, b.sigmoid(gate)), up);
            if (ins.size() > 2) {
              Value route = b.load(ins[2], at.drop_back());
              result = b.mulf(b.splat(route, lanes), result);
            }
            b.storeVector(roundIf(b, op.getRounded(), result), outs[0], at);
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getGate())));
}

void mlir::dsflash::lowerOp(Lowering &l, CombineOp op) {
  int64_t choices = op.getRouted().getType().getDimSize(1);
  Value n = l.rows(op.getShared());
  l.replace(l.dispatch(
      "combine", n, op->getOperands(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          forVectors(b, getFeatures(outs[0]), [&](Value first, int64_t lanes) {
            Value sum = b.f32(0.0f, lanes);
            for (int64_t choice = 0; choice < choices; ++choice)
              sum = b.addf(
                  sum,
                  b.loadVector(ins[0], {row, b.index(choice), first}, lanes));
            sum = b.addf(sum, b.loadVector(ins[1], {row, first}, lanes));
            b.storeVector(roundIf(b, op.getRounded(), sum), outs[0],
                          {row, first});
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getShared())));
}
