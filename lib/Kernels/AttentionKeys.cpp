//===- AttentionKeys.cpp - Where the keys of a row lie --------------------===//

#include "dsflash/Kernels/AttentionKeys.h"
#include "ProductOperands.h"
#include "dsflash/Kernels/SharedFunction.h"

using namespace mlir;
using namespace mlir::dsflash;

SmallVector<Value *> AttentionKeys::list() {
  SmallVector<Value *> all = {&kv,          &ringPayload,  &first,
                              &windowCount, &callPosition, &callRow,
                              &layerRow,    &slots,        &row};
  if (ringScales)
    all.push_back(&ringScales);
  if (selection)
    all.append({&globalPayload, &selection});
  if (globalScales)
    all.push_back(&globalScales);
  return all;
}

void AttentionKeys::callFunction(
    KernelBuilder &b, const std::string &name, ValueRange others,
    function_ref<void(KernelBuilder &, const AttentionKeys &, ValueRange)>
        emitBody) const {
  AttentionKeys inside = *this;
  SmallVector<Value *> list = inside.list();
  SmallVector<Value> operands(
      llvm::map_range(list, [](Value *operand) { return *operand; }));
  llvm::append_range(operands, others);
  for (Value &operand : operands)
    if (isa<MemRefType>(operand.getType()))
      operand = forgetExtents(b, operand);
  callShared(b, name, operands, [&](KernelBuilder &body, ValueRange arguments) {
    for (auto [operand, argument] : llvm::zip(list, arguments))
      *operand = argument;
    emitBody(body, inside, arguments.drop_front(list.size()));
    return SmallVector<Value>();
  });
}

std::string mlir::dsflash::describeAttention(int64_t heads, int64_t dim,
                                             FormatAttr ring,
                                             FormatAttr global) {
  std::string text = std::to_string(heads) + "x" + std::to_string(dim) + "." +
                     describeProduct(ring);
  if (global)
    text += "." + describeProduct(global);
  return text;
}
