//===- DSFlashKernelOps.td - Launches and packed data ---------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHKERNELOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHKERNELOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashOpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

/// The pointer to the call that every function hands on; see dsf_call.
def DSFlash_Context : Type<
    CPred<"::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self)">, "call context", "::mlir::LLVM::LLVMPointerType">,
  BuildableType<"::mlir::LLVM::LLVMPointerType::get($_builder.getContext())">;

def DSFlash_ShapedInit : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;

def DSFlash_DispatchOp : DSFlash_Op<"dispatch", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "parallel launch of a kernel function over a range of items";
  let description = [{
    Runs @kernel(begin, end, ins..., outs...) over disjoint pieces of [0, grid).
    The result does not depend on the pieces. On tensors the results are the
    outs after the launch; on buffers there are none. `writes_state` says
    that the kernel writes a state among its ins.

    C1: the kernel is a function of two indices and buffers of the operands' shapes.
    C2: on tensors there is one result of its type for each of the outs.

    Example:

    ```mlir
    %y = dsflash.dispatch @rms_norm grid(%n) ins(%x, %w : tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>)
      outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Optional<DSFlash_Context>:$call, Index:$grid,
    Variadic<AnyType>:$inputs, Variadic<DSFlash_ShapedInit>:$inits, UnitAttr:$writes_state);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kernel (`call` `(` $call^ `)`)? `grid` `(` $grid `)` (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $inits^ `:` type($inits) `)`)? attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
  }];
}

def DSFlash_WeightDataOp : DSFlash_Op<"weight_data", [Pure, AttrSizedOperandSegments]> {
  let summary = "a plane of a parameter's bytes";
  let description = [{
    The checkpoint's bytes in place, of one expert where the type has experts.

    C1: an expert is named exactly when the weight has experts.
    C2: the memref is static and as large as the plane.
  }];
  let arguments = (ins Optional<DSFlash_Context>:$call, DSFlash_WeightType:$weight, Optional<Index>:$expert, DSFlash_PlaneAttr:$plane);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $plane $weight (`[` $expert^ `]`)? (`call` `(` $call^ `)`)? attr-dict `:` type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
}

def DSFlash_StateDataOp : DSFlash_Op<"state_data", [Pure]> {
  let summary = "a plane of one sequence's state";
  let description = [{
    C1: the memref is [rows, bytes of a row's plane] of i8, or [rows, elements]
        of f32 where the format is f32.
  }];
  let arguments = (ins Optional<DSFlash_Context>:$call, DSFlash_AnyState:$state, Index:$sequence, DSFlash_PlaneAttr:$plane);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $plane $state `[` $sequence `]` (`call` `(` $call^ `)`)? attr-dict `:` type($state) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHKERNELOPS_TD
