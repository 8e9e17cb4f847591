//===- ABIBuilder.cpp - The structures of ModuleABI.h in LLVM -------------===//

#include "ABIBuilder.h"
#include "dsflash/ABI/ModuleABI.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::dsflash;

Value ABIBuilder::i32(int64_t value) {
  return LLVM::ConstantOp::create(*this, getI32Type(), value);
}

Value ABIBuilder::i64(int64_t value) {
  return LLVM::ConstantOp::create(*this, getI64Type(), value);
}

Value ABIBuilder::null() { return LLVM::ZeroOp::create(*this, pointer()); }

Value ABIBuilder::add(Value a, Value b) {
  return LLVM::AddOp::create(*this, a, b);
}

Value ABIBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : LLVM::MulOp::create(*this, a, i64(b)).getResult();
}

Value ABIBuilder::offset(Value base, Value bytes) {
  return LLVM::GEPOp::create(*this, pointer(), getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

static Value loadInvariant(ABIBuilder &b, Type type, Value address) {
  auto load = LLVM::LoadOp::create(b, type, address);
  load.setInvariant(true);
  return load;
}

Value ABIBuilder::loadField(Type type, Value base, int64_t bytes) {
  Value address = bytes == 0 ? base : offset(base, i64(bytes));
  return loadInvariant(*this, type, address);
}

Value ABIBuilder::loadPointer(Value table, Value index) {
  Value address = LLVM::GEPOp::create(*this, pointer(), pointer(), table,
                                      ArrayRef<LLVM::GEPArg>{index});
  return loadInvariant(*this, pointer(), address);
}

void ABIBuilder::callEnvironment(Value environment, Value function,
                                 ValueRange arguments) {
  SmallVector<Value> operands{
      function, loadField(pointer(), environment, offsetof(dsf_env, user))};
  llvm::append_range(operands, arguments);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(getContext()),
      llvm::to_vector(ValueRange(operands).drop_front().getTypes()));
  LLVM::CallOp::create(*this, type, operands);
}

void ABIBuilder::appendBuffer(MemRefType type, Value address,
                              ValueRange dynamicSizes,
                              SmallVectorImpl<Value> &arguments) {
  int64_t rank = type.getRank();
  SmallVector<Value> sizes, strides(rank);
  for (int64_t size : type.getShape()) {
    bool dynamic = ShapedType::isDynamic(size);
    sizes.push_back(dynamic ? dynamicSizes.front() : i64(size));
    dynamicSizes = dynamicSizes.drop_front(dynamic);
  }
  SmallVector<int64_t> known = type.getStridesAndOffset().first;
  for (int64_t i = rank - 1; i >= 0; --i)
    strides[i] = ShapedType::isDynamic(known[i])
                     ? LLVM::MulOp::create(*this, strides[i + 1], sizes[i + 1])
                           .getResult()
                     : i64(known[i]);
  arguments.append({address, address, i64(0)});
  llvm::append_range(arguments, sizes);
  llvm::append_range(arguments, strides);
}
