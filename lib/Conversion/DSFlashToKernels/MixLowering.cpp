//===- MixLowering.cpp - Coefficients of residual streams -----------------===//

#include "Lowering.h"
#include "RowAccess.h"
#include "dsflash/Kernels/BlockProduct.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace {
/// The per-row part of hc_mix, after the product with fn.
class MixEmitter {
public:
  MixEmitter(KernelBuilder &b, HCMixOp op)
      : b(b), streams(op.getPre().getType().getDimSize(1)),
        iterations(op.getIterations()), eps(op.getEps().convertToFloat()),
        normEps(op.getNormEps().convertToFloat()),
        logits(getScratch(b, getColumns())) {}

  /// Of a block's shared memory.
  static int64_t getSharedBytes(int64_t threads, HCMixOp op) {
    int64_t streams = op.getPre().getType().getDimSize(1);
    return KernelBuilder::getSumBytes(threads) + (2 + streams) * streams * 4;
  }

  /// ins: stream, product, base, scale; outs: pre, post, comb.
  void emit(Value row, ValueRange ins, ValueRange outs) {
    Value root = getRootMeanSquare(ins[0], row);
    PackedRows base(b, ins[2]), scale(b, ins[3]);
    b.shareLoop(getColumns(), 1, [&](Value column) {
      Value zero = b.index(0), part = b.min(b.div(column, streams), b.index(2));
      Value m = b.divf(b.load(ins[1], {row, column}), root);
      Value scaled = b.mulf(m, loadFloat(b, scale.getPayload(), {zero, part}));
      Value logit =
          b.addf(scaled, loadFloat(b, base.getPayload(), {zero, column}));
      b.store(logit, logits, {column});
      Value k = b.rem(column, streams);
      auto isPart = [&](int64_t wanted) {
        return b.cmp(arith::CmpIPredicate::eq, part, b.index(wanted));
      };
      b.when(isPart(0), [&] {
        b.store(b.addf(b.sigmoid(logit), b.f32(eps)), outs[0], {row, k});
      });
      b.when(isPart(1), [&] {
        b.store(b.mulf(b.f32(2.0f), b.sigmoid(logit)), outs[1], {row, k});
      });
    });
    b.syncThreads();
    b.onFirstThread([&] { storeBalanced(row, outs[2]); });
    // The next row's logits overwrite these.
    b.syncThreads();
  }

private:
  int64_t getColumns() const { return (2 + streams) * streams; }

  static Value getScratch(KernelBuilder &b, int64_t columns) {
    if (b.getThreads() == 1)
      return b.scratch({columns}, b.getF32Type());
    return b.shared(KernelBuilder::getSumBytes(b.getThreads()), {columns},
                    b.getF32Type());
  }

  Value getRootMeanSquare(Value stream, Value row) {
    int64_t features = getFeatures(stream);
    int64_t lanes = b.getLanes(features);
    SmallVector<Value> sum = {b.f32(0.0f, lanes)};
    sum = b.loop(b.index(0), b.index(streams), 1, sum,
                 [&](Value s, ArrayRef<Value> outer) {
                   return b.shareLoop(
                       features, lanes, outer,
                       [&](Value f, ArrayRef<Value> inner) {
                         Value h = b.loadVector(stream, {row, s, f}, lanes);
                         return SmallVector<Value>{b.fma(h, h, inner[0])};
                       });
                 });
    float count = static_cast<float>(streams * features);
    Value mean = b.divf(b.sumThreads(b.reduceAdd(sum[0])), b.f32(count));
    return b.sqrt(b.addf(mean, b.f32(normEps)));
  }

  //===--- comb [streams, streams], in registers ------------------------===//

  using Entries = SmallVector<Value>;
  Value &at(Entries &comb, int64_t j, int64_t k) const {
    return comb[j * streams + k];
  }

  void storeBalanced(Value row, Value out) {
    Entries comb;
    for (int64_t i = 0; i < streams * streams; ++i)
      comb.push_back(b.load(logits, {b.index(2 * streams + i)}));
    softmaxRows(comb);
    normalizeRows(comb, /*divisorEps=*/0.0f);
    for (Value &entry : comb)
      entry = b.addf(entry, b.f32(eps));
    normalizeColumns(comb);
    comb = b.loop(b.index(0), b.index(iterations - 1), 1, comb,
                  [&](Value, ArrayRef<Value> carried) {
                    Entries next(carried);
                    normalizeRows(next, eps);
                    normalizeColumns(next);
                    return next;
                  });
    for (int64_t j = 0; j < streams; ++j)
      for (int64_t k = 0; k < streams; ++k)
        b.store(at(comb, j, k), out, {row, b.index(j), b.index(k)});
  }

  /// Exponentials; what they are divided by comes behind.
  void softmaxRows(Entries &comb) {
    for (int64_t j = 0; j < streams; ++j) {
      Value top = at(comb, j, 0);
      for (int64_t k = 1; k < streams; ++k)
        top = b.maxf(top, at(comb, j, k));
      for (int64_t k = 0; k < streams; ++k)
        at(comb, j, k) = b.exp(b.subf(at(comb, j, k), top));
    }
  }

  /// Divides entries by their sum plus eps.
  void normalize(ArrayRef<Value *> line, float divisorEps) {
    Value sum = b.f32(0.0f);
    for (Value *entry : line)
      sum = b.addf(sum, *entry);
    Value divisor = b.addf(sum, b.f32(divisorEps));
    for (Value *entry : line)
      *entry = b.divf(*entry, divisor);
  }
  void normalizeRows(Entries &comb, float divisorEps) {
    for (int64_t j = 0; j < streams; ++j) {
      SmallVector<Value *> line;
      for (int64_t k = 0; k < streams; ++k)
        line.push_back(&at(comb, j, k));
      normalize(line, divisorEps);
    }
  }
  void normalizeColumns(Entries &comb) {
    for (int64_t k = 0; k < streams; ++k) {
      SmallVector<Value *> line;
      for (int64_t j = 0; j < streams; ++j)
        line.push_back(&at(comb, j, k));
      normalize(line, eps);
    }
  }

  KernelBuilder &b;
  int64_t streams, iterations;
  float eps, normEps;
  Value logits; // [(2 + streams) * streams]
};

/// fn times the flattened streams of each row.
Value lowerMixProduct(Lowering &l, HCMixOp op, Value n) {
  WeightType fn = op.getFn().getType();
  FloatType f32 = l.builder().getF32Type();
  auto type = RankedTensorType::get({ShapedType::kDynamic, fn.getRows()}, f32);
  auto dispatch = [&](Value items,
                      function_ref<void(KernelBuilder &, Value, Value, Value,
                                        Value, Value, Value)>
                          emit,
                      BlockAttr block) {
    return l.dispatch(
        "hc_mix_product", items, {op.getStream(), op.getFn()}, l.empty(type, n),
        [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
            ValueRange outs) {
          Value flat = memref::CollapseShapeOp::create(
              b, ins[0], SmallVector<ReassociationIndices>{{0}, {1, 2}});
          emit(b, begin, end, memref::DimOp::create(b, outs[0], 0), flat,
               ins[1], outs[0]);
        },
        /*writesState=*/false, block)[0];
  };
  BlockProduct onBlocks(fn, /*groups=*/1, /*rounded=*/false, f32,
                        l.getConfig());
  if (onBlocks.isPossible())
    return dispatch(
        l.times(l.ceilDiv(n, BlockProduct::tileRows), onBlocks.getTiles()),
        [&](KernelBuilder &b, Value begin, Value end, Value rows, Value input,
            Value weight, Value output) {
          onBlocks.emit(b, begin, end, rows, input, weight, output);
        },
        onBlocks.getBlock());
  MatrixProduct product(fn, /*groups=*/1, /*rounded=*/false, f32);
  return dispatch(l.index(product.getTiles()),
                  [&](KernelBuilder &b, Value begin, Value end, Value rows,
                      Value input, Value weight, Value output) {
                    product.emit(b, begin, end, {rows}, input, weight, output);
                  },
                  /*block=*/{});
}
} // namespace

void mlir::dsflash::lowerOp(Lowering &l, HCMixOp op) {
  Value n = l.rows(op.getStream());
  Value product = lowerMixProduct(l, op, n);
  SmallVector<Value> outs;
  for (Type type : op.getResultTypes())
    outs.push_back(l.empty(type, n));
  BlockAttr block = l.getRowBlock(op.getStream());
  if (block)
    block = BlockAttr::get(op.getContext(), block.getThreads(),
                           MixEmitter::getSharedBytes(block.getThreads(), op));
  l.replace(l.dispatch(
      "hc_mix", n, {op.getStream(), product, op.getBase(), op.getScale()}, outs,
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        MixEmitter emitter(b, op);
        b.loop(begin, end, [&](Value row) { emitter.emit(row, ins, outs); });
      },
      /*writesState=*/false, block));
}
