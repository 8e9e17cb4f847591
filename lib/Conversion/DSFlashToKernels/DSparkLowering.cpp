//===- DSparkLowering.cpp - Draft layers and heads ------------------------===//

#include "Lowering.h"
#include "RowAccess.h"

using namespace mlir;
using namespace mlir::dsflash;

using Cmp = arith::CmpIPredicate;

void mlir::dsflash::lowerOp(Lowering &l, InsertFeatureOp op) {
  SmallVector<Value> ins{op.getInput()};
  if (op.getRows())
    ins.push_back(op.getRows());
  l.replace(l.dispatch(
      "insert_feature", l.rows(op.getInput()), ins, op.getFeatures(),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        int64_t first = op.getSlot() * getFeatures(ins[0]);
        b.loop(begin, end, [&](Value row) {
          Value to = ins.size() > 1 ? loadIndex(b, ins[1], {row}) : row;
          forVectors(b, getFeatures(ins[0]), [&](Value f, int64_t lanes) {
            b.storeVector(b.loadVector(ins[0], {row, f}, lanes), outs[0],
                          {to, b.add(f, first)});
          });
        });
      }));
}

void mlir::dsflash::lowerOp(Lowering &l, DraftTokensOp op) {
  Value n = l.rows(op.getSequence());
  l.replace(
      l.dispatch("draft_tokens", n, op->getOperands(), l.empty(op.getType(), n),
                 [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
                     ValueRange outs) {
                   b.loop(begin, end, [&](Value row) {
                     Value sequence = loadIndex(b, ins[1], {row});
                     Value first = loadIndex(b, ins[2], {sequence, b.index(0)});
                     Value token = b.select(b.cmp(Cmp::eq, row, first),
                                            b.load(ins[0], {sequence}),
                                            b.i32(op.getNoise()));
                     b.store(token, outs[0], {row});
                   });
                 }));
}

void mlir::dsflash::lowerOp(Lowering &l, ConfidenceOp op) {
  Value n = l.rows(op.getHidden());
  l.replace(l.dispatch(
      "confidence", l.rows(op.getRows()), op->getOperands(),
      l.empty(op.getType(), n),
      [](KernelBuilder &b, Value begin, Value end, ValueRange ins,
         ValueRange outs) {
        Value weight = PackedRows(b, ins[2]).getPayload();
        auto getProduct = [&](Value matrix, Value row, int64_t firstColumn) {
          return sumVectors(
              b, getFeatures(matrix), 1,
              [&](Value f, int64_t lanes, MutableArrayRef<Value> sums) {
                Value w = loadFloats(
                    b, weight, {b.index(0), b.add(f, firstColumn)}, lanes);
                sums[0] =
                    b.fma(b.loadVector(matrix, {row, f}, lanes), w, sums[0]);
              })[0];
        };
        b.loop(begin, end, [&](Value i) {
          Value row = loadIndex(b, ins[3], {i});
          Value sum = b.addf(getProduct(ins[0], row, 0),
                             getProduct(ins[1], i, getFeatures(ins[0])));
          b.store(b.sigmoid(sum), outs[0], {row});
        });
      }));
}
