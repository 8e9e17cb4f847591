//===- Entries.cpp - Functions that the runtime calls ---------------------===//

#include "ABIBuilder.h"
#include "ModuleTables.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::dsflash;

std::string mlir::dsflash::getEntryName(func::FuncOp function) {
  return (function.getName() + ".entry").str();
}

static Value loadDim(ABIBuilder &b, Value call, int64_t dim) {
  return b.loadField(b.getI64Type(), call,
                     offsetof(dsf_call, dims) + dim * sizeof(int64_t));
}

/// row_bytes * max(dims) + fixed_bytes.
static Value getWorkspaceSize(ABIBuilder &b, const Entry &entry, Value call) {
  Value largest = loadDim(b, call, 0);
  for (int64_t dim = 1; dim < DSF_DIM_COUNT; ++dim)
    largest = LLVM::SMaxOp::create(b, largest, loadDim(b, call, dim));
  return b.add(b.mul(largest, entry.workspaceRowBytes),
               b.i64(entry.workspaceFixedBytes));
}

static void addEntryWrapper(const Entry &entry) {
  func::FuncOp function = entry.function;
  ABIBuilder b(function.getLoc(), function.getContext());
  b.setInsertionPointAfter(function);
  auto wrapper = LLVM::LLVMFuncOp::create(
      b, getEntryName(function),
      LLVM::LLVMFunctionType::get(b.getI32Type(), {b.pointer()}),
      LLVM::Linkage::Internal);
  b.setInsertionPointToStart(wrapper.addEntryBlock(b));
  Value call = wrapper.getArgument(0);
  Value tensors = b.loadField(b.pointer(), call, offsetof(dsf_call, tensors));
  SmallVector<Value> arguments{call};
  for (auto [argument, type] : llvm::zip_equal(
           entry.arguments, function.getArgumentTypes().drop_front())) {
    if (argument.kind == EntryArgument::State) {
      arguments.push_back(b.i64(argument.number));
      continue;
    }
    Value address, size;
    if (argument.kind == EntryArgument::Workspace) {
      address = b.loadField(b.pointer(), call, offsetof(dsf_call, workspace));
      size = getWorkspaceSize(b, entry, call);
    } else {
      address = b.loadPointer(tensors, b.i64(argument.number));
      size = loadDim(b, call, entry.tensors[argument.number].dim);
    }
    b.appendBuffer(cast<MemRefType>(type), address, size, arguments);
  }
  LLVM::CallOp::create(b, TypeRange(), function.getName(), arguments);
  LLVM::ReturnOp::create(b, b.i32(0));
}

void mlir::dsflash::addEntryWrappers(const ModuleLayout &layout) {
  for (const Entry &entry : layout.entries)
    addEntryWrapper(entry);
}
