//===- BlockProduct.cpp - Products without tensor cores -------------------===//

#include "dsflash/Kernels/BlockProduct.h"
#include "ProductOperands.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace {

using Cmp = arith::CmpIPredicate;

/// Columns that a thread takes at a time: 16 bytes of a row.
constexpr int64_t kUnit = 4;
constexpr int64_t kRows = BlockProduct::tileRows;

/// Writes the body of a product's function.
class BlockEmitter {
public:
  BlockEmitter(KernelBuilder &b, FormatAttr format, FloatType sumType,
               int64_t tileOutputs, const ProductOperands &operands)
      : b(b), format(format), sumType(sumType), tileOutputs(tileOutputs),
        operands(operands),
        columns(memref::DimOp::create(b, operands.payload, 1)),
        partials(b.shared(/*offset=*/0, {kRows * tileOutputs, b.getThreads()},
                          sumType)) {}

  void emit() {
    b.loop(operands.begin, operands.end, [&](Value item) {
      startItem(item);
      // The item before is done with the partial sums.
      b.barrier();
      b.when(
          b.cmp(Cmp::eq, rowCount, b.index(1)), [&] { addProducts(1); },
          [&] { addProducts(kRows); });
      b.barrier();
      Value sums = b.mul(rowCount, tileOutputs);
      b.foldThreads(partials, sums,
                    [&](Value x, Value y) { return b.addf(x, y); });
      b.when(b.cmp(Cmp::slt, b.thread(), sums), [&] { storeSum(); });
    });
  }

private:
  void startItem(Value item);
  void addProducts(int64_t rows);
  void storeSum();

  Value toSumType(Value values) {
    return sumType.isF64() ? b.toF64(values) : values;
  }

  KernelBuilder &b;
  FormatAttr format;
  FloatType sumType;
  int64_t tileOutputs;
  ProductOperands operands;
  Value columns, partials;
  // Of the current item.
  Value firstRow, rowCount, firstOutput, lastOutput, inputColumn;
};

} // namespace

void BlockEmitter::startItem(Value item) {
  Value rowTiles = b.div(b.add(operands.rowCount, kRows - 1), kRows);
  Value number = b.div(item, rowTiles);
  firstRow = b.mul(b.rem(item, rowTiles), kRows);
  Value tiles =
      b.div(b.add(operands.groupOutputs, tileOutputs - 1), tileOutputs);
  rowCount = b.min(b.sub(operands.rowCount, firstRow), b.index(kRows));
  Value group = b.div(number, tiles);
  Value firstOfGroup = b.mul(group, operands.groupOutputs);
  firstOutput = b.add(firstOfGroup, b.mul(b.rem(number, tiles), tileOutputs));
  lastOutput = b.add(b.add(firstOfGroup, operands.groupOutputs), -1);
  inputColumn = b.mul(group, columns);
}

/// Stores this thread's sums [row, output] of the tile. Rows and outputs that
/// are not there repeat the last one.
void BlockEmitter::addProducts(int64_t rows) {
  Value lastRow = b.add(operands.rowCount, -1);
  SmallVector<Value> inputs, outputs;
  for (int64_t r = 0; r < rows; ++r)
    inputs.push_back(b.min(b.add(firstRow, r), lastRow));
  for (int64_t o = 0; o < tileOutputs; ++o)
    outputs.push_back(b.min(b.add(firstOutput, o), lastOutput));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(sumType));
  SmallVector<Value> sums(rows * tileOutputs, zero);
  sums = b.shareLoop(
      columns, kUnit, sums, [&](Value column, ArrayRef<Value> carried) {
        auto load = [&](Value matrix, Value row, Value from) {
          auto type = cast<MemRefType>(matrix.getType());
          llvm::Align alignment(kUnit * type.getElementTypeBitWidth() / 8);
          return b.loadVector(matrix, {row, from}, kUnit, alignment);
        };
        SmallVector<Value> weights, next(carried);
        for (Value output : outputs) {
          Value stored = load(operands.payload, output, column);
          weights.push_back(
              toSumType(b.decodeStored(stored, /*scale=*/{}, format)));
        }
        Value from = b.add(inputColumn, column);
        for (int64_t r = 0; r < rows; ++r) {
          Value x = toSumType(load(operands.input, inputs[r], from));
          b.addProducts(
              x, weights,
              MutableArrayRef(next).slice(r * tileOutputs, tileOutputs));
        }
        return next;
      });
  for (auto [i, sum] : llvm::enumerate(sums))
    b.store(sum, partials, {b.index(i), b.thread()});
}

/// A thread stores one of them.
void BlockEmitter::storeSum() {
  Value row = b.add(firstRow, b.div(b.thread(), tileOutputs));
  Value output = b.add(firstOutput, b.rem(b.thread(), tileOutputs));
  b.when(b.cmp(Cmp::sle, output, lastOutput), [&] {
    Value sum = b.load(partials, {b.thread(), b.index(0)});
    if (sumType.isF64())
      sum = b.fromF64(sum);
    b.store(b.select(operands.rounded, b.round(sum), sum), operands.output,
            {row, output});
  });
}

//===----------------------------------------------------------------------===//
// BlockProduct
//===----------------------------------------------------------------------===//

bool BlockProduct::isPossible() const {
  return config && !format.hasScale() && columns % kUnit == 0;
}

int64_t BlockProduct::getThreads() const {
  constexpr int64_t most = 256;
  return std::clamp(int64_t(llvm::PowerOf2Ceil(columns / kUnit)),
                    config.getThreads(), most);
}

/// The more outputs, the fewer blocks are needed to keep a device busy.
int64_t BlockProduct::getTileOutputs() const {
  constexpr int64_t many = 256, most = 4;
  return outputs / groups >= many ? most : 1;
}

BlockAttr BlockProduct::getBlock() const {
  int64_t bytes = sumType.isF64() ? 8 : 4;
  return BlockAttr::get(config.getContext(), getThreads(),
                        kRows * getTileOutputs() * getThreads() * bytes);
}

int64_t BlockProduct::getTiles() const {
  return groups * llvm::divideCeil(outputs / groups, getTileOutputs());
}

void BlockProduct::emit(KernelBuilder &b, Value begin, Value end,
                        Value rowCount, Value input, Value weight,
                        Value output) const {
  ProductOperands operands(b, begin, end, {rowCount}, input, weight, output,
                           /*expert=*/{}, outputs / groups, rounded);
  std::string name = "block_product." + describeProduct(format);
  if (sumType.isF64())
    name += ".f64";
  name += ".threads" + std::to_string(getThreads()) + ".outputs" +
          std::to_string(getTileOutputs());
  operands.callFunction(
      b, name, [&](KernelBuilder &body, const ProductOperands &arguments) {
        BlockEmitter(body, format, sumType, getTileOutputs(), arguments).emit();
      });
}
