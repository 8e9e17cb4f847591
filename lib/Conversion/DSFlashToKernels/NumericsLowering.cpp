//===- NumericsLowering.cpp - Rounding, quantizers, norm, products --------===//

#include "ElementWalk.h"
#include "Lowering.h"
#include "RowAccess.h"
#include "dsflash/Kernels/BlockProduct.h"
#include "dsflash/Kernels/TensorProduct.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <limits>

using namespace mlir;
using namespace mlir::dsflash;

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// Launches `body` for the vectors of every row.
static void lowerElementwise(Lowering &l, StringRef name, Value input,
                             function_ref<Value(KernelBuilder &, Value)> body) {
  Value n = l.rows(input);
  l.replace(l.dispatch(
      name, n, input, l.empty(input.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          forRowVectors(b, ins[0], row, [&](ArrayRef<Value> at, int64_t lanes) {
            Value vector = b.loadVector(ins[0], at, lanes);
            b.storeVector(body(b, vector), outs[0], at);
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(input)));
}

void mlir::dsflash::lowerOp(Lowering &l, RoundOp op) {
  lowerElementwise(
      l, "round", op.getInput(),
      [](KernelBuilder &b, Value vector) { return b.round(vector); });
}

void mlir::dsflash::lowerOp(Lowering &l, ScaleOp op) {
  float factor = op.getFactor().convertToFloat();
  lowerElementwise(
      l, "scale", op.getInput(), [factor](KernelBuilder &b, Value vector) {
        return b.mulf(vector, b.constantLike(vector.getType(), factor));
      });
}

void mlir::dsflash::lowerOp(Lowering &l, QuantizeOp op) {
  FormatAttr format = op.getFormat();
  int64_t size = format.getBlockColumns();
  Value n = l.rows(op.getInput());
  l.replace(l.dispatch(
      "quantize", n, op.getInput(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        int64_t lanes = b.getLanes(size);
        // Neighbouring threads take neighbouring vectors of a group.
        int64_t sharers = b.getThreads() == 1 ? 1 : size / lanes;
        int64_t step = size / sharers;
        b.loop(begin, end, [&](Value row) {
          forRowElements(b, ins[0], row, step, [&](ArrayRef<Value> first) {
            auto at = [&](int64_t i) {
              SmallVector<Value> indices(first);
              indices.back() = b.add(indices.back(), i * lanes);
              return indices;
            };
            SmallVector<Value> group;
            for (int64_t i = 0; i < step / lanes; ++i)
              group.push_back(b.loadVector(ins[0], at(i), lanes));
            Value scale =
                b.splat(b.quantizeGroup(group, format, sharers), lanes);
            for (auto [i, vector] : llvm::enumerate(group)) {
              Value code = b.encode(vector, format);
              b.storeVector(b.mulf(b.decode(code, format), scale), outs[0],
                            at(i));
            }
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getInput())));
}

//===----------------------------------------------------------------------===//
// Norm
//===----------------------------------------------------------------------===//

void mlir::dsflash::lowerOp(Lowering &l, RMSNormOp op) {
  float eps = op.getEps().convertToFloat();
  int64_t features = getFeatures(op.getInput());
  Value n = l.rows(op.getInput());
  l.replace(l.dispatch(
      "rms_norm", n, {op.getInput(), op.getWeight()}, l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        Value weight = PackedRows(b, ins[1]).getPayload();
        b.loop(begin, end, [&](Value row) {
          // One rounding, to the result: in f32 a value would come out on the
          // other side of a bf16 tie far more often.
          auto load = [&](Value first, int64_t lanes) {
            return b.toF64(b.loadVector(ins[0], {row, first}, lanes));
          };
          int64_t lanes = b.getLanes(features);
          Value zeros = b.splat(b.f64(0.0), lanes);
          Value squares = b.shareLoop(
              features, lanes, {zeros}, [&](Value first, ArrayRef<Value> sum) {
                Value x = load(first, lanes);
                return SmallVector<Value>{b.fma(x, x, sum[0])};
              })[0];
          Value sum = b.sumThreads(b.reduceAdd(squares));
          Value mean = b.divf(sum, b.f64(features));
          // A row of zeros without eps gives zeros; NaN stays NaN.
          Value floor = b.f64(std::numeric_limits<double>::min());
          Value root = b.sqrt(b.maxf(floor, b.addf(mean, b.f64(eps))));
          Value factor = b.splat(b.divf(b.f64(1.0), root), lanes);
          forVectors(b, features, [&](Value first, int64_t lanes) {
            Value scaled = b.mulf(load(first, lanes), factor);
            Value w =
                b.toF64(loadFloats(b, weight, {b.index(0), first}, lanes));
            Value normed = b.fromF64(b.mulf(w, scaled));
            b.storeVector(roundIf(b, op.getRounded(), normed), outs[0],
                          {row, first});
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getInput())));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

template <typename OpTy>
static void lowerProduct(Lowering &l, StringRef name, OpTy op,
                         FloatType sumType, int64_t groups = 1) {
  Value n = l.rows(op.getInput());
  TensorProduct onTensorCores(op.getWeight().getType(), groups, op.getRounded(),
                              l.getConfig());
  if (sumType.isF32() && l.hasBF16Input() && onTensorCores.isPossible()) {
    Value tiles = l.times(l.ceilDiv(n, onTensorCores.getTileRows()),
                          onTensorCores.getTiles());
    l.replace(l.dispatch(
        name, tiles, {op.getInput(), op.getWeight()}, l.empty(op.getType(), n),
        [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
            ValueRange outs) {
          onTensorCores.emit(b, begin, end,
                             {memref::DimOp::create(b, outs[0], 0)}, ins[0],
                             ins[1], outs[0]);
        },
        /*writesState=*/false, onTensorCores.getBlock()));
    return;
  }
  BlockProduct onBlocks(op.getWeight().getType(), groups, op.getRounded(),
                        sumType, l.getConfig());
  if (onBlocks.isPossible()) {
    Value tiles =
        l.times(l.ceilDiv(n, BlockProduct::tileRows), onBlocks.getTiles());
    l.replace(l.dispatch(
        name, tiles, {op.getInput(), op.getWeight()}, l.empty(op.getType(), n),
        [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
            ValueRange outs) {
          onBlocks.emit(b, begin, end, memref::DimOp::create(b, outs[0], 0),
                        ins[0], ins[1], outs[0]);
        },
        /*writesState=*/false, onBlocks.getBlock()));
    return;
  }
  MatrixProduct product(op.getWeight().getType(), groups, op.getRounded(),
                        sumType, l.hasPairs());
  l.replace(l.dispatch(
      name, l.index(product.getTiles()), {op.getInput(), op.getWeight()},
      l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        product.emit(b, begin, end, {memref::DimOp::create(b, outs[0], 0)},
                     ins[0], ins[1], outs[0]);
      }));
}

template <typename OpTy> static FloatType getSumType(Lowering &l, OpTy op) {
  if (op.getF64Accumulation())
    return l.builder().getF64Type();
  return l.builder().getF32Type();
}

void mlir::dsflash::lowerOp(Lowering &l, LinearOp op) {
  lowerProduct(l, "linear", op, getSumType(l, op));
}
void mlir::dsflash::lowerOp(Lowering &l, ProjectOp op) {
  lowerProduct(l, "project", op, getSumType(l, op));
}
void mlir::dsflash::lowerOp(Lowering &l, GroupedLinearOp op) {
  lowerProduct(l, "grouped_linear", op, l.builder().getF32Type(),
               op.getGroups());
}
