//===- DSFlashStreamOps.td - Residual streams (mHC), embedding, rows ------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHSTREAMOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHSTREAMOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashOpBase.td"

def DSFlash_EmbedOp : DSFlash_ModelOp<"embed"> {
  let summary = "rows of an embedding table";
  let description = [{
    result[i] = table[ids[i]] (SPEC section 4, embed.weight).

    Shapes: ids [n] (token ids), table [vocabulary, d] to [n, d].

    - C1: the table has two extents and is f32 or bf16.
    - C2: the result's features are the table's columns.

    Example:

    ```mlir
    %x = dsflash.embed %ids, %table
      : (tensor<?xi32>, !dsflash.weight<[512, 64], <bf16>>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_Ids:$ids, DSFlash_WeightType:$table);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$ids `,` $table attr-dict `:` functional-type(operands, results)";
}

def DSFlash_HCInitOp : DSFlash_ModelOp<"hc_init"> {
  let summary = "start of the residual streams";
  let description = [{
    Every stream starts as the embedding; the first collapse weights are
    (1, 0, 0, ...) (SPEC section 3, mHC).

    Shapes: x [n, d] to stream [n, s, d] and pre [n, s].

    - C1: the stream's features are those of the input.
    - C2: stream and collapse weights agree on s.

    Example:

    ```mlir
    %stream, %pre = dsflash.hc_init %x : (tensor<?x64xf32>) -> (tensor<?x4x64xf32>, tensor<?x4xf32>)
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$input);
  let results = (outs DSFlash_Tensor3:$stream, DSFlash_Tensor2:$pre);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def DSFlash_HCMixOp : DSFlash_ModelOp<"hc_mix"> {
  let summary = "mHC coefficients of a sublayer";
  let description = [{
    m = (fn . h) / sqrt(mean(h^2) + norm_eps) over the flattened streams; then
    pre = sigmoid(m[0:s] * scale0 + base) + eps,
    post = 2 * sigmoid(m[s:2s] * scale1 + base),
    comb = softmax over k of (m[2s + s j + k] * scale2 + base), + eps, one column
    step (divide by the sum over j, + eps in the divisor), then `iterations` - 1 times a row and
    a column step (SPEC section 3, mHC). `pre` belongs to the sublayer after.

    Shapes: stream [n, s, d], fn [(2 + s) s, s d], base [1, (2 + s) s],
    scale [1, 3] to pre [n, s], post [n, s], comb [n, s (source), s (destination)].

    - C1: fn has (2 + s) s rows and s d columns.
    - C2: base has one row of (2 + s) s columns and scale one of 3.
    - C3: the results have the extents above.
    - C4: iterations is 1 to 2^31 - 1, both eps are finite and not negative.

    Example:

    ```mlir
    %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale
        {eps = 9.99999997E-7 : f32, iterations = 20 : i64, norm_eps = 1.000000e-20 : f32}
      : (tensor<?x4x64xf32>, !dsflash.weight<[24, 256], <f32>>, !dsflash.weight<[1, 24], <f32>>, !dsflash.weight<[1, 3], <f32>>)
      -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>)
    ```
  }];
  let arguments = (ins DSFlash_Tensor3:$stream, DSFlash_WeightType:$fn,
    DSFlash_WeightType:$base, DSFlash_WeightType:$scale,
    I64Attr:$iterations, F32Attr:$eps, F32Attr:$norm_eps);
  let results = (outs DSFlash_Tensor2:$pre, DSFlash_Tensor2:$post, DSFlash_Tensor3:$comb);
  let assemblyFormat = "$stream `,` $fn `,` $base `,` $scale attr-dict `:` functional-type(operands, results)";
}

def DSFlash_HCCollapseOp : DSFlash_RoundableOp<"hc_collapse"> {
  let summary = "input of a sublayer from the streams";
  let description = [{
    result = sum over j of pre[j] * stream[j], with the coefficients of the
    sublayer before (SPEC section 3, mHC).

    Shapes: stream [n, s, d], pre [n, s] to [n, d].

    - C1: stream and pre agree on s.
    - C2: the result's features are the stream's.

    Example:

    ```mlir
    %x = dsflash.hc_collapse %stream, %pre : (tensor<?x4x64xf32>, tensor<?x4xf32>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor3:$stream, DSFlash_Tensor2:$pre, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$stream `,` $pre attr-dict `:` functional-type(operands, results)";
}

def DSFlash_HCExpandOp : DSFlash_RoundableOp<"hc_expand"> {
  let summary = "spread a sublayer's output over the streams";
  let description = [{
    result[k] = post[k] * x + sum over j of comb[j, k] * stream[j] (SPEC section
    3, mHC: source first, destination second). Takes the place of the stream.

    Shapes: x [n, d], stream [n, s, d], post [n, s], comb [n, s, s] to [n, s, d].

    - C1: the result has the stream's type.
    - C2: the input's features are the stream's.
    - C3: post and comb agree with the stream on s.

    Example:

    ```mlir
    %next = dsflash.hc_expand %x, %stream, %post, %comb
      : (tensor<?x64xf32>, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>) -> tensor<?x4x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_Tensor3:$stream,
    DSFlash_Tensor2:$post, DSFlash_Tensor3:$comb, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor3:$result);
  let assemblyFormat = "$input `,` $stream `,` $post `,` $comb attr-dict `:` functional-type(operands, results)";
}

def DSFlash_StreamMeanOp : DSFlash_RoundableOp<"stream_mean"> {
  let summary = "mean over the streams";
  let description = [{
    A draft feature of a position (SPEC section 3, DSpark).

    Shapes: stream [n, s, d] to [n, d].

    - C1: the result's features are the stream's.

    Example:

    ```mlir
    %mean = dsflash.stream_mean %stream : (tensor<?x4x64xf32>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor3:$stream, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$stream attr-dict `:` functional-type(operands, results)";
}

def DSFlash_GatherRowsOp : DSFlash_ModelOp<"gather_rows"> {
  let summary = "choose rows";
  let description = [{
    result[i] = x[rows[i]]: logits are computed only for the rows that a call asks for, and
    each layer of a decoder tail only for the rows that it needs (SPEC section 3, CED prefill).

    Shapes: x [n, ...], rows [m] (each 0 to n - 1) to [m, ...].

    - C1: input and result have the same type.

    Example:

    ```mlir
    %y = dsflash.gather_rows %x, %rows : (tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_AnyRows:$input, DSFlash_Ids:$rows);
  let results = (outs DSFlash_AnyRows:$result);
  let assemblyFormat = "$input `,` $rows attr-dict `:` functional-type(operands, results)";
}

def DSFlash_LastRowsOp : DSFlash_ModelOp<"last_rows"> {
  let summary = "the rows of each sequence that its last ones need";
  let description = [{
    The results of the last `wanted[s]` rows of sequence s are wanted, and each depends on the
    `count` rows up to its own: the last wanted[s] - 1 + `count` rows of the sequence, or as many of
    them as it has, but for those that are among the `skip` rows up to a wanted one (SPEC
    section 3, CED prefill). Gives their numbers, and the row tables of a call that has just these rows.

    Where the call's rows are followed by d more of the sequence in later calls, wanted[s] is d less
    than of all of them together, and may be less than 1: of the rows that are needed these are the
    ones that the call has, maybe none.

    Shapes: sequence and position [n], extents [sequences, 2] (first row, rows), wanted
    [sequences] to rows, sequence and position [m] and extents [sequences, 2].

    - C1: count is 1 to 2^31 - 1, skip is 0 to count - 1.

    Example:

    ```mlir
    %rows, %s, %p, %e = dsflash.last_rows %sequence, %position, %extents wanted %wanted {count = 15 : i64, skip = 8 : i64}
      : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<?xi32>)
      -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    ```
  }];
  let arguments = (ins DSFlash_Ids:$sequence, DSFlash_Ids:$position, DSFlash_Extents:$extents,
    DSFlash_Ids:$wanted, I64Attr:$count, DefaultValuedAttr<I64Attr, "0">:$skip);
  let results = (outs DSFlash_Ids:$rows, DSFlash_Ids:$sequence_after, DSFlash_Ids:$position_after,
    DSFlash_Extents:$extents_after);
  let assemblyFormat = [{
    $sequence `,` $position `,` $extents `wanted` $wanted attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_AddRowsOp : DSFlash_ModelOp<"add_rows"> {
  let summary = "add to chosen rows";
  let description = [{
    result = into, with result[rows[i]] += x[i]: the Markov term of drafted logits (SPEC
    section 3, DSpark). Takes the place of `into`; the chosen rows differ.

    Shapes: x [m, d], into [n, d], rows [m] (each 0 to n - 1) to [n, d].

    - C1: `into` and the result have the same type.
    - C2: the input's features are those of the result.

    Example:

    ```mlir
    %y = dsflash.add_rows %x, %into, %rows
      : (tensor<?x512xf32>, tensor<?x512xf32>, tensor<?xi32>) -> tensor<?x512xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_Tensor2:$into, DSFlash_Ids:$rows);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$input `,` $into `,` $rows attr-dict `:` functional-type(operands, results)";
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHSTREAMOPS_TD
