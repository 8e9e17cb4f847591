//===- Jit.h - Kernels as functions that tests can call ---------*- C++ -*-===//

#ifndef DSFLASH_UNITTESTS_KERNELS_JIT_H
#define DSFLASH_UNITTESTS_KERNELS_JIT_H

#include "SimtKernels.h"
#include "dsflash/Kernels/KernelBuilder.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>
#include <vector>

namespace dsflash_test {

/// A buffer of rank N as compiled code sees it.
template <typename T, int N> struct Memref {
  T *base;
  T *data;
  int64_t offset = 0;
  int64_t sizes[N];
  int64_t strides[N];

  template <typename... Sizes>
  explicit Memref(std::vector<T> &storage, Sizes... extents)
      : base(storage.data()), data(storage.data()), sizes{extents...} {
    static_assert(sizeof...(Sizes) == N, "one extent for each dimension");
    int64_t stride = 1;
    for (int i = N - 1; i >= 0; --i) {
      strides[i] = stride;
      stride *= sizes[i];
    }
  }
};

template <typename T> Memref<T, 1> flat(std::vector<T> &storage) {
  return Memref<T, 1>(storage, int64_t(storage.size()));
}

/// Compiles and calls kernels: on the host, or as PTX on the simt device where
/// getTestedDevice names one.
class Jit {
public:
  using Body = llvm::function_ref<void(mlir::dsflash::KernelBuilder &,
                                       mlir::ValueRange)>;

  Jit();

  /// memref<?x..xelement> of this rank.
  mlir::Type buffer(mlir::Type element, int64_t rank = 1);
  mlir::Builder &types() { return builder; }
  mlir::dsflash::FormatAttr format(llvm::StringRef text);

  /// Adds a function of these buffers.
  void add(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
           Body body);
  /// Adds the kernel of the one model operation of `model`, a function on
  /// tensors, as `name`: a function of two indices, the operation's operands
  /// but weights, its results, and the bytes of all planes of its weights.
  void addKernel(llvm::StringRef name, llvm::StringRef model);
  /// Whether number formats are looked up and products of bf16 are
  /// instructions, as a processor of these features has them, or arithmetic.
  enum class Code { Arithmetic, Instructions };
  /// Whether this processor has all instructions that Code names.
  static bool hasInstructions();
  void compile(Code code = Code::Arithmetic);

  template <typename... Arguments>
  void call(llvm::StringRef name, Arguments... arguments) {
    if (simt) {
      SimtArguments words;
      (flatten(words, arguments), ...);
      return simt->launch(name, words);
    }
    std::vector<std::unique_ptr<void *>> pointers;
    std::vector<void *> packed = {pack(pointers, arguments)...};
    invoke(name, packed);
  }

private:
  static void *pack(std::vector<std::unique_ptr<void *>> &, int64_t &value) {
    return &value;
  }
  template <typename T, int N>
  static void *pack(std::vector<std::unique_ptr<void *>> &pointers,
                    Memref<T, N> &buffer) {
    pointers.push_back(std::make_unique<void *>(&buffer));
    return pointers.back().get();
  }
  static void flatten(SimtArguments &words, int64_t value) { words.add(value); }
  template <typename T, int N>
  static void flatten(SimtArguments &words, const Memref<T, N> &buffer) {
    int64_t elements = 1;
    for (int64_t size : buffer.sizes)
      elements *= size;
    words.add(buffer.base, elements);
    words.add(reinterpret_cast<int64_t>(buffer.data));
    words.add(buffer.offset);
    for (int64_t size : buffer.sizes)
      words.add(size);
    for (int64_t stride : buffer.strides)
      words.add(stride);
  }
  void invoke(llvm::StringRef name, std::vector<void *> &arguments);

  mlir::MLIRContext context;
  mlir::Builder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  std::unique_ptr<SimtKernels> simt;
};

} // namespace dsflash_test

#endif // DSFLASH_UNITTESTS_KERNELS_JIT_H
