//===- Constraints.h - Numbered constraints of verifiers --------*- C++ -*-===//

#ifndef DSFLASH_LIB_DIALECT_DSFLASH_IR_CONSTRAINTS_H
#define DSFLASH_LIB_DIALECT_DSFLASH_IR_CONSTRAINTS_H

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"

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

  /// Fails unless two types agree.
  LogicalResult equal(Type got, Type expected, const Twine &what) const {
    if (got == expected)
      return success();
    return op->emitOpError() << "(C" << number << ") expected " << what
                             << " to be " << expected << " but got " << got;
  }

  /// Fails unless a weight is a matrix of these extents.
  LogicalResult shape(WeightType weight, int64_t rows, int64_t columns,
                      const Twine &what) const {
    if (weight.getShape().size() == 2 && weight.getRows() == rows &&
        weight.getColumns() == columns)
      return success();
    return op->emitOpError()
           << "(C" << number << ") expected " << what << " to have the shape ["
           << rows << ", " << columns << "] but got " << weight;
  }
};

/// Extent `index` of a ranked value; -1 counts from the last.
inline int64_t extent(Value value, int index) {
  auto type = cast<ShapedType>(value.getType());
  return type.getDimSize(index < 0 ? type.getRank() + index : index);
}

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_DIALECT_DSFLASH_IR_CONSTRAINTS_H
