//===- StreamLowering.cpp - Residual streams, embedding, rows -------------===//

#include "Lowering.h"
#include "RowAccess.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dsflash;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void mlir::dsflash::lowerOp(Lowering &l, EmbedOp op) {
  Value n = l.rows(op.getIds());
  l.replace(l.dispatch(
      "embed", n, op->getOperands(), l.empty(op.getType(), n),
      [](KernelBuilder &b, Value begin, Value end, ValueRange ins,
         ValueRange outs) {
        PackedRows table(b, ins[1]);
        b.loop(begin, end, [&](Value row) {
          Value id = loadIndex(b, ins[0], {row});
          forVectors(b, getFeatures(outs[0]), [&](Value f, int64_t lanes) {
            b.storeVector(loadFloats(b, table.getPayload(), {id, f}, lanes),
                          outs[0], {row, f});
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getResult())));
}

/// Rows of any rank as those of a matrix.
static Value asMatrix(KernelBuilder &b, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.getRank() == 1)
    return memref::ExpandShapeOp::create(
        b, MemRefType::get({ShapedType::kDynamic, 1}, type.getElementType()),
        buffer, SmallVector<ReassociationIndices>{{0, 1}});
  if (type.getRank() == 3)
    return memref::CollapseShapeOp::create(
        b, buffer, SmallVector<ReassociationIndices>{{0}, {1, 2}});
  return buffer;
}

void mlir::dsflash::lowerOp(Lowering &l, GatherRowsOp op) {
  Value n = l.rows(op.getRows());
  l.replace(l.dispatch(
      "gather_rows", n, op->getOperands(), l.empty(op.getType(), n),
      [](KernelBuilder &b, Value begin, Value end, ValueRange ins,
         ValueRange outs) {
        Value from = asMatrix(b, ins[0]);
        Value to = asMatrix(b, outs[0]);
        b.loop(begin, end, [&](Value row) {
          copyRow(b, from, loadIndex(b, ins[1], {row}), to, row);
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getResult())));
}

/// Of a sequence's rows those in reach of the wanted ones: min(rows, extra +
/// reach), where extra is wanted - 1; none if that is negative.
static Value countInReach(OpBuilder &b, Location loc, Value rows, Value extra,
                          Value reach) {
  Value count = arith::AddIOp::create(b, loc, extra, reach);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  return arith::MinSIOp::create(b, loc, rows,
                                arith::MaxSIOp::create(b, loc, count, zero));
}

/// The number of rows of the result, known before any launch.
static Value sumLastRows(Lowering &l, LastRowsOp op,
                         const NarrowedExtents &narrowed) {
  Location loc = op.getLoc();
  ImplicitLocOpBuilder b(loc, l.builder());
  Value zero = l.index(0), one = l.index(1);
  auto loop = scf::ForOp::create(b, zero, l.rows(narrowed.extents), one, zero);
  b.setInsertionPointToStart(loop.getBody());
  Value sequence = loop.getInductionVar();
  auto load = [&](Value table, ValueRange at) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(),
                                      tensor::ExtractOp::create(b, table, at));
  };
  Value rows = load(narrowed.extents, {sequence, one});
  Value extra = arith::SubIOp::create(b, load(op.getWanted(), sequence), one);
  for (auto [count, skip] : narrowed.steps) {
    Value all = countInReach(b, loc, rows, extra,
                             arith::ConstantIndexOp::create(b, count));
    rows = skip == 0
               ? all
               : arith::SubIOp::create(
                     b, all,
                     countInReach(b, loc, rows, extra,
                                  arith::ConstantIndexOp::create(b, skip)));
  }
  Value sum = arith::AddIOp::create(b, loop.getRegionIterArg(0), rows);
  scf::YieldOp::create(b, sum);
  // Never more than before: what the memory plan goes by.
  return arith::MinSIOp::create(l.builder(), loc, loop.getResult(0),
                                l.rows(op.getPosition()));
}

void mlir::dsflash::lowerOp(Lowering &l, LastRowsOp op) {
  NarrowedExtents narrowed = l.getNarrowedExtents(op.getExtents());
  narrowed.steps.emplace_back(op.getCount(), op.getSkip());
  Value m = sumLastRows(l, op, narrowed), sequences = l.rows(op.getExtents());
  SmallVector<Value> outs;
  for (Value result : op.getResults().drop_back())
    outs.push_back(l.empty(result.getType(), m));
  outs.push_back(l.empty(op.getExtentsAfter().getType(), sequences));
  bool skips = op.getSkip() != 0;
  SmallVector<Value> ins{op.getPosition(), op.getExtents(), op.getWanted(),
                         l.index(op.getCount())};
  if (skips)
    ins.push_back(l.index(op.getSkip()));
  SmallVector<Value> results = l.dispatch(
      skips ? "last_rows_but" : "last_rows", sequences, ins, outs,
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        Value position = ins[0], extents = ins[1], wanted = ins[2];
        auto rowsOf = [&](Value sequence) {
          return loadIndex(b, extents, {sequence, b.index(1)});
        };
        auto inReach = [&](Value sequence, Value reach) {
          Value extra = b.sub(loadIndex(b, wanted, {sequence}), b.index(1));
          return countInReach(b, b.getLoc(), rowsOf(sequence), extra, reach);
        };
        auto countOf = [&](Value sequence) {
          Value all = inReach(sequence, ins[3]);
          return skips ? b.sub(all, inReach(sequence, ins[4])) : all;
        };
        auto toI32 = [&](Value index) {
          return arith::IndexCastOp::create(b, b.getI32Type(), index);
        };
        b.loop(begin, end, [&](Value sequence) {
          Value first =
              b.loop(b.index(0), sequence, 1, b.index(0),
                     [&](Value other, ArrayRef<Value> sum) {
                       return SmallVector<Value>{b.add(sum[0], countOf(other))};
                     })[0];
          Value count = countOf(sequence);
          b.store(toI32(first), outs[3], {sequence, b.index(0)});
          b.store(toI32(count), outs[3], {sequence, b.index(1)});
          Value last =
              b.add(loadIndex(b, extents, {sequence, b.index(0)}),
                    b.sub(rowsOf(sequence), inReach(sequence, ins[3])));
          b.loop(b.index(0), count, [&](Value i) {
            Value from = b.add(last, i), to = b.add(first, i);
            b.store(toI32(from), outs[0], {to});
            b.store(toI32(sequence), outs[1], {to});
            b.store(b.load(position, {from}), outs[2], {to});
          });
        });
      });
  l.setNarrowedExtents(results.back(), std::move(narrowed));
  l.replace(results);
}

void mlir::dsflash::lowerOp(Lowering &l, AddRowsOp op) {
  l.replace(l.dispatch(
      "add_rows", l.rows(op.getRows()), {op.getInput(), op.getRows()},
      op.getInto(),
      [](KernelBuilder &b, Value begin, Value end, ValueRange ins,
         ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          Value to = loadIndex(b, ins[1], {row});
          forVectors(b, getFeatures(outs[0]), [&](Value f, int64_t lanes) {
            Value sum = b.addf(b.loadVector(outs[0], {to, f}, lanes),
                               b.loadVector(ins[0], {row, f}, lanes));
            b.storeVector(sum, outs[0], {to, f});
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getInput())));
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

void mlir::dsflash::lowerOp(Lowering &l, HCInitOp op) {
  Value n = l.rows(op.getInput());
  int64_t streams = op.getPre().getType().getDimSize(1);
  l.replace(l.dispatch(
      "hc_init", n, op.getInput(),
      {l.empty(op.getStream().getType(), n), l.empty(op.getPre().getType(), n)},
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          forVectors(b, getFeatures(ins[0]), [&](Value f, int64_t lanes) {
            Value x = b.loadVector(ins[0], {row, f}, lanes);
            for (int64_t s = 0; s < streams; ++s)
              b.storeVector(x, outs[0], {row, b.index(s), f});
          });
          for (int64_t s = 0; s < streams; ++s)
            b.store(b.f32(s == 0 ? 1.0f : 0.0f), outs[1], {row, b.index(s)});
        });
      }));
}

void mlir::dsflash::lowerOp(Lowering &l, HCCollapseOp op) {
  Value n = l.rows(op.getStream());
  int64_t streams = op.getPre().getType().getDimSize(1);
  l.replace(l.dispatch(
      "hc_collapse", n, op->getOperands(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          forVectors(b, getFeatures(outs[0]), [&](Value f, int64_t lanes) {
            Value sum = b.f32(0.0f, lanes);
            for (int64_t s = 0; s < streams; ++s) {
              Value pre = b.load(ins[1], {row, b.index(s)});
              Value h = b.loadVector(ins[0], {row, b.index(s), f}, lanes);
              // Products round before they are added, as in the goldens: the
              // FP8 codes of a whole row may hang on the last bit.
              sum = b.addf(sum, b.mulf(b.splat(pre, lanes), h));
            }
            b.storeVector(roundIf(b, op.getRounded(), sum), outs[0], {row, f});
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getResult())));
}

void mlir::dsflash::lowerOp(Lowering &l, HCExpandOp op) {
  int64_t streams = op.getPost().getType().getDimSize(1);
  l.replace(l.dispatch(
      "hc_expand", l.rows(op.getInput()),
      {op.getInput(), op.getPost(), op.getComb()}, op.getStream(),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          forVectors(b, getFeatures(ins[0]), [&](Value f, int64_t lanes) {
            Value x = b.loadVector(ins[0], {row, f}, lanes);
            SmallVector<Value> before;
            for (int64_t s = 0; s < streams; ++s)
              before.push_back(
                  b.loadVector(outs[0], {row, b.index(s), f}, lanes));
            for (int64_t k = 0; k < streams; ++k) {
              Value post = b.load(ins[1], {row, b.index(k)});
              Value sum = b.mulf(b.splat(post, lanes), x);
              for (int64_t j = 0; j < streams; ++j) {
                Value comb = b.load(ins[2], {row, b.index(j), b.index(k)});
                sum = b.fma(b.splat(comb, lanes), before[j], sum);
              }
              b.storeVector(roundIf(b, op.getRounded(), sum), outs[0],
                            {row, b.index(k), f});
            }
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getInput())));
}

void mlir::dsflash::lowerOp(Lowering &l, StreamMeanOp op) {
  Value n = l.rows(op.getStream());
  int64_t streams = op.getStream().getType().getDimSize(1);
  l.replace(l.dispatch(
      "stream_mean", n, op.getStream(), l.empty(op.getType(), n),
      [&](KernelBuilder &b, Value begin, Value end, ValueRange ins,
          ValueRange outs) {
        b.loop(begin, end, [&](Value row) {
          forVectors(b, getFeatures(outs[0]), [&](Value f, int64_t lanes) {
            Value sum = b.loadVector(ins[0], {row, b.index(0), f}, lanes);
            for (int64_t s = 1; s < streams; ++s)
              sum = b.addf(sum,
                           b.loadVector(ins[0], {row, b.index(s), f}, lanes));
            Value mean = b.divf(sum, b.f32(static_cast<float>(streams), lanes));
            b.storeVector(roundIf(b, op.getRounded(), mean), outs[0], {row, f});
          });
        });
      },
      /*writesState=*/false, l.getRowBlock(op.getResult())));
}
