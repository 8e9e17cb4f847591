//===- RopeLowering.cpp - Angles and rotations ----------------------------===//

#include "Lowering.h"
#include "RowAccess.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::dsflash;

void mlir::dsflash::lowerOp(Lowering &l, RopeTableOp op) {
  ArrayRef<float> frequencies = op.getFrequencies();
  int64_t count = frequencies.size();
  Value n = l.rows(op.getPosition());
  l.replace(l.dispatch(
      "rope_table", n, op.getPosition(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        auto type = VectorType::get(count, b.getF32Type());
        Value constants = arith::ConstantOp::create(
            b, DenseElementsAttr::get(type, frequencies));
        Value angles = b.scratch({count}, b.getF32Type());
        b.loop(begin, end, [&](Value row) {
          Value position = b.load(ins[0], {row});
          Value inGroup = b.rem(position, op.getRatio());
          Value start = b.splat(b.toF32(b.sub(position, inGroup)), count);
          b.storeVector(b.mulf(start, constants), angles, {b.index(0)});
          b.loop(count, [&](Value f) {
            Value angle = b.load(angles, {f});
            b.store(math::CosOp::create(b, angle), outs[0],
                    {row, f, b.index(0)});
            b.store(math::SinOp::create(b, angle), outs[0],
                    {row, f, b.index(1)});
          });
        });
      }));
}

namespace {
/// Even and odd elements of adjacent pairs.
std::pair<Value, Value> loadPairs(KernelBuilder &b, Value buffer,
                                  ArrayRef<Value> indices, int64_t lanes) {
  auto pairs = vector::DeinterleaveOp::create(
      b, b.loadVector(buffer, indices, 2 * lanes));
  return {pairs.getRes1(), pairs.getRes2()};
}
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, RotateOp op) {
  Value n = l.rows(op.getInput());
  int64_t headDim = op.getHeadDim();
  int64_t heads = getFeatures(op.getInput()) / headDim;
  int64_t pairs = op.getTable().getType().getDimSize(1);
  int64_t copied = headDim - 2 * pairs;
  bool rounded = op.getRounded(), inverse = op.getInverse();
  l.replace(l.dispatch(
      "rotate", n, op->getOperands(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        int64_t lanes = b.getLanes(pairs);
        // The table as [n, 2 f]: cosines and sines alternate.
        Value table = memref::CollapseShapeOp::create(
            b, ins[1], SmallVector<ReassociationIndices>{{0}, {1, 2}});
        b.loop(begin, end, [&](Value row) {
          b.loop(heads, [&](Value head) {
            Value first = b.mul(head, headDim);
            forVectors(b, copied, [&](Value f, int64_t width) {
              Value at = b.add(first, f);
              Value x = b.loadVector(ins[0], {row, at}, width);
              b.storeVector(roundIf(b, rounded, x), outs[0], {row, at});
            });
            b.loop(b.index(0), b.index(2 * pairs), 2 * lanes, [&](Value f) {
              Value at = b.add(b.add(first, copied), f);
              auto [x, y] = loadPairs(b, ins[0], {row, at}, lanes);
              auto [cos, sin] = loadPairs(b, table, {row, f}, lanes);
              if (inverse)
                sin = arith::NegFOp::create(b, sin);
              Value left = b.subf(b.mulf(x, cos), b.mulf(y, sin));
              Value right = b.addf(b.mulf(x, sin), b.mulf(y, cos));
              Value turned = vector::InterleaveOp::create(
                  b, roundIf(b, rounded, left), roundIf(b, rounded, right));
              b.storeVector(turned, outs[0], {row, at});
            });
          });
        });
      }));
}
