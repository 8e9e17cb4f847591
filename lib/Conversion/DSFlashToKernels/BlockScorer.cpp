//===- BlockScorer.cpp - Scores of index keys by a block ------------------===//
//
// A few features of all keys of the tile are decoded into shared memory, then
// each warp multiplies a few heads with all keys: a thread has four keys, 32
// apart, and its warp's heads. Behind the last features the products go through
// shared memory, and a thread adds those of one key.
//
//===----------------------------------------------------------------------===//

#include "BlockScorer.h"
#include "dsflash/Kernels/SharedFunction.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

namespace {
constexpr int64_t kWarp = 32, kWarps = ScoreTile::keys / kWarp;
constexpr int64_t kUnitBytes = 16, kVector = 4;
constexpr llvm::Align kVectorAlign = llvm::Align::Constant<16>();
/// Keys of a thread while it multiplies.
constexpr int64_t kThreadKeys = ScoreTile::keys / kWarp;
} // namespace

ScoreTile::ScoreTile(IndexKeysType type, int64_t heads, int64_t entryBytes)
    : heads(heads), dim(type.getDim()), format(type.getRowFormat()) {
  constexpr int64_t mostFeatures = 64, padding = 4;
  features = std::gcd(dim, mostFeatures);
  int64_t bytes = format.getPayloadBytes(features);
  unitFeatures = features * kUnitBytes / std::max(bytes, kUnitBytes);
  pitch = features + padding;
  warpHeads = llvm::divideCeil(heads, kWarps);
  sharedBytes = KernelBuilder::getSumBytes(keys);
  auto place = [&](int64_t size) {
    int64_t offset = sharedBytes;
    sharedBytes += llvm::alignTo(size, kUnitBytes);
    return offset;
  };
  rows = place(keys * 4);
  weights = place(heads * 4);
  query = place(heads * dim * 4);
  tile = place(std::max(pitch, heads) * keys * 4);
  entries = place(entryBytes);
}

bool ScoreTile::isPossible(ConfigAttr config) const {
  constexpr int64_t mostWarpHeads = 16;
  int64_t bytes = format.getPayloadBytes(features);
  int64_t units = bytes / kUnitBytes;
  bool isDecoded =
      !format.hasScale() || format.getBlockColumns() % unitFeatures == 0;
  return bytes % kUnitBytes == 0 && llvm::isPowerOf2_64(units) &&
         units <= kWarp && isDecoded && warpHeads <= mostWarpHeads &&
         sharedBytes <= config.getSharedBytes();
}

BlockScorer::BlockScorer(KernelBuilder &b, const ScoreTile &shape)
    : b(b), shape(shape), thread(b.thread()), warp(b.div(thread, kWarp)),
      lane(b.rem(thread, kWarp)) {
  Type f32 = b.getF32Type();
  rows = b.shared(shape.rows, {ScoreTile::keys}, b.getI32Type());
  weights = b.shared(shape.weights, {shape.heads}, f32);
  query = b.shared(shape.query, {shape.heads * shape.dim}, f32);
  tile = b.shared(shape.tile, {ScoreTile::keys, shape.pitch}, f32);
  dots = b.shared(shape.tile, {shape.heads, ScoreTile::keys}, f32);
}

void BlockScorer::start(Value row, Value queries, Value headWeights) {
  b.shareLoop(shape.heads * shape.dim, kVector, [&](Value i) {
    b.storeVector(b.loadVector(queries, {row, i}, kVector), query, {i},
                  kVectorAlign);
  });
  b.shareLoop(shape.heads, 1, [&](Value head) {
    b.store(b.load(headWeights, {row, head}), weights, {head});
  });
}

/// Brings a chunk of the features of all keys to the tile. Adjacent threads
/// have different keys, so that their stores do not conflict, and a warp has
/// all units of its keys.
void BlockScorer::decode(Value chunk) {
  int64_t units = shape.features / shape.unitFeatures;
  int64_t warpKeys = kWarp / units;
  FormatAttr format = shape.format;
  auto stored = cast<MemRefType>(payload.getType());
  int64_t elements = kUnitBytes * 8 / stored.getElementTypeBitWidth();
  b.loop(units, [&](Value turn) {
    Value group = b.add(b.mul(turn, kWarps), warp);
    Value key = b.add(b.mul(group, warpKeys), b.rem(lane, warpKeys));
    Value unit = b.div(lane, warpKeys);
    Value row = loadIndex(b, rows, {key});
    Value scale;
    if (format.hasScale()) {
      Value feature =
          b.add(b.mul(chunk, shape.features), b.mul(unit, shape.unitFeatures));
      Value code = b.load(scales, {b.div(row, format.getBlockRows()),
                                   b.div(feature, format.getBlockColumns())});
      scale = b.decodeScale(code, format);
    }
    Value first = b.add(b.mul(chunk, units * elements), b.mul(unit, elements));
    Value values = b.decodeStored(b.loadVector(payload, {row, first}, elements),
                                  scale, format);
    for (int64_t i = 0; i < shape.unitFeatures; i += kVector)
      b.storeVector(b.slice(values, i, kVector), tile,
                    {key, b.add(b.mul(unit, shape.unitFeatures), i)},
                    kVectorAlign);
  });
}

/// Adds four features to the sums [head of the warp, key of the thread].
SmallVector<Value> BlockScorer::multiply(Value chunk, Value feature,
                                         ArrayRef<Value> sums) {
  SmallVector<Value> keys, next(sums);
  for (int64_t k = 0; k < kThreadKeys; ++k)
    keys.push_back(b.loadVector(tile, {b.add(lane, k * kWarp), feature},
                                kVector, kVectorAlign));
  Value first = b.mul(warp, shape.warpHeads), last = b.index(shape.heads - 1);
  Value column = b.add(b.mul(chunk, shape.features), feature);
  for (int64_t h = 0; h < shape.warpHeads; ++h) {
    Value head = b.min(b.add(first, h), last);
    Value q = b.loadVector(query, {b.add(b.mul(head, shape.dim), column)},
                           kVector, kVectorAlign);
    b.addProducts(q, keys,
                  MutableArrayRef(next).slice(h * kThreadKeys, kThreadKeys));
  }
  return next;
}

/// The weighted sum of this thread's key over all heads.
Value BlockScorer::addHeads() {
  int64_t lanes = std::gcd(shape.heads, KernelBuilder::processorLanes);
  auto type = VectorType::get(lanes, b.getF32Type());
  Value sum = b.f32(0.0f, lanes);
  for (int64_t first = 0; first < shape.heads; first += lanes) {
    SmallVector<Value> products, factors;
    for (int64_t head = first; head < first + lanes; ++head) {
      products.push_back(b.load(dots, {b.index(head), thread}));
      factors.push_back(b.load(weights, {b.index(head)}));
    }
    sum = b.fma(vector::FromElementsOp::create(b, type, factors),
                vector::FromElementsOp::create(b, type, products), sum);
  }
  return b.reduceAdd(sum);
}

Value BlockScorer::emitScore(Value position) {
  b.store(b.toI32(position), rows, {thread});
  b.barrier();
  SmallVector<Value> sums(shape.warpHeads * kThreadKeys, b.f32(0.0f));
  sums = b.loop(b.index(0), b.index(shape.dim / shape.features), 1, sums,
                [&](Value chunk, ArrayRef<Value> carried) {
                  decode(chunk);
                  b.barrier();
                  SmallVector<Value> next = b.loop(
                      b.index(0), b.index(shape.features), kVector, carried,
                      [&](Value feature, ArrayRef<Value> inner) {
                        return multiply(chunk, feature, inner);
                      });
                  b.barrier();
                  return next;
                });
  Value zero = b.f32(0.0f);
  for (int64_t h = 0; h < shape.warpHeads; ++h) {
    Value head = b.add(b.mul(warp, shape.warpHeads), h);
    b.when(b.cmp(Cmp::slt, head, b.index(shape.heads)), [&] {
      for (int64_t k = 0; k < kThreadKeys; ++k) {
        Value dot = sums[h * kThreadKeys + k];
        Value isBelow = b.cmpf(arith::CmpFPredicate::OLT, dot, zero);
        // A NaN stays one.
        b.store(b.select(isBelow, zero, dot), dots,
                {head, b.add(lane, k * kWarp)});
      }
    });
  }
  b.barrier();
  return addHeads();
}

Value BlockScorer::score(const PackedRows &keys, Value position) {
  SmallVector<Value> operands{position};
  for (Value plane : {keys.getPayload(), keys.getScales()}) {
    if (!plane)
      continue;
    auto type = cast<MemRefType>(plane.getType());
    operands.push_back(memref::CastOp::create(
        b, type.clone({ShapedType::kDynamic, type.getDimSize(1)}), plane));
  }
  std::string name = "score_keys." + std::to_string(shape.heads) + "x" +
                     std::to_string(shape.dim) + "." +
                     stringifyElement(shape.format.getElement()).str();
  if (shape.format.hasScale())
    name += "." + std::to_string(shape.format.getBlockColumns());
  return callShared(b, name, operands,
                    [&](KernelBuilder &body, ValueRange arguments) {
                      BlockScorer scorer(body, shape);
                      scorer.payload = arguments[1];
                      if (arguments.size() > 2)
                        scorer.scales = arguments[2];
                      return SmallVector<Value>{scorer.emitScore(arguments[0])};
                    })[0];
}
