//===- BlockAttention.cpp - Attention by blocks of threads ----------------===//

#include "dsflash/Kernels/BlockAttention.h"
#include "HeadLoader.h"
#include "KeyLoader.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

static constexpr int64_t kKeys = BlockAttention::tileKeys,
                         kFeatures = BlockAttention::tileFeatures,
                         kKeyStep = BlockAttention::keyStep;
static_assert(BlockAttention::tileHeads == AttentionTile::heads &&
              kFeatures == KeyLoader::width);

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

BlockAttention::BlockAttention(ConfigAttr config, int64_t heads, int64_t dim,
                               int64_t mostKeys, FormatAttr ring,
                               FormatAttr global, bool roundProbabilities,
                               bool hasBF16Rows)
    : config(config), heads(heads), dim(dim),
      pitch(llvm::alignTo(mostKeys, kKeyStep)), ring(ring), global(global),
      roundProbabilities(roundProbabilities),
      onTensorCores(hasBF16Rows && roundProbabilities &&
                    !config.getTile().empty() && ring.hasScale() &&
                    (!global || global.hasScale())) {}

bool BlockAttention::isPossible() const {
  auto fits = [&](BlockAttr block) {
    return block.getSharedBytes() <= config.getSharedBytes();
  };
  return KeyLoader::isPossible(ring, dim) &&
         (!global || KeyLoader::isPossible(global, dim)) &&
         fits(getScoreBlock()) && fits(getValueBlock());
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

struct BlockAttention::Layout {
  AttentionTile::Shape tile;
  KeyLoader::Shape keys;
  int64_t headsOffset, keysOffset, bytes;

  Layout(AttentionTile::Shape tile, KeyLoader::Shape keys, Type headElement)
      : tile(tile), keys(keys),
        headsOffset(llvm::alignTo(tile.getBytes(), 128)),
        keysOffset(headsOffset +
                   HeadLoader::getBytes(tile, headElement, keys.stages)),
        bytes(keysOffset + keys.getBytes()) {}
};

BlockAttention::Layout BlockAttention::getScoreLayout(int64_t stages) const {
  // Queries are f32, which tensor cores cannot take where they were copied to.
  int64_t leftStages = onTensorCores ? 1 : stages;
  return Layout({onTensorCores, /*depth=*/KeyLoader::width, /*columns=*/kKeys,
                 /*isTransposed=*/false, leftStages},
                {ring, global, dim, stages, /*count=*/kKeys, /*total=*/kKeys,
                 /*features=*/dim, /*isSliced=*/false},
                Float32Type::get(config.getContext()));
}

BlockAttention::Layout BlockAttention::getValueLayout(int64_t stages) const {
  return Layout({onTensorCores, /*depth=*/kKeys, /*columns=*/kFeatures,
                 /*isTransposed=*/true, /*leftStages=*/stages},
                {ring, global, dim, stages, /*count=*/kKeys, /*total=*/pitch,
                 /*features=*/kFeatures, /*isSliced=*/true},
                getProbabilityType());
}

BlockAttention::Layout BlockAttention::getScoreLayout() const {
  return getScoreLayout(chooseStages(
      config, [&](int64_t stages) { return getScoreLayout(stages).bytes; }));
}
BlockAttention::Layout BlockAttention::getValueLayout() const {
  return getValueLayout(chooseStages(
      config, [&](int64_t stages) { return getValueLayout(stages).bytes; }));
}

Type BlockAttention::getProbabilityType() const {
  MLIRContext *context = config.getContext();
  return onTensorCores ? Type(BFloat16Type::get(context))
                       : Float32Type::get(context);
}

bool BlockAttention::hasKeyScales() const {
  return getScoreLayout(/*stages=*/2).keys.getScales() > 0;
}
int64_t BlockAttention::getKeyScales() const {
  return KeyLoader::getSlices(dim) * pitch;
}

BlockAttr BlockAttention::getScoreBlock() const {
  return BlockAttr::get(config.getContext(), AttentionTile::threads,
                        getScoreLayout().bytes);
}
BlockAttr BlockAttention::getSoftmaxBlock() const {
  return BlockAttr::get(config.getContext(), kWarp,
                        KernelBuilder::getSumBytes(kWarp));
}
BlockAttr BlockAttention::getValueBlock() const {
  return BlockAttr::get(config.getContext(), AttentionTile::threads,
                        getValueLayout().bytes);
}

//===----------------------------------------------------------------------===//
// What scores and values share
//===----------------------------------------------------------------------===//

/// Of the function of a kernel.
std::string BlockAttention::getName(const std::string &part) const {
  std::string name =
      "attention_" + part + "." + describeAttention(heads, dim, ring, global);
  return onTensorCores ? name + ".tensor" : name;
}

static Value roundUp(KernelBuilder &b, Value value, int64_t step) {
  return b.mul(b.div(b.add(value, step - 1), step), step);
}

/// Sums over `count` terms, those of a step while the copies of the steps
/// behind it are under way. `start` starts the copies of a step from a term on
/// to a stage, `finish` brings what was copied to the tile.
static SmallVector<Value>
sumSteps(KernelBuilder &b, AttentionTile &tile,
         const AttentionTile::Shape &shape, int64_t stages, Value count,
         HeadLoader &heads, Value headCount,
         function_ref<void(Value stage, Value term)> start,
         function_ref<void(Value stage, Value term)> finish) {
  auto startStep = [&](Value step) {
    Value term = b.mul(step, shape.depth);
    b.when(b.cmp(Cmp::slt, term, count), [&] {
      Value stage = b.rem(step, stages);
      heads.start(stage, term);
      start(stage, term);
    });
    commitCopies(b);
  };
  for (int64_t step = 0; step < stages - 1; ++step)
    startStep(b.index(step));
  Value steps = b.div(b.add(count, shape.depth - 1), shape.depth);
  return b.loop(b.index(0), steps, 1, tile.getZeros(),
                [&](Value step, ArrayRef<Value> carried) {
                  awaitCopies(b, stages - 2);
                  b.barrier();
                  // The stage of the step before, which all have left.
                  startStep(b.add(step, stages - 1));
                  Value stage = b.rem(step, stages);
                  heads.finish(stage);
                  finish(stage, b.mul(step, shape.depth));
                  b.barrier();
                  return tile.multiply(headCount, heads.getLeftStage(stage),
                                       carried);
                });
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void BlockAttention::emitScores(KernelBuilder &b, const AttentionKeys &keys,
                                Value item, Value query, Value scores,
                                Value bounds, Value keyScales) const {
  auto emit = [&](KernelBuilder &b, const AttentionKeys &keys,
                  ValueRange others) {
    Value item = others[0], pitch = others[1], query = others[2],
          scores = others[3], bounds = others[4];
    Value keyScales = hasKeyScales() ? others[5] : Value();
    Layout layout = getScoreLayout();
    AttentionTile tile(b, layout.tile);
    KeyLoader loader(b, keys, layout.keys, layout.keysOffset);
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
    b.when(b.cmp(Cmp::slt, begin, roundUp(b, end, kKeyStep)), [&] {
      loader.find(begin, end, firstColumn, /*firstFeature=*/b.index(0));
      b.barrier();
      if (keyScales)
        b.when(b.cmp(Cmp::eq, group.first, b.index(0)),
               [&] { loader.storeSlices(keyScales, begin, pitch); });
      HeadLoader queries(b, tile, layout.tile, group, query, keys.row,
                         b.index(dim), layout.keys.stages, layout.headsOffset);
      storeScores(sumSteps(
          b, tile, layout.tile, layout.keys.stages, b.index(dim), queries,
          group.count,
          [&](Value stage, Value feature) {
            loader.start(stage, /*firstSlot=*/b.index(0), feature);
          },
          [&](Value stage, Value feature) {
            loader.finish(tile, stage, /*firstSlot=*/b.index(0), feature);
          }));
    });
  };
  SmallVector<Value> others = {item, b.index(pitch), query, scores, bounds};
  if (keyScales)
    others.push_back(keyScales);
  keys.callFunction(b, getName("scores"), others, emit);
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

void BlockAttention::emitSoftmax(KernelBuilder &b, Value row, Value head,
                                 Value sink, Value scores, Value bounds,
                                 Value probabilities,
                                 Value denominators) const {
  constexpr int64_t lanes = 4;
  // The lowest finite value keeps a row without keys free of NaN.
  constexpr float lowest = std::numeric_limits<float>::lowest();
  Value count = b.toIndex(b.load(bounds, {row, b.index(1)}));
  Value first = b.mul(head, pitch);
  auto overKeys = [&](Value initial, function_ref<Value(Value, Value)> body) {
    return b.loop(
        b.mul(b.thread(), lanes), roundUp(b, count, kKeyStep), kWarp * lanes,
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
                                Value keyScales, Value result) const {
  auto emit = [&](KernelBuilder &b, const AttentionKeys &keys,
                  ValueRange others) {
    Value item = others[0], pitch = others[1], probabilities = others[2],
          denominators = others[3], bounds = others[4], result = others[5];
    Value keyScales = hasKeyScales() ? others[6] : Value();
    Layout layout = getValueLayout();
    AttentionTile tile(b, layout.tile);
    KeyLoader loader(b, keys, layout.keys, layout.keysOffset);
    Value firstColumn = b.toIndex(b.load(bounds, {keys.row, b.index(0)}));
    Value end = b.toIndex(b.load(bounds, {keys.row, b.index(1)}));
    int64_t slices = llvm::divideCeil(dim, kFeatures);
    HeadGroup group(b, b.div(item, slices), heads);
    Value firstFeature = b.mul(b.rem(item, slices), kFeatures);
    HeadLoader weights(b, tile, layout.tile, group, probabilities, keys.row,
                       pitch, layout.keys.stages, layout.headsOffset);
    // Shared memory of the item before is free.
    b.barrier();
    loader.find(b.index(0), end, firstColumn, firstFeature, keyScales, pitch);
    b.barrier();
    SmallVector<Value> sums = sumSteps(
        b, tile, layout.tile, layout.keys.stages, end, weights, group.count,
        [&](Value stage, Value t) { loader.start(stage, t, firstFeature); },
        [&](Value stage, Value t) {
          loader.finish(tile, stage, t, firstFeature);
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
  // The number of keys that have a place is one of the function's own.
  SmallVector<Value> others = {item,         b.index(pitch), probabilities,
                               denominators, bounds,         result};
  if (keyScales)
    others.push_back(keyScales);
  keys.callFunction(b, getName("values." + std::to_string(pitch)), others,
                    emit);
}
