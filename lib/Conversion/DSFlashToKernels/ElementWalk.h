//===- ElementWalk.h - Walks over the elements of a row ---------*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ELEMENTWALK_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ELEMENTWALK_H

#include "dsflash/Kernels/KernelBuilder.h"

namespace mlir::dsflash {

/// Walks buffer[row, ...] (rank 1 to 3), in steps of the last dimension; the
/// body gets all indices. A row of a buffer of rank 1 is one element. The
/// threads of an item share the elements.
inline void forRowElements(KernelBuilder &b, Value buffer, Value row,
                           int64_t step,
                           function_ref<void(ArrayRef<Value>)> body) {
  ArrayRef<int64_t> extents =
      cast<MemRefType>(buffer.getType()).getShape().drop_front();
  if (extents.empty())
    return b.shareLoop(1, 1, [&](Value) { body({row}); });
  auto walk = [&](ArrayRef<Value> leading) {
    b.shareLoop(extents.back(), step, [&](Value last) {
      SmallVector<Value> indices(leading);
      indices.push_back(last);
      body(indices);
    });
  };
  if (extents.size() == 1)
    return walk({row});
  b.loop(extents.front(), [&](Value middle) { walk({row, middle}); });
}

/// The same in vectors.
inline void
forRowVectors(KernelBuilder &b, Value buffer, Value row,
              function_ref<void(ArrayRef<Value>, int64_t lanes)> body) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t lanes = type.getRank() == 1 ? 1 : b.getLanes(type.getShape().back());
  forRowElements(b, buffer, row, lanes,
                 [&](ArrayRef<Value> indices) { body(indices, lanes); });
}

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOKERNELS_ELEMENTWALK_H
