//===- KeyLoader.cpp - Keys of an attention on their way to a tile --------===//
//
// One thread finds a key, so that its place costs one division; then all
// threads share the features, those of f32 rows four at a time and those of
// packed rows eight.
//
//===----------------------------------------------------------------------===//

#include "KeyLoader.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

static constexpr int64_t kThreads = AttentionTile::threads;
static constexpr int64_t kWarps = kThreads / kWarp;
static constexpr int64_t kSourceBits = 2;

KeyLoader::KeyLoader(KernelBuilder &b, const AttentionKeys &keys,
                     FormatAttr ring, FormatAttr global, int64_t dim,
                     int64_t count, int64_t offset)
    : b(b), keys(keys), ring(ring), global(global), dim(dim), count(count),
      places(b.shared(offset, {count}, b.getI64Type())),
      limits(b.shared(offset + count * sizeof(int64_t), {kWarps, 2},
                      b.getI32Type())) {}

int64_t KeyLoader::getSharedBytes(int64_t count) {
  return count * sizeof(int64_t) + kWarps * 2 * sizeof(int32_t);
}

//===----------------------------------------------------------------------===//
// Which keys
//===----------------------------------------------------------------------===//

std::pair<Value, Value> KeyLoader::findSelected() {
  Value columns = memref::DimOp::create(b, keys.selection, 1);
  Value thread = b.thread();
  SmallVector<Value> own =
      b.loop(thread, columns, kThreads, {b.toI32(columns), b.i32(0)},
             [&](Value column, ArrayRef<Value> carried) {
               Value isSelected =
                   b.cmp(Cmp::sge, b.load(keys.selection, {keys.row, column}),
                         b.i32(0));
               Value number = b.toI32(column);
               return SmallVector<Value>{
                   b.select(isSelected, b.min(carried[0], number), carried[0]),
                   b.select(isSelected, b.add(number, 1), carried[1])};
             });
  constexpr NVVM::ReduxKind kinds[] = {NVVM::ReduxKind::MIN,
                                       NVVM::ReduxKind::MAX};
  for (int64_t i = 0; i < 2; ++i)
    own[i] =
        NVVM::ReduxOp::create(b, b.getI32Type(), own[i], kinds[i], b.i32(-1));
  b.when(b.cmp(Cmp::eq, b.rem(thread, kWarp), b.index(0)), [&] {
    for (int64_t i = 0; i < 2; ++i)
      b.store(own[i], limits, {b.div(thread, kWarp), b.index(i)});
  });
  b.barrier();
  Value least, most;
  for (int64_t warp = 0; warp < kWarps; ++warp) {
    Value low = b.load(limits, {b.index(warp), b.index(0)});
    Value high = b.load(limits, {b.index(warp), b.index(1)});
    least = warp ? b.min(least, low) : low;
    most = warp ? b.max(most, high) : high;
  }
  Value count = b.max(b.sub(most, least), b.i32(0));
  return {b.toIndex(least), b.toIndex(count)};
}

Value KeyLoader::getPlace(Value row, Source source) {
  Value wide = arith::IndexCastOp::create(b, b.getI64Type(), row);
  return b.bitOr(b.shiftLeft(wide, kSourceBits), b.i64(source));
}

Value KeyLoader::findInWindow(Value t) {
  Value position = b.add(keys.first, t);
  Value ofCall = b.add(keys.callRow, b.sub(position, keys.callPosition));
  Value ofRing = b.add(keys.layerRow, b.rem(position, keys.slots));
  return b.select(b.cmp(Cmp::sge, position, keys.callPosition),
                  getPlace(ofCall, Call), getPlace(ofRing, Ring));
}

Value KeyLoader::findInSelection(Value column) {
  Value row = b.toIndex(b.load(keys.selection, {keys.row, column}));
  return b.select(b.cmp(Cmp::sge, row, b.index(0)), getPlace(row, Global),
                  b.i64(Nowhere));
}

void KeyLoader::find(Value begin, Value end, Value firstColumn) {
  Value slot = b.thread();
  auto put = [&](Value place) { b.store(place, places, {slot}); };
  b.when(b.cmp(Cmp::slt, slot, b.index(count)), [&] {
    Value t = b.add(begin, slot);
    auto putRest = [&] {
      if (!keys.selection)
        return put(b.i64(Nowhere));
      Value column = b.add(firstColumn, b.sub(t, keys.windowCount));
      b.when(
          b.cmp(Cmp::slt, t, end), [&] { put(findInSelection(column)); },
          [&] { put(b.i64(Nowhere)); });
    };
    b.when(
        b.cmp(Cmp::slt, t, keys.windowCount), [&] { put(findInWindow(t)); },
        putRest);
  });
}

Value KeyLoader::isThere(Value slot) {
  return b.cmp(Cmp::ne, b.load(places, {slot}), b.i64(Nowhere));
}

//===----------------------------------------------------------------------===//
// Their features
//===----------------------------------------------------------------------===//

void KeyLoader::forUnits(int64_t unit, Value firstFeature, UnitBody body) {
  int64_t units = width / unit;
  b.loop(b.thread(), b.index(count * units), kThreads, [&](Value number) {
    Value slot = b.div(number, units);
    Value at = b.mul(b.rem(number, units), unit);
    Value place = b.load(places, {slot});
    Value feature = b.add(firstFeature, at);
    Value source = b.bitAnd(place, (1 << kSourceBits) - 1);
    if (dim % width)
      source = b.select(b.cmp(Cmp::slt, feature, b.index(dim)), source,
                        b.i64(Nowhere));
    body(slot, at, feature, source,
         b.toIndex(b.shiftRight(place, kSourceBits)));
  });
}

void KeyLoader::load(AttentionTile &tile, Value firstFeature) {
  constexpr int64_t floats = BlockAttention::floatUnit,
                    packed = BlockAttention::packedUnit;
  auto whenFrom = [&](Value source, Source which, function_ref<void()> body) {
    b.when(b.cmp(Cmp::eq, source, b.i64(which)), body);
  };
  bool isRingPacked = ring.hasScale(),
       isGlobalPacked = global && global.hasScale();
  forUnits(floats, firstFeature,
           [&](Value slot, Value at, Value feature, Value source, Value row) {
             auto put = [&](Value values) {
               tile.storeRight(values, slot, at);
             };
             auto putFrom = [&](Value matrix) {
               put(b.loadVector(matrix, {row, feature}, floats,
                                llvm::Align(floats * sizeof(float))));
             };
             whenFrom(source, Nowhere, [&] { put(b.f32(0.0f, floats)); });
             whenFrom(source, Call, [&] { putFrom(keys.kv); });
             if (!isRingPacked)
               whenFrom(source, Ring, [&] { putFrom(keys.ringPayload); });
             if (global && !isGlobalPacked)
               whenFrom(source, Global, [&] { putFrom(keys.globalPayload); });
           });
  if (!isRingPacked && !isGlobalPacked)
    return;
  forUnits(
      packed, firstFeature,
      [&](Value slot, Value at, Value feature, Value source, Value row) {
        auto putFrom = [&](FormatAttr format, Value payload, Value scales) {
          tile.storeRight(
              b.decodePart(format, payload, scales, row, feature, packed), slot,
              at);
        };
        if (isRingPacked)
          whenFrom(source, Ring,
                   [&] { putFrom(ring, keys.ringPayload, keys.ringScales); });
        if (isGlobalPacked)
          whenFrom(source, Global, [&] {
            putFrom(global, keys.globalPayload, keys.globalScales);
          });
      });
}
