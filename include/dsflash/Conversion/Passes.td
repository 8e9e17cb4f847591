//===- Passes.td - Conversions out of the dsflash dialect -----------------===//

#ifndef DSFLASH_CONVERSION_PASSES_TD
#define DSFLASH_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertDSFlashToKernelsPass
    : Pass<"convert-dsflash-to-kernels", "::mlir::ModuleOp"> {
  let summary = "model operations to launches of kernel functions";
  let description = [{
    Every model-level operation becomes a `dsflash.dispatch` of a kernel function that is
    made for its shapes, formats and attributes; operations that agree in these share one.
    Kernels read weights and state in place and sum in an order that does not depend on the number of rows.

    ```mlir
    %y = dsflash.rms_norm %x, %w {eps = 1.0e-20 : f32}
      : (tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x64xf32>
    ```
    becomes
    ```mlir
    %n = tensor.dim %x, %c0 : tensor<?x64xf32>
    %init = tensor.empty(%n) : tensor<?x64xf32>
    %y = dsflash.dispatch @rms_norm grid(%n) ins(%x, %w : ...) outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

def ThreadCallPass : Pass<"dsflash-thread-call", "::mlir::ModuleOp"> {
  let summary = "the call context as first argument of every function";
  let description = [{
    Gives every `func.func` a leading pointer to the `dsf_call` of ModuleABI.h
    and hands it on: to function calls, launches and the operations that look up
    weights and states.

    ```mlir
    dsflash.dispatch @k grid(%n) ins(%w : !dsflash.weight<[1, 64], <bf16>>)
    ```
    becomes
    ```mlir
    dsflash.dispatch @k call(%call) grid(%n) ins(%w : !dsflash.weight<[1, 64], <bf16>>)
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerMathPass : Pass<"dsflash-lower-math", "::mlir::ModuleOp"> {
  let summary = "transcendental functions to arithmetic, the same for scalars and vectors";
  let description = [{
    `math.exp`, `math.log` and `math.log1p` of f32 become polynomials (relative error below 2e-7), `math.exp` of f64 too
    (below 1e-12), and
    `math.sin` and `math.cos` calls of libm, one element at a time: a value does not depend on the vector it is in.
    With `libm=false` these two are computed in f64 instead, right for angles below 2^30.
    Narrowing to bf16 becomes integer arithmetic, and i1, i8, i16 and i32 go to bf16 in one rounding. Without `fuse-multiply-add`, for processors that lack the
    instruction, `math.fma` and `vector.fma` become a multiplication and an addition. `dsflash.decode_e2m1` becomes
    arithmetic, or for `look-up-lanes` = 16 (AVX-512) or 8 (AVX2) a look-up in a register, and
    `dsflash.decode_e4m3` of 64 codes one in four registers if `look-up-bytes` (AVX-512 VBMI).
    `dsflash.decode_e2m1_blocks` of 64 bytes becomes look-ups in two registers if `look-up-words` (AVX-512 BW). With `dot-bf16` (AVX-512 BF16)
    `dsflash.dot_bf16` and `dsflash.narrow_bf16` are instructions, else arithmetic.
  }];
  let options = [
    Option<"fuseMultiplyAdd", "fuse-multiply-add", "bool", "true", "keep fused multiply-add">,
    Option<"useLibm", "libm", "bool", "true", "sine and cosine by libm">,
    Option<"lookUpLanes", "look-up-lanes", "int64_t", "0", "elements of a register that one instruction looks up in; 0: none">,
    Option<"lookUpWords", "look-up-words", "bool", "false", "an instruction looks 16 bits up in two registers">,
    Option<"lookUpBytes", "look-up-bytes", "bool", "false", "an instruction looks bytes up in two registers">,
    Option<"dotBF16", "dot-bf16", "bool", "false", "an instruction adds the products of pairs of bf16">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

def LowerVectorPass : Pass<"dsflash-lower-vector"> {
  let summary = "vector operations to those with a direct counterpart in LLVM";
  let description = [{
    Transfers become loads and stores, shapes of more than one dimension are unrolled, reductions keep their
    order.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect"];
}

def AlignVectorsPass : Pass<"dsflash-align-vectors", "::mlir::ModuleOp"> {
  let summary = "how far the vectors that a kernel loads and stores are aligned";
  let description = [{
    Says of each vector in a function with `dsflash.kernel` that its address is a multiple of up to 16 bytes, where that
    follows from the indices: on a device a vector is one access only if it does. Buffers of a device start at multiples of 16 bytes.

    ```mlir
    scf.for %f = %c0 to %c64 step %c4 {
      %v = vector.load %x[%row, %f] : memref<?x64xf32>, vector<4xf32>
    ```
    becomes
    ```mlir
    scf.for %f = %c0 to %c64 step %c4 {
      %v = vector.load %x[%row, %f] {alignment = 16 : i64} : memref<?x64xf32>, vector<4xf32>
    ```
  }];
}

def ConvertDSFlashToLLVMPass
    : Pass<"convert-dsflash-to-llvm", "::mlir::ModuleOp"> {
  let summary = "launches, packed data and entries to the LLVM dialect";
  let description = [{
    Lowers the kernel level, after `dsflash-thread-call`, together with the upstream dialects
    that kernels use, to the LLVM dialect. A launch packs its operands and calls `dsf_env.parallel_for`
    with a task function that unpacks them, or nothing at all when it has no items. Weights become slots of the
    address table and states byte offsets in a sequence's address range (ModuleABI.h). With `device` a launch
    calls `dsf_env.launch` and every kernel gets an entry (`nvvm.kernel`) in which each thread takes one
    item, then the one a grid behind, and so on. Entries that are equal but for 64-bit numbers are one, which takes these as its
    last parameters; the table of kernels has them. Every
    public function becomes an entry with a wrapper that reads its tensors from the call. Adds the module's tables and
    `dsf_module_query`, the only symbol that is visible from outside.

    Reads these attributes: on the module `dsflash.numerics` (string), `dsflash.vocab_size`,
    `dsflash.max_positions`, `dsflash.draft_block`, `dsflash.look_back`, `dsflash.sliding_window` (integers); on
    arguments of entries `dsflash.name`, `dsflash.dim` ("rows", "sequences", "outputs") and
    `dsflash.access` ("read", "write", "read_write"; without it what the function does with the argument); on
    entries `dsflash.workspace_row_bytes` and `dsflash.workspace_fixed_bytes`.
  }];
  let options = [
    Option<"compiler", "compiler", "std::string", "\"dsflash\"", "name and version for the module's table">,
    Option<"triple", "triple", "std::string", "\"\"", "target triple for the module's table">,
    Option<"features", "features", "std::string", "\"\"", "CPU features that the code needs, comma separated">,
    Option<"device", "device", "std::string", "\"\"", "devices that run the kernels, comma separated; empty: the host">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def OutlineDevicePass : Pass<"dsflash-outline-device", "::mlir::ModuleOp"> {
  let summary = "kernels and what they call to a module of their own";
  let description = [{
    Moves the functions with `nvvm.kernel`, and all that they call, to the `gpu.module @device_code`. A function
    that the host calls too is an error. Functions with several callers are not inlined.

    ```mlir
    llvm.func @k(%call: !llvm.ptr) attributes {nvvm.kernel} {
    ```
    becomes
    ```mlir
    gpu.module @device_code {
      llvm.func @k(%call: !llvm.ptr) attributes {nvvm.kernel} {
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def VerifyAddressingPass
    : Pass<"dsflash-verify-addressing", "::mlir::ModuleOp"> {
  let summary = "device code computes addresses in 64 bits";
  let description = [{
    Reports in every `gpu.module` each address whose offset is a variable of less than 64 bits, or the extension of a sum,
    product or shift that was computed in less: tensors of more than 2^31 bytes exist.
  }];
}

def VerifyLLVMPass : Pass<"dsflash-verify-llvm", "::mlir::ModuleOp"> {
  let summary = "nothing is left that LLVM cannot translate or link";
  let description = [{
    Reports every operation outside of the LLVM dialect, and every external function but sinf, cosf, memcpy, memmove
    and memset. In a `gpu.module` there may be operations of the NVVM dialect, and no external function.
  }];
}

#endif // DSFLASH_CONVERSION_PASSES_TD
