//===- TensorProduct.cpp - Products on tensor cores -----------------------===//
//
// A warp has 16 outputs of the tile and all of its rows. While it multiplies
// columns, the copies of those behind them are under way: activations as f32
// and weights as they are stored, both decoded to bf16 in shared memory. Rows
// there are a bank's width longer than their values, so that neither ldmatrix
// nor the stores conflict.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Kernels/TensorProduct.h"
#include "ProductOperands.h"
#include "ScaleLoader.h"
#include "TensorCores.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace {

using Cmp = arith::CmpIPredicate;

constexpr int64_t kWarpOutputs = 2 * kN;
constexpr int64_t kSumsOfTile = 2 * kSumsOfFragment; // of kM x kWarpOutputs
/// Activations and weights that a thread decodes at a time.
constexpr int64_t kInputUnit = 4, kWeightUnit = 8;

/// The tile of a configuration and its places in shared memory.
struct TileShape {
  TileShape(FormatAttr format, ConfigAttr config)
      : TileShape(format, config, chooseStages(config, [&](int64_t stages) {
                    return TileShape(format, config, stages).sharedBytes;
                  })) {}
  TileShape(FormatAttr format, ConfigAttr config, int64_t stages)
      : rows(config.getTile()[0]), outputs(config.getTile()[1]),
        columns(config.getTile()[2]), stages(stages), pitch(columns + kPadding),
        isStored(format.getElement() == Element::BF16),
        storedBytes(isStored ? pitch * 2 : format.getPayloadBytes(columns)),
        weightScales(format, outputs, columns) {
    int64_t bytes = 0;
    auto place = [&](int64_t size) {
      int64_t offset = bytes;
      bytes += llvm::alignTo(size, 128);
      return offset;
    };
    copiedInput = place(stages * rows * columns * 4);
    copiedWeight = place(stages * outputs * storedBytes);
    input = place(rows * pitch * 2);
    weight = isStored ? copiedWeight : place(outputs * pitch * 2);
    scales = place(weightScales.getBytes());
    slots = place(2 * rows * 4);
    sharedBytes = bytes;
  }

  int64_t getThreads() const { return outputs / kWarpOutputs * kWarp; }

  int64_t rows, outputs, columns, stages;
  int64_t pitch;       // of a row of bf16
  bool isStored;       // weights are bf16 already
  int64_t storedBytes; // of a row of copied weights
  ScaleLoader::Shape weightScales;
  // Offsets.
  int64_t copiedInput, copiedWeight, input, weight, scales, slots;
  int64_t sharedBytes;
};

/// Writes the body of a product's function.
class TensorEmitter {
public:
  TensorEmitter(KernelBuilder &b, FormatAttr format, ConfigAttr config,
                const ProductOperands &operands)
      : b(b), format(format), shape(format, config), operands(operands),
        thread(b.thread()), warp(b.div(thread, kWarp)),
        lane(b.rem(thread, kWarp)) {
    Type f32 = b.getF32Type(), bf16 = b.getBF16Type();
    columns = memref::DimOp::create(b, operands.payload, 1);
    storedColumns = columns;
    if (format.getElement() == Element::E2M1)
      columns = b.mul(columns, 2);
    copiedInput = b.shared(shape.copiedInput,
                           {shape.stages, shape.rows, shape.columns}, f32);
    copiedWeight =
        shape.isStored
            ? b.shared(shape.copiedWeight,
                       {shape.stages, shape.outputs, shape.pitch}, bf16)
            : b.shared(shape.copiedWeight,
                       {shape.stages, shape.outputs, shape.storedBytes},
                       b.getI8Type());
    input = b.shared(shape.input, {shape.rows, shape.pitch}, bf16);
    if (!shape.isStored)
      weight = b.shared(shape.weight, {shape.outputs, shape.pitch}, bf16);
    scales.emplace(b, shape.weightScales, operands.scales, columns,
                   shape.scales);
    if (operands.order)
      slots = b.shared(shape.slots, {2, shape.rows}, b.getI32Type());
  }

  void emit();

private:
  void startItem(Value item);
  void findSlots();
  Value getInputRow(Value row);
  Value getOutputRow(Value row);
  Value getOutput(Value i) { return b.min(b.add(firstOutput, i), lastOutput); }

  /// Shares units among the threads of the block.
  void forUnits(Value count, function_ref<void(Value)> body) {
    b.loop(thread, count, shape.getThreads(), body);
  }

  void startStep(Value step);
  void decodeStep(Value step);
  void decodeWeight(Value stage, Value column);
  SmallVector<Value> multiply(Value stage, ArrayRef<Value> sums);
  void storeSums(ArrayRef<Value> sums);

  KernelBuilder &b;
  FormatAttr format;
  TileShape shape;
  ProductOperands operands;
  Value thread, warp, lane;
  Value columns, storedColumns;
  Value copiedInput, copiedWeight, input, weight, slots;
  std::optional<ScaleLoader> scales;
  // Of the current item.
  Value firstOutput, lastOutput, inputColumn;
  Value firstRow, count; // rows of the tile
  Value rowsInUse;       // whole m of mma.sync
};

} // namespace

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

void TensorEmitter::emit() {
  b.loop(operands.begin, operands.end, [&](Value item) {
    // Shared memory of the item before is free, and its slots are.
    b.barrier();
    startItem(item);
    if (operands.order)
      findSlots();
    Value steps = b.div(b.add(columns, shape.columns - 1), shape.columns);
    for (int64_t step = 0; step < shape.stages - 1; ++step)
      startStep(b.index(step));
    scales->load(b.index(0));
    Value zero = b.f32(0.0f);
    SmallVector<Value> zeros(shape.rows / kM * kSumsOfTile, zero);
    SmallVector<Value> sums = b.loop(
        b.index(0), steps, 1, zeros, [&](Value step, ArrayRef<Value> carried) {
          awaitCopies(b, shape.stages - 2);
          b.barrier();
          // The stage of the step before, which all have left.
          startStep(b.add(step, shape.stages - 1));
          decodeStep(step);
          b.barrier();
          scales->load(b.add(step, 1));
          return multiply(b.rem(step, shape.stages), carried);
        });
    storeSums(sums);
  });
}

void TensorEmitter::startItem(Value item) {
  Value rowTiles = b.div(b.add(operands.rowCount, shape.rows - 1), shape.rows);
  Value number = b.div(item, rowTiles);
  firstRow = b.mul(b.rem(item, rowTiles), shape.rows);
  count = b.min(b.sub(operands.rowCount, firstRow), b.index(shape.rows));
  rowsInUse = b.mul(b.div(b.add(count, kM - 1), kM), kM);
  Value tiles =
      b.div(b.add(operands.groupOutputs, shape.outputs - 1), shape.outputs);
  Value group = b.div(number, tiles);
  Value firstOfGroup = b.mul(group, operands.groupOutputs);
  firstOutput = b.add(firstOfGroup, b.mul(b.rem(number, tiles), shape.outputs));
  Value lastOfGroup = b.add(b.add(firstOfGroup, operands.groupOutputs), -1);
  lastOutput = b.min(b.add(firstOutput, shape.outputs - 1), lastOfGroup);
  scales->start(firstOutput, lastOutput);
  inputColumn = b.mul(group, columns);
}

/// Puts each row's input row and output row into shared memory.
void TensorEmitter::findSlots() {
  b.when(b.cmp(Cmp::slt, thread, b.index(shape.rows)), [&] {
    Value number = b.add(firstRow, b.min(thread, b.add(count, -1)));
    Value slot = b.load(operands.order, {b.add(operands.firstSlot, number)});
    Value inputRow = b.div(b.toIndex(slot), operands.slotsPerInput);
    b.store(b.toI32(inputRow), slots, {b.index(0), thread});
    b.store(slot, slots, {b.index(1), thread});
  });
  b.barrier();
}

Value TensorEmitter::getInputRow(Value row) {
  if (operands.order)
    return b.toIndex(b.load(slots, {b.index(0), row}));
  return b.add(firstRow, b.min(row, b.add(count, -1)));
}

Value TensorEmitter::getOutputRow(Value row) {
  if (operands.order)
    return b.toIndex(b.load(slots, {b.index(1), row}));
  return b.add(firstRow, row);
}

//===----------------------------------------------------------------------===//
// Columns on their way to shared memory
//===----------------------------------------------------------------------===//

/// Starts the copies of a step's columns, if it has any, as one group.
void TensorEmitter::startStep(Value step) {
  Value stage = b.rem(step, shape.stages);
  Value column = b.mul(step, shape.columns);
  int64_t inputUnits = shape.columns / kInputUnit;
  b.when(b.cmp(Cmp::slt, column, columns), [&] {
    forUnits(b.mul(rowsInUse, inputUnits), [&](Value unit) {
      Value row = b.div(unit, inputUnits);
      Value at = b.mul(b.rem(unit, inputUnits), kInputUnit);
      Value from = b.add(column, at);
      Value isThere = arith::AndIOp::create(b, b.cmp(Cmp::slt, row, count),
                                            b.cmp(Cmp::slt, from, columns));
      startCopy(b, isThere, operands.input,
                {getInputRow(row), b.add(inputColumn, from)}, copiedInput,
                {stage, row, at});
    });
    auto type = cast<MemRefType>(operands.payload.getType());
    int64_t elements = kCopyBytes * 8 / type.getElementTypeBitWidth();
    int64_t stored = shape.isStored ? shape.columns : shape.storedBytes;
    int64_t weightUnits = stored / elements;
    Value width = b.add(b.sub(lastOutput, firstOutput), 1);
    forUnits(b.index(shape.outputs * weightUnits), [&](Value unit) {
      Value output = b.div(unit, weightUnits);
      Value at = b.mul(b.rem(unit, weightUnits), elements);
      Value from = b.add(b.mul(step, stored), at);
      Value isThere =
          arith::AndIOp::create(b, b.cmp(Cmp::slt, output, width),
                                b.cmp(Cmp::slt, from, storedColumns));
      startCopy(b, isThere, operands.payload, {getOutput(output), from},
                copiedWeight, {stage, output, at});
    });
  });
  commitCopies(b);
}

/// Brings what was copied for a step to bf16.
void TensorEmitter::decodeStep(Value step) {
  Value stage = b.rem(step, shape.stages);
  int64_t units = shape.columns / kInputUnit;
  forUnits(b.mul(rowsInUse, units), [&](Value unit) {
    Value row = b.div(unit, units);
    Value at = b.mul(b.rem(unit, units), kInputUnit);
    Value values = b.loadVector(copiedInput, {stage, row, at}, kInputUnit,
                                llvm::Align(kInputUnit * 4));
    b.storeVector(toBF16(b, values), input, {row, at},
                  llvm::Align(kInputUnit * 2));
  });
  if (!shape.isStored)
    decodeWeight(stage, b.mul(step, shape.columns));
}

void TensorEmitter::decodeWeight(Value stage, Value column) {
  int64_t units = shape.columns / kWeightUnit;
  Value lastColumn = b.add(columns, -1);
  forUnits(b.index(shape.outputs * units), [&](Value unit) {
    Value output = b.div(unit, units);
    Value at = b.mul(b.rem(unit, units), kWeightUnit);
    Value scale =
        scales->get(getOutput(output), b.min(b.add(column, at), lastColumn));
    int64_t bytes = format.getPayloadBytes(kWeightUnit);
    Value from = b.div(at, kWeightUnit / bytes);
    Value codes = b.loadVector(copiedWeight, {stage, output, from}, bytes,
                               llvm::Align(bytes));
    Value values = b.decodeStored(codes, scale, format);
    b.storeVector(toBF16(b, values), weight, {output, at},
                  llvm::Align(kWeightUnit * 2));
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Adds the products of a step's columns, 16 at a time. Rows and outputs that
/// are not there are left out.
SmallVector<Value> TensorEmitter::multiply(Value stage, ArrayRef<Value> sums) {
  int64_t depth = shape.columns / kK;
  Value half = b.rem(b.div(lane, 8), 2), octet = b.rem(lane, 8);
  Value quarter = b.div(lane, 16);
  Value firstOfWarp = b.mul(warp, kWarpOutputs);
  SmallVector<SmallVector<Value>> outputs;
  for (int64_t k = 0; k < depth; ++k) {
    Value output = b.add(firstOfWarp, b.add(b.mul(quarter, kN), octet));
    Value column = b.add(b.mul(half, 8), k * kK);
    outputs.push_back(
        shape.isStored ? loadFragment(b, copiedWeight, {stage, output, column})
                       : loadFragment(b, weight, {output, column}));
  }
  Value isUsed = b.cmp(Cmp::sle, b.add(firstOutput, firstOfWarp), lastOutput);
  SmallVector<Value> next;
  for (int64_t first = 0; first < shape.rows; first += kM) {
    ArrayRef<Value> before = sums.slice(next.size(), kSumsOfTile);
    Value isThere = arith::AndIOp::create(
        b, isUsed, b.cmp(Cmp::slt, b.index(first), count));
    auto ifOp = scf::IfOp::create(b, ValueRange(before).getTypes(), isThere,
                                  /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, before);
    b.setInsertionPointToStart(ifOp.thenBlock());
    SmallVector<Value> low(before.take_front(4)), high(before.take_back(4));
    for (int64_t k = 0; k < depth; ++k) {
      Value row = b.add(b.rem(lane, 16), first);
      Value column = b.add(b.mul(quarter, 8), k * kK);
      SmallVector<Value> rows = loadFragment(b, input, {row, column});
      ArrayRef<Value> pair = outputs[k];
      low = multiplyAdd(b, rows, pair.take_front(2), low);
      high = multiplyAdd(b, rows, pair.take_back(2), high);
    }
    low.append(high);
    scf::YieldOp::create(b, low);
    llvm::append_range(next, ifOp.getResults());
  }
  return next;
}

/// A thread has two adjacent outputs of rows lane / 4 and lane / 4 + 8.
void TensorEmitter::storeSums(ArrayRef<Value> sums) {
  Value row = b.div(lane, 4);
  Value output = b.add(b.add(firstOutput, b.mul(warp, kWarpOutputs)),
                       b.mul(b.rem(lane, 4), 2));
  for (int64_t i = 0; i < int64_t(sums.size()); i += 2) {
    int64_t pair = i % kSumsOfTile / 2;
    Value atRow = b.add(row, i / kSumsOfTile * kM + pair % 2 * 8);
    Value atOutput = b.add(output, pair / 2 * kN);
    Value isThere =
        arith::AndIOp::create(b, b.cmp(Cmp::slt, atRow, count),
                              b.cmp(Cmp::sle, atOutput, lastOutput));
    b.when(isThere, [&] {
      Value both = vector::FromElementsOp::create(
          b, VectorType::get(2, b.getF32Type()), sums.slice(i, 2));
      Value stored = b.select(operands.rounded, b.round(both), both);
      b.storeVector(stored, operands.output, {getOutputRow(atRow), atOutput},
                    llvm::Align(8));
    });
  }
}

//===----------------------------------------------------------------------===//
// TensorProduct
//===----------------------------------------------------------------------===//

bool TensorProduct::isPossible() const {
  if (!config || config.getTile().empty())
    return false;
  bool isDecoded = format.getElement() == Element::BF16 ||
                   ((format.getElement() == Element::E4M3 ||
                     format.getElement() == Element::E2M1) &&
                    format.getBlockColumns() % kWeightUnit == 0);
  return isDecoded && format.getPayloadBytes(columns) % kCopyBytes == 0 &&
         columns * 4 % kCopyBytes == 0 && outputs / groups % 2 == 0;
}

BlockAttr TensorProduct::getBlock() const {
  TileShape shape(format, config);
  return BlockAttr::get(config.getContext(), shape.getThreads(),
                        shape.sharedBytes);
}

int64_t TensorProduct::getTiles() const {
  return groups * llvm::divideCeil(outputs / groups, config.getTile()[1]);
}

void TensorProduct::emit(KernelBuilder &b, Value begin, Value end,
                         const ProductRows &rows, Value input, Value weight,
                         Value output, Value expert) const {
  ProductOperands operands(b, begin, end, rows, input, weight, output, expert,
                           outputs / groups, rounded);
  operands.callFunction(
      b, "tensor_product." + describeProduct(format),
      [&](KernelBuilder &body, const ProductOperands &arguments) {
        TensorEmitter(body, format, config, arguments).emit();
      });
}
