//===- NumericsLowering.cpp - Rounding, quantizers, norm, products --------===//

#include "ElementWalk.h"
#include "Lowering.h"
#include "RowAccess.h"
#include "dsflash/Kernels/MatrixProduct.h"
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
      }));
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
  int64_t lanes = KernelBuilder::getLanes(size);
  Value n = l.rows(op.getInput());
  l.replace(l.dispatch(
      "quantize", n, op.getInput(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          forRowElements(b, ins[0], row, size, [&](ArrayRef<Value> first) {
            auto at = [&](int64_t i) {
              SmallVector<Value> indices(first);
              indices.back() = b.add(indices.back(), i * lanes);
              return indices;
            };
            SmallVector<Value> group;
            for (int64_t i = 0; i < size / lanes; ++i)
              group.push_back(b.loadVector(ins[0], at(i), lanes));
            Value scale = b.splat(b.quantizeGroup(group, format), lanes);
            for (auto [i, vector] : llvm::enumerate(group)) {
              Value code = b.encode(vector, format);
              b.storeVector(b.mulf(b.decode(code, format), scale), outs[0],
                            at(i));
            }
          });
        });
      }));
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
          auto load = [&](Value first, int64_t lanes) {
            return b.loadVector(ins[0], {row, first}, lanes);
          };
          Value squares = sumVectors(
              b, features, 1,
              [&](Value first, int64_t lanes, MutableArrayRef<Value> sums) {
                Value x = load(first, lanes);
                sums[0] = b.fma(x, x, sums[0]);
              })[0];
          Value mean = b.divf(squares, b.f32(features));
          // A row of zeros without eps gives zeros; NaN stays NaN.
          Value floor = b.f32(std::numeric_limits<float>::min());
          Value root = b.sqrt(b.maxf(floor, b.addf(mean, b.f32(eps))));
          Value factor = b.divf(b.f32(1.0f), root);
          forVectors(b, features, [&](Value first, int64_t lanes) {
            Value scaled = b.mulf(load(first, lanes), b.splat(factor, lanes));
            Value w = loadFloats(b, weight, {b.index(0), first}, lanes);
            b.storeVector(roundIf(b, op.getRounded(), b.mulf(w, scaled)),
                          outs[0], {row, first});
          });
        });
      }));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

template <typename OpTy>
static void lowerProduct(Lowering &l, StringRef name, OpTy op,
                         int64_t groups = 1) {
  MatrixProduct product(op.getWeight().getType(), groups, op.getRounded());
  l.replace(l.dispatch(name, l.index(product.getTiles()),
                       {op.getInput(), op.getWeight()},
                       l.empty(op.getType(), l.rows(op.getInput())),
                       [&](KernelBuilder &b, Value begin, Value end,
                           ValueRange ins, ValueRange outs) {
                         product.bind(b, ins[0], ins[1], outs[0]);
                         Value rowCount = memref::DimOp::create(b, outs[0], 0);
                         product.emit(b, begin, end, rowCount, [](Value row) {
                           return ProductRow{{row}, {row}};
                         });
                       }));
}

void mlir::dsflash::lowerOp(Lowering &l, LinearOp op) {
  lowerProduct(l, "linear", op);
}
void mlir::dsflash::lowerOp(Lowering &l, ProjectOp op) {
  lowerProduct(l, "project", op);
}
void mlir::dsflash::lowerOp(Lowering &l, GroupedLinearOp op) {
  lowerProduct(l, "grouped_linear", op, op.getGroups());
}
