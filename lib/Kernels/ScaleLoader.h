//===- ScaleLoader.h - Scales of a tile of weights --------------*- C++ -*-===//

#ifndef DSFLASH_LIB_KERNELS_SCALELOADER_H
#define DSFLASH_LIB_KERNELS_SCALELOADER_H

#include "dsflash/Kernels/KernelBuilder.h"

namespace mlir::dsflash {

/// Brings the scales of some outputs to shared memory, for a part of the
/// columns: a sector of each row, so that none is asked for twice.
class ScaleLoader {
public:
  struct Shape {
    /// `outputs`: of a tile; `columns`: of a step.
    Shape(FormatAttr format, int64_t outputs, int64_t columns);

    int64_t getBytes() const { return rows * inRow; }

    /// Scales of a row that are there at a time: 32 bytes.
    static constexpr int64_t inRow = 32;
    FormatAttr format;
    int64_t columns;
    int64_t rows = 0;  // 0: there are no scales
    int64_t steps = 0; // whose columns have the same scales of a row
  };

  /// `scales`: [rows, blocks] of a weight with `columns` columns. Shared memory
  /// is taken from byte `offset` on.
  ScaleLoader(KernelBuilder &b, const Shape &shape, Value scales, Value columns,
              int64_t offset);

  /// Begins with a tile of outputs.
  void start(Value firstOutput, Value lastOutput);
  /// Fetches the scales of a step and those behind it, if it is the first that
  /// has none. Every thread of the block takes part; they see the scales, and
  /// are done with those before, behind a barrier.
  void load(Value step);
  /// The scale (f32) of an output at a column of the current step.
  Value get(Value output, Value column);

private:
  KernelBuilder &b;
  Shape shape;
  Value scales, columns, loaded;
  Value firstRow, rowCount; // of the tile
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_SCALELOADER_H
