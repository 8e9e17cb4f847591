//===- TensorCores.cpp - Fragments of bf16 matrices -----------------------===//

#include "TensorCores.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::dsflash;

void mlir::dsflash::startCopy(KernelBuilder &b, Value isThere, Value from,
                              ArrayRef<Value> at, Value to,
                              ArrayRef<Value> place) {
  auto type = cast<MemRefType>(from.getType());
  int64_t elements = kCopyBytes * 8 / type.getElementTypeBitWidth();
  nvgpu::DeviceAsyncCopyOp::create(
      b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), to, place, from, at,
      b.getIndexAttr(elements),
      b.select(isThere, b.index(elements), b.index(0)),
      /*bypassL1=*/b.getUnitAttr());
}

int64_t
mlir::dsflash::chooseStages(ConfigAttr config,
                            function_ref<int64_t(int64_t stages)> getBytes) {
  // Of each block, of the shared memory of a multiprocessor, which is that of
  // its largest block and this (CUDA programming guide, compute capabilities).
  constexpr int64_t reserved = 1024, least = 2;
  int64_t most = std::max(config.getStages(), least);
  for (int64_t stages = most; stages >= least; --stages)
    if (2 * (getBytes(stages) + reserved) <= config.getSharedBytes() + reserved)
      return stages;
  return most;
}

void mlir::dsflash::commitCopies(KernelBuilder &b) {
  NVVM::CpAsyncCommitGroupOp::create(b);
}

void mlir::dsflash::awaitCopies(KernelBuilder &b, int64_t count) {
  NVVM::CpAsyncWaitGroupOp::create(b, count);
}

Value mlir::dsflash::toBF16(KernelBuilder &b, Value values) {
  auto type = cast<VectorType>(values.getType());
  return LLVM::FPTruncOp::create(b, type.clone(b.getBF16Type()), values);
}

SmallVector<Value> mlir::dsflash::loadFragment(KernelBuilder &b, Value tile,
                                               ArrayRef<Value> at,
                                               bool transposed) {
  constexpr int32_t matrices = 4;
  auto type = VectorType::get({matrices, 2}, b.getBF16Type());
  Value loaded =
      nvgpu::LdMatrixOp::create(b, type, tile, at, transposed, matrices);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < matrices; ++i) {
    Value pair = vector::ExtractOp::create(b, loaded, i);
    Value bits =
        vector::BitCastOp::create(b, VectorType::get(1, b.getI32Type()), pair);
    registers.push_back(vector::ExtractOp::create(b, bits, int64_t(0)));
  }
  return registers;
}

SmallVector<Value> mlir::dsflash::multiplyAdd(KernelBuilder &b,
                                              ArrayRef<Value> rows,
                                              ArrayRef<Value> columns,
                                              ArrayRef<Value> sums) {
  using namespace NVVM;
  SmallVector<Type> types(sums.size(), b.getF32Type());
  Value result =
      MmaOp::create(b, LLVM::LLVMStructType::getLiteral(b.getContext(), types),
                    rows, columns, sums, {kM, kN, kK}, std::nullopt,
                    std::nullopt, std::array{MMATypes::bf16, MMATypes::bf16},
                    std::array{MMALayout::row, MMALayout::col});
  SmallVector<Value> next;
  for (int64_t i = 0; i < int64_t(sums.size()); ++i)
    next.push_back(LLVM::ExtractValueOp::create(b, result, i));
  return next;
}
