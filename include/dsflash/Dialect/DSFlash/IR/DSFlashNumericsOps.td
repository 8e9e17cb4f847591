//===- DSFlashNumericsOps.td - Rounding, quantizers, norm, products -------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHNUMERICSOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHNUMERICSOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashOpBase.td"

def DSFlash_RoundOp : DSFlash_ModelOp<"round", [AllTypesMatch<["input", "result"]>]> {
  let summary = "round to bf16 at a named point";
  let description = [{
    r(x): each element to the nearest bf16, ties to even, kept in f32 (SPEC
    section 2). `point` names the rounding point; numerics passes and tests
    select by it.

    Shapes: [n, features] or [n, k, features] to the same.

    - C1: the point has a name.

    Example:

    ```mlir
    %y = dsflash.round %x {point = "attn.q"} : tensor<?x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor:$input, StrAttr:$point);
  let results = (outs DSFlash_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def DSFlash_QuantizeOp : DSFlash_ModelOp<"quantize", [AllTypesMatch<["input", "result"]>]> {
  let summary = "quantize groups of the last dimension, give their values";
  let description = [{
    Each group of `blockColumns` elements gets the scale of SPEC section 2 for
    this format and every element becomes the value that its code stands for:
    E4M3 with E8M0 scale (activations, window KV), E2M1 with E8M0 scale (index
    queries). An all-zero group gives zeros.

    Shapes: [n, features] or [n, k, features] to the same.

    - C1: the format is e4m3 or e2m1 with an e8m0 scale for one row.
    - C2: the last extent is a multiple of the block's columns.
    - C3: the point has a name.

    Example:

    ```mlir
    %y = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "attn.x"}
      : tensor<?x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor:$input, DSFlash_FormatAttr:$format, StrAttr:$point);
  let results = (outs DSFlash_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def DSFlash_ScaleOp : DSFlash_ModelOp<"scale", [AllTypesMatch<["input", "result"]>]> {
  let summary = "multiply by a constant";
  let description = [{
    x * factor in f32 (index weights: (heads * dim)^-0.5, SPEC section 3,
    indexer).

    Shapes: [n, features] or [n, k, features] to the same.

    - C1: the factor is finite.

    Example:

    ```mlir
    %y = dsflash.scale %x {factor = 0.125 : f32} : tensor<?x4xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor:$input, F32Attr:$factor);
  let results = (outs DSFlash_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def DSFlash_RMSNormOp : DSFlash_RoundableOp<"rms_norm"> {
  let summary = "root-mean-square norm of a row";
  let description = [{
    w * x / sqrt(mean(x^2) + eps), f32 inside (SPEC section 2).

    Shapes: x [n, d], weight [1, d] to [n, d].

    - C1: input and result have the same type.
    - C2: the weight has one row of d columns.
    - C3: eps is finite and not negative.

    Example:

    ```mlir
    %y = dsflash.rms_norm %x, %w {eps = 1.000000e-20 : f32}
      : (tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_WeightType:$weight,
                       F32Attr:$eps, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
}

class DSFlash_ProductOp<string mnemonic> : DSFlash_RoundableOp<mnemonic> {
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_WeightType:$weight, UnitAttr:$rounded,
    UnitAttr:$f64_accumulation);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
}

def DSFlash_LinearOp : DSFlash_ProductOp<"linear"> {
  let summary = "product with a stored matrix";
  let description = [{
    result[i, o] = sum over k of x[i, k] * W[o, k], accumulated in f32 in an
    order that depends on k alone (SPEC section 2). Weights
    are decoded as they are read. With `f64_accumulation` the sum is f64, and is
    rounded to f32 once.

    Shapes: x [n, in], W [out, in] to [n, out].

    - C1: the weight has two extents and is not i32.
    - C2: the input's features are the weight's columns.
    - C3: the result's features are the weight's rows.

    Example:

    ```mlir
    %y = dsflash.linear %x, %w
      : (tensor<?x64xf32>, !dsflash.weight<[32, 64], <e4m3, e8m0, [32, 32]>>) -> tensor<?x32xf32>
    ```
  }];
}

def DSFlash_ProjectOp : DSFlash_ProductOp<"project"> {
  let summary = "the one projection between encoder and decoder";
  let description = [{
    The decoder's KV source has no gate and no group: its latent is a plain
    projection of the encoder's output (CED; SPEC section 3, compressor of
    ratio 1). Computes what `dsflash.linear` computes.

    Shapes: x [n, d], W [head_dim, d] to [n, head_dim].

    - C1: the weight has two extents and is not i32.
    - C2: the input's features are the weight's columns.
    - C3: the result's features are the weight's rows.

    Example:

    ```mlir
    %latent = dsflash.project %x, %w
      : (tensor<?x64xf32>, !dsflash.weight<[16, 64], <bf16>>) -> tensor<?x16xf32>
    ```
  }];
}

def DSFlash_GroupedLinearOp : DSFlash_RoundableOp<"grouped_linear"> {
  let summary = "block-diagonal product with a stored matrix";
  let description = [{
    Group g of the output sees group g of the input only (`wo_a`: each group
    projects its own heads, SPEC section 3).

    Shapes: x [n, groups * in], W [groups * out, in] to [n, groups * out].

    - C1: the weight has two extents and is not i32.
    - C2: the input's features are groups times the weight's columns.
    - C3: the result's features are the weight's rows.
    - C4: groups is positive and divides the weight's rows.

    Example:

    ```mlir
    %y = dsflash.grouped_linear %x, %w {groups = 2 : i64}
      : (tensor<?x128xf32>, !dsflash.weight<[32, 64], <e4m3, e8m0, [32, 32]>>) -> tensor<?x32xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_WeightType:$weight,
                       I64Attr:$groups, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHNUMERICSOPS_TD
