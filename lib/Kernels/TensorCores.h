//===- TensorCores.h - Fragments of bf16 matrices ---------------*- C++ -*-===//

#ifndef DSFLASH_LIB_KERNELS_TENSORCORES_H
#define DSFLASH_LIB_KERNELS_TENSORCORES_H

#include "dsflash/Kernels/KernelBuilder.h"

namespace mlir::dsflash {

constexpr int64_t kWarp = 32;
/// The shape of mma.sync.
constexpr int64_t kM = 16, kN = 8, kK = 16;
/// Of a thread, of kM x kN.
constexpr int64_t kSumsOfFragment = 4;
/// bf16 values behind a row of a tile in shared memory, so that neither
/// ldmatrix nor the stores conflict.
constexpr int64_t kPadding = 8;

/// Bytes of a copy.
constexpr int64_t kCopyBytes = 16;

/// Starts a copy of 16 bytes to shared memory, of zeros where there are none.
/// It is one of the group that the thread commits next.
void startCopy(KernelBuilder &b, Value isThere, Value from, ArrayRef<Value> at,
               Value to, ArrayRef<Value> place);
void commitCopies(KernelBuilder &b);
/// Waits for all groups of this thread but the last `count`.
void awaitCopies(KernelBuilder &b, int64_t count);

/// The stages of copies that a block has under way: as many as the
/// configuration says, or fewer where two blocks then share a multiprocessor.
/// `getBytes`: of the shared memory of a block with so many stages.
int64_t chooseStages(ConfigAttr config,
                     function_ref<int64_t(int64_t stages)> getBytes);

/// To bf16, of values that are exact in it.
Value toBF16(KernelBuilder &b, Value values);

/// Four 8x8 matrices, whose rows the lanes name, as registers of mma.sync.
SmallVector<Value> loadFragment(KernelBuilder &b, Value tile,
                                ArrayRef<Value> at, bool transposed = false);

/// sums + rows * columns for kM rows and kN columns: four registers of rows,
/// two of columns.
SmallVector<Value> multiplyAdd(KernelBuilder &b, ArrayRef<Value> rows,
                               ArrayRef<Value> columns, ArrayRef<Value> sums);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_KERNELS_TENSORCORES_H
