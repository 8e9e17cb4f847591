//===- ScaleLoader.cpp - Scales of a tile of weights ----------------------===//

#include "ScaleLoader.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

ScaleLoader::Shape::Shape(FormatAttr format, int64_t outputs, int64_t columns)
    : format(format), columns(columns) {
  if (!format.hasScale())
    return;
  // A tile may begin inside a block.
  rows = llvm::divideCeil(outputs + format.getBlockRows() - 1,
                          format.getBlockRows());
  steps = inRow * format.getBlockColumns() / columns;
}

ScaleLoader::ScaleLoader(KernelBuilder &b, const Shape &shape, Value scales,
                         Value columns, int64_t offset)
    : b(b), shape(shape), scales(scales), columns(columns) {
  if (scales)
    loaded = b.shared(offset, {shape.rows, Shape::inRow}, b.getI8Type());
}

void ScaleLoader::start(Value firstOutput, Value lastOutput) {
  if (!scales)
    return;
  int64_t blockRows = shape.format.getBlockRows();
  firstRow = b.div(firstOutput, blockRows);
  rowCount = b.add(b.sub(b.div(lastOutput, blockRows), firstRow), 1);
}

void ScaleLoader::load(Value step) {
  if (!scales)
    return;
  int64_t width = shape.format.getBlockColumns();
  Value column = b.mul(step, shape.columns);
  Value isFirst = b.cmp(Cmp::eq, b.rem(step, shape.steps), b.index(0));
  Value isThere = b.cmp(Cmp::slt, column, columns);
  b.when(arith::AndIOp::create(b, isFirst, isThere), [&] {
    Value first = b.div(column, width);
    Value blocks = b.min(b.sub(b.div(b.add(columns, width - 1), width), first),
                         b.index(Shape::inRow));
    b.shareLoop(b.mul(rowCount, Shape::inRow), 1, [&](Value number) {
      Value row = b.div(number, Shape::inRow);
      Value block = b.rem(number, Shape::inRow);
      b.when(b.cmp(Cmp::slt, block, blocks), [&] {
        Value from = b.add(firstRow, row);
        b.store(b.load(scales, {from, b.add(first, block)}), loaded,
                {row, block});
      });
    });
  });
}

Value ScaleLoader::get(Value output, Value column) {
  Value row = b.sub(b.div(output, shape.format.getBlockRows()), firstRow);
  Value block = b.div(column, shape.format.getBlockColumns());
  return b.decodeScale(b.load(loaded, {row, b.rem(block, Shape::inRow)}),
                       shape.format);
}
