//===- DSFlashStreamOps.td - Residual streams (mHC), embedding, rows ------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHSTREAMOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHSTREAMOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashOpBase.td"

def DSFlash_EmbedOp : DSFlash_ModelOp<"embed"> {
  let summary = "rows of an embedding table";
  let description = [{
    result[i] = table[ids[i]].

    Shapes: ids [n], table [vocabulary, d] to [n, d].

    C1: the table's format is f32 or bf16.
    C2: the result's features are the table's columns.
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

    C1: the stream's features are those of the input.
    C2: stream and collapse weights agree on s.
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

    C1: fn has (2 + s) s rows and s d columns.
    C2: base has one row of (2 + s) s columns and scale one of 3.
    C3: the results have the extents above.
    C4: iterations is positive and neither eps is negative.
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

    C1: stream and pre agree on s.
    C2: the result's features are the stream's.
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

    C1: the result has the stream's type.
    C2: the input's features are the stream's.
    C3: post and comb agree with the stream on s.
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

    C1: the result's features are the stream's.
  }];
  let arguments = (ins DSFlash_Tensor3:$stream, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$stream attr-dict `:` functional-type(operands, results)";
}

def DSFlash_GatherRowsOp : DSFlash_ModelOp<"gather_rows"> {
  let summary = "choose rows";
  let description = [{
    result[i] = x[rows[i]].

    Shapes: x [n, d], rows [m] to [m, d].

    C1: input and result have the same features.
  }];
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_Ids:$rows);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$input `,` $rows attr-dict `:` functional-type(operands, results)";
}

def DSFlash_AddRowsOp : DSFlash_ModelOp<"add_rows"> {
  let summary = "add to chosen rows";
  let description = [{
    result = into, with result[rows[i]] += x[i]. Takes the place of `into`; the
    chosen rows differ.

    Shapes: x [m, d], into [n, d], rows [m] to [n, d].

    C1: `into` and the result have the same type.
    C2: the input's features are those of the result.
  }];
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_Tensor2:$into, DSFlash_Ids:$rows);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$input `,` $into `,` $rows attr-dict `:` functional-type(operands, results)";
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHSTREAMOPS_TD
