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
    Runs @kernel(begin, end, ins..., outs...) over disjoint pieces of [0, grid),
    counted in items that the kernel defines (docs/Rationale.md, one kernel-level operation).
    The result does not depend on the pieces. On tensors the results are the outs after the launch; on
    buffers there are none. `writes_state` says that the kernel writes a state among its
    ins, or reports what a check found. With `call` the kernel takes the call's context first.

    - C1: the kernel is a function of the call's context, if any, two indices and buffers of
      the operands' shapes, without results.
    - C2: on tensors there is one result of its type for each of the outs.

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
    The checkpoint's bytes in place, of one expert where the type has experts
    (SPEC section 4).

    Shapes: payload [rows, columns] of f32, bf16 or i32, or [rows, bytes] of i8 where
    elements are packed; scale [scale rows, scales of a row] of i8.

    - C1: an expert is named exactly when the weight has experts.
    - C2: the memref is static and as large as the plane, which the format has.

    Example:

    ```mlir
    %scale = dsflash.weight_data scale %w[%expert]
      : <[16, 32, 64], <e2m1, e8m0, [1, 32]>> -> memref<32x2xi8>
    ```
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
    The packed rows of one sequence in place (SPEC section 1, 890 bytes a token).

    Shapes: payload [rows, bytes of a row] of i8, or [rows, elements] of f32 where the
    format is f32; scale [rows, scales of a row] of i8; position [rows] of i32, the position
    that a ring slot holds plus one, 0 while there is none. The rows of a window are those of
    all its layers, a row of pending groups is kv, then gate.

    - C1: the memref has this shape and the format has the plane.

    Example:

    ```mlir
    %rows = dsflash.state_data payload %global[%sequence]
      : !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>> -> memref<2048x32xi8>
    ```
  }];
  let arguments = (ins Optional<DSFlash_Context>:$call, DSFlash_AnyState:$state, Index:$sequence, DSFlash_PlaneAttr:$plane);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $plane $state `[` $sequence `]` (`call` `(` $call^ `)`)? attr-dict `:` type($state) `->` type($result)
  }];
  let hasVerifier = 1;
}

def DSFlash_DecodeE2M1Op : DSFlash_Op<"decode_e2m1", [Pure]> {
  let summary = "values of E2M1 codes";
  let description = [{
    The value of the code in the low four bits of each element, whatever the other bits are, times `scale`, in
    one rounding (SPEC section 2). Processors look it up or compute it, to the same bits.

    Shapes: codes [] or [lanes] to the same.

    - C1: the result has the shape of the codes.

    Example:

    ```mlir
    %values = dsflash.decode_e2m1 %codes, %scale : vector<16xi32> -> vector<16xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[I32, VectorOfRankAndType<[1], [I32]>]>:$codes, F32:$scale);
  let results = (outs AnyTypeOf<[F32, VectorOfRankAndType<[1], [F32]>]>:$values);
  let assemblyFormat = "$codes `,` $scale attr-dict `:` type($codes) `->` type($values)";
  let hasVerifier = 1;
}

def DSFlash_DecodeE2M1BlocksOp : DSFlash_Op<"decode_e2m1_blocks", [Pure]> {
  let summary = "bf16 values of E2M1 codes with a power of two for each block";
  let description = [{
    Of N bytes, each with the codes of two adjacent columns, the lower one in its low bits: the values times 2^(scale - 127),
    255 is NaN (SPEC section 2, E8M0). Every scale belongs to an equal share of the columns. Exact; what is too large is infinite. The
    result has the columns 0, 4, 8 ... first, then 1, 5, 9 ..., 2, 6, 10 ... and 3, 7, 11 ...: a word of 16 bits has four adjacent
    ones. Processors look it up or compute it, to the same bits.

    Shapes: codes [N] of i8, scales i8 each, result [2 N] of bf16.

    - C1: the result has two elements for a byte.
    - C2: the scales divide the words of two bytes.

    Example:

    ```mlir
    %values = dsflash.decode_e2m1_blocks %codes[%s0, %s1, %s2, %s3] : vector<64xi8> -> vector<128xbf16>
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [I8]>:$codes, Variadic<I8>:$scales);
  let results = (outs VectorOfRankAndType<[1], [BF16]>:$values);
  let assemblyFormat = "$codes `[` $scales `]` attr-dict `:` type($codes) `->` type($values)";
  let hasVerifier = 1;
}

def DSFlash_DecodeE4M3Op : DSFlash_Op<"decode_e4m3", [Pure]> {
  let summary = "values of E4M3 codes";
  let description = [{
    The value of each code, exact; 0x7f and 0xff are NaN of their sign (SPEC section 2). Processors look it up or
    compute it, to the same bits.

    Shapes: codes [] or [lanes] to the same.

    - C1: the result has the shape of the codes.

    Example:

    ```mlir
    %values = dsflash.decode_e4m3 %codes : vector<64xi8> -> vector<64xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[I8, VectorOfRankAndType<[1], [I8]>]>:$codes);
  let results = (outs AnyTypeOf<[F32, BF16, VectorOfRankAndType<[1], [F32, BF16]>]>:$values);
  let assemblyFormat = "$codes attr-dict `:` type($codes) `->` type($values)";
  let hasVerifier = 1;
}

def DSFlash_NarrowBF16Op : DSFlash_Op<"narrow_bf16", [Pure, SameOperandsAndResultShape]> {
  let summary = "bf16 of f32 values that are exact in it";
  let description = [{
    The same numbers in bf16. Of others, and of subnormal ones, the result is a neighbour in bf16, on some processors another one
    than on others: rounding is `dsflash.round`'s (SPEC section 2).

    Shapes: values [] or [lanes] to the same.

    Example:

    ```mlir
    %narrow = dsflash.narrow_bf16 %values : vector<32xf32> -> vector<32xbf16>
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, VectorOfRankAndType<[1], [F32]>]>:$values);
  let results = (outs AnyTypeOf<[BF16, VectorOfRankAndType<[1], [BF16]>]>:$narrow);
  let assemblyFormat = "$values attr-dict `:` type($values) `->` type($narrow)";
}

def DSFlash_DotBF16Op : DSFlash_Op<"dot_bf16", [Pure, AllTypesMatch<["a", "b"]>, AllTypesMatch<["sum", "result"]>]> {
  let summary = "products of pairs of bf16 values, added to sums of f32";
  let description = [{
    result[i] = a[2i] b[2i] + (a[2i + 1] b[2i + 1] + sum[i]): the odd product is added first, then the even one, each sum
    rounded to nearest, ties to even (docs/Numerics.md, "Products"; SPEC section 2, sums in f32). Products of bf16 values are exact in f32. That is
    what AVX-512 BF16 computes, which counts subnormal operands and results as 0; other processors do not.

    Shapes: a, b [2 N] of bf16, sum and result [N] of f32.

    - C1: there are two values for a sum.

    Example:

    ```mlir
    %next = dsflash.dot_bf16 %a, %b, %sum : vector<32xbf16>, vector<16xf32>
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [BF16]>:$a, VectorOfRankAndType<[1], [BF16]>:$b, VectorOfRankAndType<[1], [F32]>:$sum);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = "$a `,` $b `,` $sum attr-dict `:` type($a) `,` type($sum)";
  let hasVerifier = 1;
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHKERNELOPS_TD
