//===- ABIBuilder.h - The structures of ModuleABI.h in LLVM -----*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_ABIBUILDER_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_ABIBUILDER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dsflash {

/// Writes LLVM operations that read the call and pass buffers.
class ABIBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Type pointer() { return LLVM::LLVMPointerType::get(getContext()); }
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value null();
  Value add(Value a, Value b);
  Value mul(Value a, int64_t b);

  /// The address `bytes` behind `base`.
  Value offset(Value base, Value bytes);
  /// Loads what lies `bytes` (offsetof) behind `base`, or element `index` of an
  /// array of pointers. What a call refers to does not change while it runs.
  Value loadField(Type type, Value base, int64_t bytes);
  Value loadPointer(Value table, Value index);

  /// Calls a function pointer of dsf_env, which gets the user's pointer first.
  void callEnvironment(Value environment, Value function, ValueRange arguments);

  /// Appends the arguments that the calling convention of func-to-llvm has for
  /// a buffer of identity layout.
  void appendBuffer(MemRefType type, Value address, ValueRange dynamicSizes,
                    SmallVectorImpl<Value> &arguments);
};

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_ABIBUILDER_H
