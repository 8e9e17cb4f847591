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
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

def ConvertDSFlashToLLVMPass
    : Pass<"convert-dsflash-to-llvm", "::mlir::ModuleOp"> {
  let summary = "launches, packed data and entries to the LLVM dialect";
  let description = [{
    Lowers the kernel level, together with all the upstream dialects that kernels use, to the LLVM
    dialect. Functions get the call context as their first argument, a launch packs its operands and calls
    `dsf_env.parallel_for`, weights become slots of the address table and states offsets in a
    sequence's address range (ModuleABI.h). Adds the module's tables and `dsf_module_query`.
  }];
  let options = [
    Option<"compiler", "compiler", "std::string", "\"dsflash\"", "name and version for the module's table">,
    Option<"triple", "triple", "std::string", "\"\"", "target triple for the module's table">,
    Option<"features", "features", "std::string", "\"\"", "CPU features that the code needs">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // DSFLASH_CONVERSION_PASSES_TD
