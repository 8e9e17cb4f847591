//===- RowAccess.h - Rows of a call and packed rows -------------*- C++ -*-===//
//
// How kernels find their way: which sequence and position a row of a call has,
// where the packed rows of a weight or of a sequence's state are, and walks
// over the features of a row.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ROWACCESS_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ROWACCESS_H

#include "dsflash/Kernels/KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::dsflash {

/// The last extent of a tensor or buffer.
inline int64_t getFeatures(Value value) {
  return cast<ShapedType>(value.getType()).getShape().back();
}

inline Value loadIndex(KernelBuilder &b, Value table, ArrayRef<Value> indices) {
  return b.toIndex(b.load(table, indices));
}

/// `features` elements of one row of a matrix, from column `begin`, as a buffer
/// of rank 1.
inline Value viewRow(KernelBuilder &b, Value matrix, Value row, Value begin,
                     int64_t features) {
  auto type = cast<MemRefType>(matrix.getType());
  SmallVector<OpFoldResult> offsets = {row, begin};
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(1),
                                     b.getIndexAttr(features)};
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  MemRefType view = memref::SubViewOp::inferRankReducedResultType(
      {features}, type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, view, matrix, offsets, sizes, strides);
}

/// Elements of f32 or bf16, scalar or vector, as f32.
inline Value toFloat(KernelBuilder &b, Value stored) {
  bool isFloat = getElementTypeOrSelf(stored.getType()).isF32();
  return isFloat ? stored : b.decodeBF16(stored);
}
inline Value loadFloat(KernelBuilder &b, Value buffer,
                       ArrayRef<Value> indices) {
  return toFloat(b, b.load(buffer, indices));
}
/// `lanes` adjacent elements.
inline Value loadFloats(KernelBuilder &b, Value buffer, ArrayRef<Value> indices,
                        int64_t lanes) {
  return toFloat(b, b.loadVector(buffer, indices, lanes));
}

/// Walks `features` elements in vectors; the body gets the first element's
/// index and the number of lanes. The threads of an item share them.
inline void forVectors(KernelBuilder &b, int64_t features,
                       function_ref<void(Value begin, int64_t lanes)> body) {
  int64_t lanes = b.getLanes(features);
  b.shareLoop(features, lanes, [&](Value begin) { body(begin, lanes); });
}

/// Sums `count` terms over the features of a row, each in fixed lanes.
inline SmallVector<Value> sumVectors(
    KernelBuilder &b, int64_t features, int64_t count,
    function_ref<void(Value begin, int64_t lanes, MutableArrayRef<Value> sums)>
        body) {
  int64_t lanes = b.getLanes(features);
  SmallVector<Value> initial(count, b.f32(0.0f, lanes));
  SmallVector<Value> sums = b.shareLoop(
      features, lanes, initial, [&](Value begin, ArrayRef<Value> carried) {
        SmallVector<Value> next(carried);
        body(begin, lanes, next);
        return next;
      });
  for (Value &sum : sums)
    sum = b.sumThreads(b.reduceAdd(sum));
  return sums;
}

inline void copyRow(KernelBuilder &b, Value from, Value fromRow, Value to,
                    Value toRow) {
  forVectors(b, getFeatures(from), [&](Value begin, int64_t lanes) {
    b.storeVector(b.loadVector(from, {fromRow, begin}, lanes), to,
                  {toRow, begin});
  });
}

inline void fillRow(KernelBuilder &b, float value, Value to, Value row) {
  forVectors(b, getFeatures(to), [&](Value begin, int64_t lanes) {
    b.storeVector(b.f32(value, lanes), to, {row, begin});
  });
}

/// r(x) where an operation rounds its result.
inline Value roundIf(KernelBuilder &b, bool rounded, Value value) {
  return rounded ? b.round(value) : value;
}

/// The rows of a weight, or of one sequence's state, in its format.
class PackedRows {
public:
  /// A weight without experts.
  PackedRows(KernelBuilder &b, Value weight)
      : PackedRows(cast<WeightType>(weight.getType()).getFormat(),
                   [&](Plane plane) -> Value {
                     auto value = cast<TypedValue<WeightType>>(weight);
                     return WeightDataOp::create(
                         b, getPlaneType(value.getType(), plane),
                         /*call=*/Value(), value, /*expert=*/Value(), plane);
                   }) {}
  PackedRows(KernelBuilder &b, Value state, Value sequence)
      : PackedRows(cast<StateTypeInterface>(state.getType()).getRowFormat(),
                   [&](Plane plane) -> Value {
                     auto type = cast<StateTypeInterface>(state.getType());
                     return StateDataOp::create(b, getPlaneType(type, plane),
                                                /*call=*/Value(), state,
                                                sequence, plane);
                   }) {}

  Value getPayload() const { return payload; }
  /// Null where the format has none.
  Value getScales() const { return scales; }
  /// Puts the values of a row into `to`, of rank 1.
  void decode(KernelBuilder &b, Value row, Value to) const {
    b.decodeRow(format, payload, scales, row, to);
  }
  /// Quantizes values[valueRow] into a row.
  void encode(KernelBuilder &b, Value values, Value valueRow, Value row) const {
    b.encodeRow(format, values, valueRow, payload, scales, row);
  }

private:
  PackedRows(FormatAttr format, function_ref<Value(Plane)> getPlane)
      : format(format), payload(getPlane(Plane::Payload)),
        scales(format.hasScale() ? getPlane(Plane::Scale) : Value()) {}

  FormatAttr format;
  Value payload;
  Value scales;
};

/// A row of a call together with the rows of the same sequence.
struct CallRow {
  Value row;
  Value sequence;
  Value position;
  Value firstRow; // the sequence's first row in this call
  Value rowCount;
  Value firstPosition;

  CallRow(KernelBuilder &b, Value row, Value sequences, Value positions,
          Value extents)
      : row(row), sequence(loadIndex(b, sequences, {row})),
        position(loadIndex(b, positions, {row})),
        firstRow(loadIndex(b, extents, {sequence, b.index(0)})),
        rowCount(loadIndex(b, extents, {sequence, b.index(1)})),
        firstPosition(b.sub(position, b.sub(row, firstRow))) {}

  /// Whether a position is one of this call's; not after this row.
  Value isInCall(KernelBuilder &b, Value other) const {
    return b.cmp(arith::CmpIPredicate::sge, other, firstPosition);
  }
  Value getRowOf(KernelBuilder &b, Value other) const {
    return b.add(firstRow, b.sub(other, firstPosition));
  }
  /// Whether this is one of the sequence's last `count` rows.
  Value isAmongLast(KernelBuilder &b, int64_t count) const {
    Value after = b.sub(b.add(firstRow, rowCount), row);
    return b.cmp(arith::CmpIPredicate::sle, after, b.index(count));
  }
};

/// The ring row of a position.
inline Value getRingRow(KernelBuilder &b, WindowType window, Value layer,
                        Value position) {
  return b.add(b.mul(layer, window.getSlots()),
               b.rem(position, window.getSlots()));
}

/// The positions that the ring slots of a sequence hold, plus one, where the
/// window keeps them.
inline Value getRingPositions(KernelBuilder &b, Value window, Value sequence) {
  auto type = cast<StateTypeInterface>(window.getType());
  return StateDataOp::create(b, getPlaneType(type, Plane::Position),
                             /*call=*/Value(), window, sequence,
                             Plane::Position);
}

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ROWACCESS_H
