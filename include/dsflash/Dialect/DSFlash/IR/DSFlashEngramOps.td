//===- DSFlashEngramOps.td - Engram ---------------------------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHENGRAMOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHENGRAMOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashOpBase.td"

def DSFlash_EngramHashOp : DSFlash_ModelOp<"engram_hash"> {
  let summary = "table rows of the n-grams that end at each position";
  let description = [{
    With t_0, t_1, ... the compressed ids of the position and the ones before (the pad
    token's before the start): H = t_0 * multipliers[0], then for i = 1, 2, ...:
    H ^= t_i * multipliers[i] and the (i + 1)-gram's rows are H mod prime +
    the sum of the primes before (SPEC section 3, Engram). Ids before this call come from
    `look_back`: nearest first, -1 before the start. A position of an image ends the look
    back as the start does: it and all before it count as the pad token. `image_token` is the id
    that every position of an image carries. Depends on token ids only.

    Shapes: tokens [n], look_back [sequences, ngrams], token_map [1, vocabulary]
    i32 to [n, ngrams * heads], i64.

    - C1: there is one multiplier more than look_back has columns.
    - C2: the result has as many columns as there are primes, a multiple of look_back's columns.
    - C3: every prime is at least 2.
    - C4: the token map is one i32 row that holds the pad token.
    - C5: the token map holds the image token.

    Example:

    ```mlir
    %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%sequence, %extents)
        {multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 37, 41, 43>}
      : (tensor<?xi32>, tensor<?x2xi32>, !dsflash.weight<[1, 512], <i32>>, tensor<?xi32>, tensor<?x2xi32>)
      -> tensor<?x4xi64>
    ```
  }];
  let arguments = (ins DSFlash_Ids:$tokens, DSFlash_IdTable:$look_back, DSFlash_WeightType:$token_map,
    DSFlash_Ids:$sequence, DSFlash_Extents:$extents,
    DenseI64ArrayAttr:$multipliers, DenseI64ArrayAttr:$primes, I64Attr:$pad,
    OptionalAttr<I64Attr>:$image_token);
  let results = (outs DSFlash_RowIds:$result);
  let assemblyFormat = [{
    $tokens `,` $look_back `map` $token_map `rows` `(` $sequence `,` $extents `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_EngramLookupOp : DSFlash_ModelOp<"engram_lookup"> {
  let summary = "values of table rows, side by side";
  let description = [{
    result[i] = the decoded table rows rows[i, 0], rows[i, 1], ... (SPEC section 3, Engram).

    Shapes: rows [n, c] (each 0 to entries - 1), table [entries, dim] to [n, c * dim].

    - C1: the result's features are c times the table's columns.
    - C2: the table has two extents and is e4m3 with an e8m0 scale for one row.

    Example:

    ```mlir
    %x = dsflash.engram_lookup %rows, %table
      : (tensor<?x4xi64>, !dsflash.weight<[152, 32], <e4m3, e8m0, [1, 32]>>) -> tensor<?x128xf32>
    ```
  }];
  let arguments = (ins DSFlash_RowIds:$rows, DSFlash_WeightType:$table);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$rows `,` $table attr-dict `:` functional-type(operands, results)";
}

def DSFlash_EngramGateOp : DSFlash_ModelOp<"engram_gate"> {
  let summary = "gate of the looked-up value for each stream";
  let description = [{
    dot_j = sum(h_j * q_j * k_j * key_j) * rsqrt(mean h_j^2 + eps) *
    rsqrt(mean key_j^2 + eps) * d^-0.5; the gate is
    sigmoid(copysign(sqrt(max(|dot|, 1e-6)), dot)) (SPEC section 3, Engram).

    Shapes: stream [n, s, d], kv [n, (s + 1) d] (s keys, then the value),
    query_weight and key_weight [s, d] to [n, s].

    - C1: kv has (s + 1) d features.
    - C2: both weights are [s, d].
    - C3: the result has s features.
    - C4: eps is finite and not negative.

    Example:

    ```mlir
    %gate = dsflash.engram_gate %stream, %kv, %query_weight, %key_weight {eps = 1.000000e-20 : f32}
      : (tensor<?x4x64xf32>, tensor<?x320xf32>, !dsflash.weight<[4, 64], <bf16>>, !dsflash.weight<[4, 64], <bf16>>)
      -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor3:$stream, DSFlash_Tensor2:$kv,
    DSFlash_WeightType:$query_weight, DSFlash_WeightType:$key_weight, F32Attr:$eps);
  let results = (outs DSFlash_Tensor2:$gate);
  let assemblyFormat = "$stream `,` $kv `,` $query_weight `,` $key_weight attr-dict `:` functional-type(operands, results)";
}

def DSFlash_EngramAddOp : DSFlash_RoundableOp<"engram_add"> {
  let summary = "add the gated value to each stream";
  let description = [{
    result_j = h_j + gate_j * value (SPEC section 3, Engram). Takes the place of the stream.

    Shapes: stream [n, s, d], kv [n, (s + 1) d], gate [n, s] to [n, s, d].

    - C1: stream and result have the same type.
    - C2: kv has (s + 1) d features and gate s.

    Example:

    ```mlir
    %next = dsflash.engram_add %stream, %kv, %gate
      : (tensor<?x4x64xf32>, tensor<?x320xf32>, tensor<?x4xf32>) -> tensor<?x4x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor3:$stream, DSFlash_Tensor2:$kv, DSFlash_Tensor2:$gate, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor3:$result);
  let assemblyFormat = "$stream `,` $kv `,` $gate attr-dict `:` functional-type(operands, results)";
}

def DSFlash_AwaitRowsOp : DSFlash_Op<"await_rows"> {
  let summary = "wait until the rows of a table are in memory";
  let description = [{
    Stands in front of the launch that reads a table: a call of `dsf_env.await_rows` with the table's slot, in which a host
    waits for reads that it started before the entry (docs/Rationale.md, reads of Engram rows are waited for).

    Example:

    ```mlir
    dsflash.await_rows %table : !dsflash.weight<[462, 64], <e4m3, e8m0, [1, 32]>>
    ```
  }];
  let arguments = (ins DSFlash_WeightType:$table);
  let assemblyFormat = "$table attr-dict `:` type($table)";
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHENGRAMOPS_TD
