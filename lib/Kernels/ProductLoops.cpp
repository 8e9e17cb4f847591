//===- ProductLoops.cpp - Walking the tiles of a product ------------------===//

#include "ProductLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dsflash;

ProductLoops::ProductLoops(KernelBuilder &b, FormatAttr format,
                           FloatType sumType, int64_t lanes,
                           const ProductOperands &operands, Value rowBlock,
                           int64_t mostRows)
    : b(b), format(format), sumType(sumType), lanes(lanes), operands(operands),
      columns(memref::DimOp::create(b, operands.payload, 1)),
      rowBlock(rowBlock), partial(b.scratch({mostRows, tile * lanes}, sumType)),
      results(b.scratch({tile}, b.getF32Type())) {
  if (format.getElement() == Element::E2M1)
    columns = b.mul(columns, 2);
}

//===----------------------------------------------------------------------===//
// Loops over tiles and rows
//===----------------------------------------------------------------------===//

void ProductLoops::emitTiles(Value firstTile, Value lastTile) {
  b.loop(b.index(0), operands.rowCount, rowBlock, [&](Value first) {
    Value count = b.min(b.sub(operands.rowCount, first), rowBlock);
    b.loop(firstTile, lastTile, [&](Value number) {
      startTile(number);
      emitTile(first, count,
               b.cmp(arith::CmpIPredicate::eq, number, firstTile));
    });
  });
}

void ProductLoops::startTile(Value number) {
  Value tiles = b.div(b.add(operands.groupOutputs, tile - 1), tile);
  Value group = b.div(number, tiles);
  Value firstOfGroup = b.mul(group, operands.groupOutputs);
  inGroup = b.mul(b.sub(number, b.mul(group, tiles)), tile);
  firstOutput = b.add(firstOfGroup, inGroup);
  Value lastOfGroup = b.add(b.add(firstOfGroup, operands.groupOutputs), -1);
  lastOutput = b.min(b.add(firstOutput, tile - 1), lastOfGroup);
  inputColumn = b.mul(group, columns);
}

ProductLoops::Row ProductLoops::getRow(Value number) {
  if (!operands.order)
    return {number, number};
  Value slot =
      b.toIndex(b.load(operands.order, {b.add(operands.firstSlot, number)}));
  return {b.div(slot, operands.slotsPerInput), slot};
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

SmallVector<Value> ProductLoops::zeros() {
  Value zero = sumType.isF64() ? b.f64(0.0) : b.f32(0.0f);
  return SmallVector<Value>(tile, b.splat(zero, lanes));
}

SmallVector<Value> ProductLoops::loadSums(Value row) {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < tile; ++i)
    sums.push_back(b.loadVector(partial, {row, b.index(i * lanes)}, lanes));
  return sums;
}

SmallVector<Value> ProductLoops::loadSums(ArrayRef<Value> rows, Value isStart) {
  auto forRows = [&](function_ref<SmallVector<Value>(Value)> sumsOf) {
    SmallVector<Value> sums;
    for (Value row : rows)
      llvm::append_range(sums, sumsOf(row));
    return sums;
  };
  return b.choose(
      isStart, [&] { return forRows([&](Value) { return zeros(); }); },
      [&] { return forRows([&](Value row) { return loadSums(row); }); });
}

void ProductLoops::storeSums(Value row, ArrayRef<Value> sums, Value output) {
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value at = output ? b.add(output, int64_t(i)) : b.index(i);
    b.storeVector(sum, partial, {row, b.mul(at, lanes)});
  }
}

void ProductLoops::finish(Value number, ArrayRef<Value> sums) {
  Value width = b.add(b.sub(lastOutput, firstOutput), 1);
  Value isFull = b.cmp(arith::CmpIPredicate::eq, width, b.index(tile));
  Value row = getRow(number).output;
  Value each = b.reduceAddEach(sums);
  if (sumType.isF64())
    each = b.fromF64(each);
  Value stored = b.select(operands.rounded, b.round(each), each);
  b.when(
      isFull,
      [&] { b.storeVector(stored, operands.output, {row, firstOutput}); },
      [&] {
        b.storeVector(stored, results, {b.index(0)});
        b.loop(b.index(0), width, [&](Value i) {
          b.store(b.load(results, {i}), operands.output,
                  {row, b.add(firstOutput, i)});
        });
      });
}

void ProductLoops::finishStored(Value first, Value count) {
  b.loop(b.index(0), count,
         [&](Value number) { finish(b.add(first, number), loadSums(number)); });
}

void ProductLoops::storeOrFinish(Value isEnd, Value first, ArrayRef<Value> rows,
                                 ArrayRef<Value> sums) {
  auto forRows = [&](function_ref<void(Value, ArrayRef<Value>)> body) {
    for (auto [r, row] : llvm::enumerate(rows))
      body(row, sums.slice(r * tile, tile));
  };
  b.when(
      isEnd,
      [&] {
        forRows([&](Value row, ArrayRef<Value> ofRow) {
          finish(b.add(first, row), ofRow);
        });
      },
      [&] {
        forRows(
            [&](Value row, ArrayRef<Value> ofRow) { storeSums(row, ofRow); });
      });
}
