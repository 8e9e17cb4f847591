//===- Constraints.h - Numbered constraints of verifiers --------*- C++ -*-===//

#ifndef DSFLASH_LIB_DIALECT_DSFLASH_IR_CONSTRAINTS_H
#define DSFLASH_LIB_DIALECT_DSFLASH_IR_CONSTRAINTS_H

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include <limits>

namespace mlir::dsflash {

/// The number that a constraint has in the operation's description.
struct Constraint {
  Operation *op;
  int number;

  /// Fails with "(C<number>) expected <text>" unless `holds`.
  LogicalResult holds(bool holds, const Twine &text) const {
    if (holds)
      return success();
    return op->emitOpError() << "(C" << number << ") expected " << text;
  }

  /// Fails unless two extents or counts agree.
  LogicalResult equal(int64_t got, int64_t expected, const Twine &what) const {
    if (got == expected)
      return success();
    return op->emitOpError() << "(C" << number << ") expected " << what
                             << " to be " << expected << " but got " << got;
  }

  /// Fails unless an extent is `count` times `each`, both positive.
  LogicalResult times(int64_t got, int64_t count, int64_t each,
                      const Twine &what) const {
    if (count > 0 && got % count == 0 && got / count == each)
      return success();
    return op->emitOpError()
           << "(C" << number << ") expected " << what << " to be " << count
           << " times " << each << " but got " << got;
  }

  /// Fails unless two types agree.
  LogicalResult equal(Type got, Type expected, const Twine &what) const {
    if (got == expected)
      return success();
    return op->emitOpError() << "(C" << number << ") expected " << what
                             << " to be " << expected << " but got " << got;
  }

  /// Fails unless a weight has these extents and plain numbers.
  LogicalResult shape(WeightType weight, int64_t rows, int64_t columns,
                      const Twine &what) const {
    Element element = weight.getFormat().getElement();
    if (weight.getShape() == ArrayRef<int64_t>{rows, columns} &&
        (element == Element::F32 || element == Element::BF16))
      return success();
    return op->emitOpError()
           << "(C" << number << ") expected " << what << " to be [" << rows
           << ", " << columns << "] of f32 or bf16 but got " << weight;
  }
};

/// Whether a number can be an extent or a count.
inline bool isExtent(int64_t number) {
  return number >= 1 && number <= std::numeric_limits<int32_t>::max();
}

/// Whether a number can be added to a mean square before the root.
inline bool isEps(const APFloat &number) {
  return number.isFinite() && !number.isNegative();
}

/// C5 of attention: the ring holds the sliding window.
inline LogicalResult verifySlidingWindow(Operation *op, int64_t slidingWindow,
                                         WindowType ring) {
  return Constraint{op, 5}.holds(
      slidingWindow > 0 && slidingWindow <= ring.getSlots(),
      "a sliding window of 1 to " + Twine(ring.getSlots()) +
          " positions but got " + Twine(slidingWindow));
}

/// Extent `index` of a ranked value; -1 counts from the last.
inline int64_t extent(Value value, int index) {
  auto type = cast<ShapedType>(value.getType());
  return type.getDimSize(index < 0 ? type.getRank() + index : index);
}

/// Constraints 1 to 3 of attention: the query's features, the ring's rows and
/// the sink for `heads` of the KV's extent.
template <typename OpTy> LogicalResult verifyHeads(OpTy op) {
  int64_t dim = extent(op.getKv(), 1), heads = op.getHeads();
  return success(
      succeeded(Constraint{op, 1}.times(extent(op.getQuery(), 1), heads, dim,
                                        "the query's features")) &&
      succeeded(Constraint{op, 2}.equal(op.getWindow().getType().getDim(), dim,
                                        "the window's dim")) &&
      succeeded(Constraint{op, 3}.shape(op.getSink().getType(), 1, heads,
                                        "the sink")));
}

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_DIALECT_DSFLASH_IR_CONSTRAINTS_H
