//===- HeadLoader.cpp - Heads of an attention on their way to a tile ------===//

#include "HeadLoader.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

static bool needsConversion(const AttentionTile::Shape &shape, Type element) {
  return shape.onTensorCores && element.isF32();
}

static Type getElement(Value matrix) {
  return cast<MemRefType>(matrix.getType()).getElementType();
}

int64_t HeadLoader::getBytes(const AttentionTile::Shape &shape, Type element,
                             int64_t stages) {
  return needsConversion(shape, element)
             ? stages * AttentionTile::heads * shape.depth * sizeof(float)
             : 0;
}

HeadLoader::HeadLoader(KernelBuilder &b, AttentionTile &tile,
                       const AttentionTile::Shape &shape,
                       const HeadGroup &group, Value matrix, Value row,
                       Value pitch, int64_t stages, int64_t offset)
    : b(b), tile(tile), shape(shape), group(group), matrix(matrix), row(row),
      pitch(pitch), copied(tile.getLeft()) {
  if (needsConversion(shape, getElement(matrix)))
    copied = b.shared(offset, {stages, AttentionTile::heads, shape.depth},
                      b.getF32Type());
}

/// Walks 16 bytes at a time, of whole m of mma.sync.
void HeadLoader::forUnits(function_ref<void(Value head, Value at)> body) {
  int64_t unit = kCopyBytes * 8 / getElement(matrix).getIntOrFloatBitWidth();
  int64_t units = shape.depth / unit;
  Value rows = b.mul(b.div(b.add(group.count, kM - 1), kM), kM);
  b.loop(b.thread(), b.mul(rows, units), AttentionTile::threads,
         [&](Value number) {
           body(b.div(number, units), b.mul(b.rem(number, units), unit));
         });
}

void HeadLoader::start(Value stage, Value begin) {
  forUnits([&](Value head, Value at) {
    Value term = b.add(begin, at);
    Value isThere = arith::AndIOp::create(b, b.cmp(Cmp::slt, head, group.count),
                                          b.cmp(Cmp::slt, term, pitch));
    Value from = b.mul(b.add(group.first, head), pitch);
    startCopy(b, isThere, matrix, {row, b.add(from, term)}, copied,
              {stage, head, at});
  });
}

void HeadLoader::finish(Value stage) {
  if (!isConverted())
    return;
  forUnits([&](Value head, Value at) {
    constexpr int64_t unit = kCopyBytes / sizeof(float);
    tile.storeLeft(
        b.loadVector(copied, {stage, head, at}, unit, llvm::Align(kCopyBytes)),
        head, at);
  });
}
