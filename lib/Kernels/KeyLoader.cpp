//===- KeyLoader.cpp - Keys of an attention on their way to a tile --------===//
//
// One thread finds a key, so that its place costs one division. Rows of f32 are
// copied to one place of a stage, ring and global rows that are packed to
// places of their own, so densely that threads do not meet in a bank.
//
//===----------------------------------------------------------------------===//

#include "KeyLoader.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

static constexpr int64_t kThreads = AttentionTile::threads;
static constexpr int64_t kWarps = kThreads / kWarp;
static constexpr int64_t kKindBits = 2;
/// Scales of a slice of a key.
static constexpr int64_t kScalesOfWord = 4;
/// f32 values and packed ones that a thread turns into values at a time.
static constexpr int64_t kFloatUnit = 4, kPackedUnit = 8;

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static bool isPacked(FormatAttr format) { return format && format.hasScale(); }

bool KeyLoader::isPossible(FormatAttr format, int64_t dim) {
  if (!isPacked(format))
    return dim % kPackedUnit == 0;
  int64_t columns = format.getBlockColumns();
  return width % columns == 0 && width / columns <= kScalesOfWord &&
         format.getPayloadBytes(dim) % kCopyBytes == 0;
}

int64_t KeyLoader::Shape::getScales() const {
  int64_t most = 0;
  for (FormatAttr format : {ring, global})
    if (isPacked(format)) {
      int64_t scales = llvm::divideCeil(features, format.getBlockColumns());
      most = std::max(most, scales);
    }
  return isSliced && most ? kScalesOfWord : most;
}

int64_t KeyLoader::getSlices(int64_t dim) {
  return llvm::divideCeil(dim, width);
}

int64_t KeyLoader::Shape::getBytes() const {
  int64_t bytes = width * sizeof(float);
  for (FormatAttr format : {ring, global})
    if (isPacked(format))
      bytes += format.getPayloadBytes(width);
  return stages * count * bytes + kWarps * 2 * sizeof(int32_t) +
         total * (sizeof(int64_t) + getScales());
}

KeyLoader::KeyLoader(KernelBuilder &b, const AttentionKeys &keys,
                     const Shape &shape, int64_t offset)
    : b(b), keys(keys), shape(shape) {
  auto take = [&](ArrayRef<int64_t> extents, Type element) {
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    Value buffer = b.shared(offset, extents, element);
    for (int64_t extent : extents)
      bytes *= extent;
    offset += bytes;
    return buffer;
  };
  floats = take({shape.stages, shape.count, width}, b.getF32Type());
  auto addSource = [&](Kind kind, FormatAttr format, Value payload,
                       Value scales) {
    Value copied = floats;
    if (isPacked(format))
      copied = take({shape.stages, shape.count, format.getPayloadBytes(width)},
                    b.getI8Type());
    sources.push_back({kind, isPacked(format) ? format : FormatAttr(), payload,
                       scales, copied});
  };
  addSource(Call, FormatAttr(), keys.kv, Value());
  addSource(Ring, shape.ring, keys.ringPayload, keys.ringScales);
  if (shape.global)
    addSource(Global, shape.global, keys.globalPayload, keys.globalScales);
  limits = take({kWarps, 2}, b.getI32Type());
  places = take({shape.total}, b.getI64Type());
  if (int64_t count = shape.getScales())
    scales = take({shape.total, count}, b.getI8Type());
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

Value KeyLoader::getPlace(Value row, Kind kind) {
  Value wide = arith::IndexCastOp::create(b, b.getI64Type(), row);
  return b.bitOr(b.shiftLeft(wide, kKindBits), b.i64(kind));
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

void KeyLoader::find(Value begin, Value end, Value firstColumn,
                     Value firstFeature, Value slices, Value pitch) {
  firstFound = firstFeature;
  b.loop(b.thread(), b.index(shape.total), kThreads, [&](Value slot) {
    auto put = [&](Value place) { b.store(place, places, {slot}); };
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
  b.barrier();
  Value count = b.min(b.sub(end, begin), b.index(shape.total));
  if (slices)
    loadSlice(count, slices, pitch);
  else if (scales)
    findScales(count);
}

void KeyLoader::loadSlice(Value count, Value slices, Value pitch) {
  constexpr int64_t lanes = kCopyBytes / kScalesOfWord;
  Value first = b.mul(b.div(firstFound, width), pitch);
  Value flat = memref::CollapseShapeOp::create(
      b, scales, SmallVector<ReassociationIndices>{{0, 1}});
  b.loop(b.mul(b.thread(), lanes), count, kThreads * lanes, [&](Value slot) {
    Value words = b.loadVector(slices, {keys.row, b.add(first, slot)}, lanes,
                               llvm::Align(kCopyBytes));
    auto bytes = VectorType::get(kCopyBytes, b.getI8Type());
    b.storeVector(vector::BitCastOp::create(b, bytes, words), flat,
                  {b.mul(slot, kScalesOfWord)}, llvm::Align(kCopyBytes));
  });
}

void KeyLoader::storeSlices(Value slices, Value begin, Value pitch) {
  int64_t most = getSlices(shape.dim) * shape.count;
  b.loop(b.thread(), b.index(most), kThreads, [&](Value number) {
    Value slice = b.div(number, shape.count), slot = b.rem(number, shape.count);
    Value kind = b.bitAnd(b.load(places, {slot}), (1 << kKindBits) - 1);
    for (const Source &source : sources)
      if (source.format)
        whenFrom(kind, source, [&] {
          int64_t columns = source.format.getBlockColumns();
          int64_t ofSlice = width / columns;
          Value last = b.index(shape.dim / columns - 1);
          Value word = b.i32(0);
          for (int64_t i = 0; i < ofSlice; ++i) {
            Value block = b.min(b.add(b.mul(slice, ofSlice), i), last);
            Value scale = b.widen(b.load(scales, {slot, block}));
            word = b.bitOr(word, b.shiftLeft(scale, 8 * i));
          }
          b.store(word, slices,
                  {keys.row, b.add(b.mul(slice, pitch), b.add(begin, slot))});
        });
  });
}

void KeyLoader::findScales(Value count) {
  int64_t most = shape.getScales();
  b.loop(b.thread(), b.mul(count, most), kThreads, [&](Value number) {
    Value slot = b.div(number, most), i = b.rem(number, most);
    Value place = b.load(places, {slot});
    Value row = b.toIndex(b.shiftRight(place, kKindBits));
    for (const Source &source : sources)
      if (source.format)
        whenFrom(b.bitAnd(place, (1 << kKindBits) - 1), source, [&] {
          int64_t columns = source.format.getBlockColumns();
          Value block = b.add(b.div(firstFound, columns), i);
          Value isThere = arith::AndIOp::create(
              b, b.cmp(Cmp::slt, i, b.index(shape.features / columns)),
              b.cmp(Cmp::slt, block, b.index(shape.dim / columns)));
          b.when(isThere, [&] {
            b.store(b.load(source.scales, {row, block}), scales, {slot, i});
          });
        });
  });
}

Value KeyLoader::isThere(Value slot) {
  return b.cmp(Cmp::ne, b.load(places, {slot}), b.i64(Nowhere));
}

//===----------------------------------------------------------------------===//
// Their features
//===----------------------------------------------------------------------===//

void KeyLoader::forUnits(int64_t size, Value firstSlot, Value firstFeature,
                         function_ref<void(const Unit &)> body) {
  int64_t units = width / size;
  b.loop(b.thread(), b.index(shape.count * units), kThreads, [&](Value number) {
    Unit unit;
    unit.key = b.div(number, units);
    unit.at = b.mul(b.rem(number, units), size);
    unit.slot = b.add(firstSlot, unit.key);
    unit.feature = b.add(firstFeature, unit.at);
    Value place = b.load(places, {unit.slot});
    unit.row = b.toIndex(b.shiftRight(place, kKindBits));
    unit.kind = b.bitAnd(place, (1 << kKindBits) - 1);
    if (shape.dim % width)
      unit.kind = b.select(b.cmp(Cmp::slt, unit.feature, b.index(shape.dim)),
                           unit.kind, b.i64(Nowhere));
    body(unit);
  });
}

void KeyLoader::whenFrom(Value kind, const Source &source,
                         function_ref<void()> body) {
  b.when(b.cmp(Cmp::eq, kind, b.i64(source.kind)), body);
}

/// Features of a byte.
static int64_t getPerByte(FormatAttr format) {
  return kPackedUnit / format.getPayloadBytes(kPackedUnit);
}

void KeyLoader::start(Value stage, Value firstSlot, Value feature) {
  Value always = arith::ConstantOp::create(b, b.getBoolAttr(true));
  for (const Source &source : sources) {
    int64_t perByte = source.format ? getPerByte(source.format) : 1;
    int64_t size = source.format ? kCopyBytes * perByte
                                 : kCopyBytes / int64_t(sizeof(float));
    forUnits(size, firstSlot, feature, [&](const Unit &unit) {
      whenFrom(unit.kind, source, [&] {
        startCopy(b, always, source.payload,
                  {unit.row, b.div(unit.feature, perByte)}, source.copied,
                  {stage, unit.key, b.div(unit.at, perByte)});
      });
    });
  }
}

Value KeyLoader::decode(const Unit &unit, const Source &source, Value stage) {
  FormatAttr format = source.format;
  int64_t bytes = format.getPayloadBytes(kPackedUnit);
  Value codes = b.loadVector(
      source.copied, {stage, unit.key, b.div(unit.at, getPerByte(format))},
      bytes, llvm::Align(bytes));
  Value block =
      b.div(b.sub(unit.feature, firstFound), format.getBlockColumns());
  Value scale = b.load(scales, {unit.slot, block});
  return b.decodeStored(codes, b.decodeScale(scale, format), format);
}

void KeyLoader::finish(AttentionTile &tile, Value stage, Value firstSlot,
                       Value feature) {
  bool hasPacked = false;
  forUnits(kFloatUnit, firstSlot, feature, [&](const Unit &unit) {
    auto put = [&](Value values) {
      tile.storeRight(values, unit.key, unit.at);
    };
    b.when(b.cmp(Cmp::eq, unit.kind, b.i64(Nowhere)),
           [&] { put(b.f32(0.0f, kFloatUnit)); });
    for (const Source &source : sources) {
      hasPacked |= bool(source.format);
      if (!source.format)
        whenFrom(unit.kind, source, [&] {
          put(b.loadVector(floats, {stage, unit.key, unit.at}, kFloatUnit,
                           llvm::Align(kCopyBytes)));
        });
    }
  });
  if (!hasPacked)
    return;
  forUnits(kPackedUnit, firstSlot, feature, [&](const Unit &unit) {
    for (const Source &source : sources)
      if (source.format)
        whenFrom(unit.kind, source, [&] {
          tile.storeRight(decode(unit, source, stage), unit.key, unit.at);
        });
  });
}
