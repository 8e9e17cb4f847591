//===- BlockAttention.cpp - Attention by blocks of threads ----------------===//

#include "dsflash/Kernels/BlockAttention.h"
#include "KeyLoader.h"
#include "ProductOperands.h"
#include "dsflash/Kernels/SharedFunction.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

/// Keys of a block that scores, features of one that adds values.
static constexpr int64_t kKeys = 32, kFeatures = KeyLoader::width;
static constexpr int64_t kDepth = AttentionTile::depth;

SmallVector<Value *> AttentionKeys::list() {
  SmallVector<Value *> all = {&kv,          &ringPayload,  &first,
                              &windowCount, &callPosition, &callRow,
                              &layerRow,    &slots,        &row};
  if (ringScales)
    all.push_back(&ringScales);
  if (selection)
    all.append({&globalPayload, &selection});
  if (globalScales)
    all.push_back(&globalScales);
  return all;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

BlockAttention::BlockAttention(int64_t heads, int64_t dim, int64_t mostKeys,
                               FormatAttr ring, FormatAttr global,
                               bool roundProbabilities, bool onTensorCores)
    : heads(heads), dim(dim), pitch(llvm::alignTo(mostKeys, kDepth)),
      ring(ring), global(global), roundProbabilities(roundProbabilities),
      onTensorCores(onTensorCores && roundProbabilities) {}

bool BlockAttention::isPossible() const {
  auto isPossibleFor = [](FormatAttr format) {
    return !format || !format.hasScale() ||
           format.getBlockColumns() % packedUnit == 0;
  };
  return dim % packedUnit == 0 && isPossibleFor(ring) && isPossibleFor(global);
}

int64_t BlockAttention::getHeadGroups() const {
  return llvm::divideCeil(heads, AttentionTile::heads);
}
int64_t BlockAttention::getScoreItems() const {
  return getHeadGroups() * (pitch / kKeys);
}
int64_t BlockAttention::getValueItems() const {
  return getHeadGroups() * llvm::divideCeil(dim, kFeatures);
}

/// The first byte behind a tile.
static int64_t getKeysOffset(bool onTensorCores, bool addsValues) {
  return llvm::alignTo(AttentionTile::getSharedBytes(
                           onTensorCores, addsValues ? kFeatures : kKeys,
                           /*isTransposed=*/addsValues),
                       sizeof(int64_t));
}

BlockAttr BlockAttention::getScoreBlock(MLIRContext *context) const {
  return BlockAttr::get(context, AttentionTile::threads,
                        getKeysOffset(onTensorCores, /*addsValues=*/false) +
                            KeyLoader::getSharedBytes(kKeys));
}
BlockAttr BlockAttention::getSoftmaxBlock(MLIRContext *context) const {
  return BlockAttr::get(context, kWarp, KernelBuilder::getSumBytes(kWarp));
}
BlockAttr BlockAttention::getValueBlock(MLIRContext *context) const {
  return BlockAttr::get(context, AttentionTile::threads,
                        getKeysOffset(onTensorCores, /*addsValues=*/true) +
                            KeyLoader::getSharedBytes(kDepth));
}

//===----------------------------------------------------------------------===//
// What scores and values share
//===----------------------------------------------------------------------===//

/// Emits a function's body for the keys and the other operands of a call.
using KeysBody =
    function_ref<void(KernelBuilder &, const AttentionKeys &, ValueRange)>;

void BlockAttention::callFunction(KernelBuilder &b, StringRef part,
                                  AttentionKeys keys, ValueRange others,
                                  KeysBody emitBody) const {
  std::string name = "attention_" + part.str() + "." + std::to_string(heads) +
                     "x" + std::to_string(dim) + "." + describeProduct(ring);
  if (global)
    name += "." + describeProduct(global);
  if (onTensorCores)
    name += ".tensor";
  SmallVector<Value> operands;
  for (Value *operand : keys.list())
    operands.push_back(*operand);
  llvm::append_range(operands, others);
  for (Value &operand : operands)
    if (isa<MemRefType>(operand.getType()))
      operand = forgetExtents(b, operand);
  callShared(b, name, operands, [&](KernelBuilder &body, ValueRange arguments) {
    AttentionKeys inside = keys;
    SmallVector<Value *> list = inside.list();
    for (auto [operand, argument] : llvm::zip(list, arguments))
      *operand = argument;
    emitBody(body, inside, arguments.drop_front(list.size()));
    return SmallVector<Value>();
  });
}

namespace {
/// The heads of an item.
struct HeadGroup {
  HeadGroup(KernelBuilder &b, Value group, int64_t heads)
      : first(b.mul(group, AttentionTile::heads)),
        count(b.min(b.sub(b.index(heads), first),
                    b.index(AttentionTile::heads))) {}

  Value first, count;
};
} // namespace

static Value roundUp(KernelBuilder &b, Value value, int64_t step) {
  return b.mul(b.div(b.add(value, step - 1), step), step);
}

/// Brings the terms from `begin` on of a row's heads to the left of the tile,
/// zeros behind `terms` and behind the last head. A head has `pitch` elements.
static void loadHeads(KernelBuilder &b, AttentionTile &tile, Value matrix,
                      Value row, const HeadGroup &group, Value pitch,
                      Value begin, Value terms) {
  Type element = cast<MemRefType>(matrix.getType()).getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, unit = 16 / bytes;
  int64_t units = kDepth / unit;
  b.loop(b.thread(), b.mul(roundUp(b, group.count, kM), units),
         AttentionTile::threads, [&](Value number) {
           Value head = b.div(number, units);
           Value at = b.mul(b.rem(number, units), unit);
           Value term = b.add(begin, at);
           Value isThere =
               arith::AndIOp::create(b, b.cmp(Cmp::slt, head, group.count),
                                     b.cmp(Cmp::slt, term, terms));
           b.when(
               isThere,
               [&] {
                 Value from = b.mul(b.add(group.first, head), pitch);
                 tile.storeLeft(b.loadVector(matrix, {row, b.add(from, term)},
                                             unit, llvm::Align(16)),
                                head, at);
               },
               [&] {
                 auto zeros = b.getZeroAttr(VectorType::get(unit, element));
                 tile.storeLeft(arith::ConstantOp::create(b, zeros), head, at);
               });
         });
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void BlockAttention::emitScores(KernelBuilder &b, const AttentionKeys &keys,
                                Value item, Value query, Value scores,
                                Value bounds) const {
  auto emit = [&](KernelBuilder &b, const AttentionKeys &keys,
                  ValueRange others) {
    Value item = others[0], pitch = others[1], query = others[2],
          scores = others[3], bounds = others[4];
    AttentionTile tile(b, onTensorCores, kKeys, /*isTransposed=*/false);
    KeyLoader loader(b, keys, ring, global, dim, kKeys,
                     getKeysOffset(onTensorCores, /*addsValues=*/false));
    // Shared memory of the item before is free.
    b.barrier();
    Value firstColumn = b.index(0), end = keys.windowCount;
    if (keys.selection) {
      auto [first, count] = loader.findSelected();
      firstColumn = first;
      end = b.add(end, count);
    }
    Value isFirst =
        arith::AndIOp::create(b, b.cmp(Cmp::eq, item, b.index(0)),
                              b.cmp(Cmp::eq, b.thread(), b.index(0)));
    b.when(isFirst, [&] {
      b.store(b.toI32(firstColumn), bounds, {keys.row, b.index(0)});
      b.store(b.toI32(end), bounds, {keys.row, b.index(1)});
    });
    Value tiles = b.div(pitch, kKeys);
    HeadGroup group(b, b.div(item, tiles), heads);
    Value begin = b.mul(b.rem(item, tiles), kKeys);
    auto storeScores = [&](ArrayRef<Value> sums) {
      float scale =
          static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)));
      constexpr float hidden = -std::numeric_limits<float>::infinity();
      tile.forSums(sums, [&](int64_t number, Value column, Value both) {
        Value head = tile.getHead(number);
        b.when(b.cmp(Cmp::slt, head, group.count), [&] {
          SmallVector<Value> masks;
          for (int64_t i = 0; i < 2; ++i)
            masks.push_back(b.select(loader.isThere(b.add(column, i)),
                                     b.f32(0.0f), b.f32(hidden)));
          Value mask = vector::FromElementsOp::create(
              b, VectorType::get(2, b.getF32Type()), masks);
          Value score = b.addf(b.mulf(both, b.f32(scale, 2)), mask);
          Value at = b.add(b.mul(b.add(group.first, head), pitch),
                           b.add(begin, column));
          b.storeVector(score, scores, {keys.row, at}, llvm::Align(8));
        });
      });
    };
    // Up to where the kernels behind read.
    b.when(b.cmp(Cmp::slt, begin, roundUp(b, end, kDepth)), [&] {
      loader.find(begin, end, firstColumn);
      b.barrier();
      storeScores(b.loop(b.index(0), b.index(dim), kDepth, tile.getZeros(),
                         [&](Value feature, ArrayRef<Value> carried) {
                           loadHeads(b, tile, query, keys.row, group,
                                     b.index(dim), feature, b.index(dim));
                           loader.load(tile, feature);
                           b.barrier();
                           SmallVector<Value> next =
                               tile.multiply(group.count, carried);
                           b.barrier();
                           return next;
                         }));
    });
  };
  callFunction(b, "scores", keys, {item, b.index(pitch), query, scores, bounds},
               emit);
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

void BlockAttention::emitSoftmax(KernelBuilder &b, Value row, Value head,
                                 Value sink, Value scores, Value bounds,
                                 Value probabilities,
                                 Value denominators) const {
  constexpr int64_t lanes = floatUnit;
  // The lowest finite value keeps a row without keys free of NaN.
  constexpr float lowest = std::numeric_limits<float>::lowest();
  Value count = b.toIndex(b.load(bounds, {row, b.index(1)}));
  Value first = b.mul(head, pitch);
  auto overKeys = [&](Value initial, function_ref<Value(Value, Value)> body) {
    return b.loop(
        b.mul(b.thread(), lanes), roundUp(b, count, kDepth), kWarp * lanes,
        {initial}, [&](Value t, ArrayRef<Value> carried) {
          return SmallVector<Value>{body(b.add(first, t), carried[0])};
        })[0];
  };
  auto loadScores = [&](Value at) {
    return b.loadVector(scores, {row, at}, lanes, llvm::Align(lanes * 4));
  };
  Value top = b.maxThreads(
      b.reduceMax(overKeys(b.f32(lowest, lanes), [&](Value at, Value carried) {
        return b.maxf(loadScores(at), carried);
      })));
  Value sum = b.sumThreads(
      b.reduceAdd(overKeys(b.f32(0.0f, lanes), [&](Value at, Value carried) {
        Value e = b.exp(b.subf(loadScores(at), b.splat(top, lanes)));
        Value p = roundProbabilities ? b.round(e) : e;
        if (onTensorCores)
          p = toBF16(b, p);
        int64_t bytes =
            getElementTypeOrSelf(p.getType()).getIntOrFloatBitWidth() / 8;
        b.storeVector(p, probabilities, {row, at}, llvm::Align(lanes * bytes));
        return b.addf(carried, e);
      })));
  b.when(b.cmp(Cmp::eq, b.thread(), b.index(0)), [&] {
    Value all = b.addf(sum, b.exp(b.subf(sink, top)));
    // It is 0 only where there is no key.
    Value isZero = b.cmpf(arith::CmpFPredicate::OEQ, all, b.f32(0.0f));
    b.store(b.select(isZero, b.f32(1.0f), all), denominators, {row, head});
  });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void BlockAttention::emitValues(KernelBuilder &b, const AttentionKeys &keys,
                                Value item, Value probabilities,
                                Value denominators, Value bounds,
                                Value result) const {
  auto emit = [&](KernelBuilder &b, const AttentionKeys &keys,
                  ValueRange others) {
    Value item = others[0], pitch = others[1], probabilities = others[2],
          denominators = others[3], bounds = others[4], result = others[5];
    AttentionTile tile(b, onTensorCores, kFeatures, /*isTransposed=*/true);
    KeyLoader loader(b, keys, ring, global, dim, kDepth,
                     getKeysOffset(onTensorCores, /*addsValues=*/true));
    Value firstColumn = b.toIndex(b.load(bounds, {keys.row, b.index(0)}));
    Value end = b.toIndex(b.load(bounds, {keys.row, b.index(1)}));
    int64_t slices = llvm::divideCeil(dim, kFeatures);
    HeadGroup group(b, b.div(item, slices), heads);
    Value firstFeature = b.mul(b.rem(item, slices), kFeatures);
    SmallVector<Value> sums =
        b.loop(b.index(0), end, kDepth, tile.getZeros(),
               [&](Value begin, ArrayRef<Value> carried) {
                 // The tile of the keys before is free.
                 b.barrier();
                 loader.find(begin, end, firstColumn);
                 loadHeads(b, tile, probabilities, keys.row, group, pitch,
                           begin, pitch);
                 b.barrier();
                 loader.load(tile, firstFeature);
                 b.barrier();
                 return tile.multiply(group.count, carried);
               });
    SmallVector<Value> divisors;
    for (int64_t number : {0, 1}) {
      Value head =
          b.min(b.add(group.first, tile.getHead(number)), b.index(heads - 1));
      divisors.push_back(b.splat(b.load(denominators, {keys.row, head}), 2));
    }
    tile.forSums(sums, [&](int64_t number, Value column, Value both) {
      Value head = tile.getHead(number);
      Value feature = b.add(firstFeature, column);
      Value isThere =
          arith::AndIOp::create(b, b.cmp(Cmp::slt, head, group.count),
                                b.cmp(Cmp::slt, feature, b.index(dim)));
      b.when(isThere, [&] {
        Value of = b.add(group.first, head);
        b.storeVector(b.divf(both, divisors[number]), result,
                      {keys.row, b.add(b.mul(of, dim), feature)},
                      llvm::Align(8));
      });
    });
  };
  callFunction(
      b, "values", keys,
      {item, b.index(pitch), probabilities, denominators, bounds, result},
      emit);
}
