//===- DSFlashAttentionOps.td - CSA2, compressor, indexer, RoPE -----------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHATTENTIONOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHATTENTIONOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashOpBase.td"

def DSFlash_RopeTableOp : DSFlash_ModelOp<"rope_table"> {
  let summary = "cosines and sines of each row's angles";
  let description = [{
    The angle is ONE f32 product of position and frequency (SPEC section 3,
    attention), in radians. A row of a group of `ratio` positions sits at the group's first.

    Shapes: position [n] to [n, frequencies, 2], cosine first.

    - C1: the result's extents are the number of frequencies and 2.
    - C2: ratio is 1 to 2^31 - 1.

    Example:

    ```mlir
    %table = dsflash.rope_table %position {frequencies = array<f32: 1.000000e+00, 1.000000e-02>, ratio = 2 : i64}
      : (tensor<?xi32>) -> tensor<?x2x2xf32>
    ```
  }];
  let arguments = (ins DSFlash_Ids:$position, DenseF32ArrayAttr:$frequencies,
                       DefaultValuedAttr<I64Attr, "1">:$ratio);
  let results = (outs DSFlash_Tensor3:$result);
  let assemblyFormat = "$position attr-dict `:` functional-type(operands, results)";
}

def DSFlash_RotateOp : DSFlash_RoundableOp<"rotate"> {
  let summary = "RoPE on the last features of each head";
  let description = [{
    Adjacent pairs (a, b) of the last 2 f features of each head become
    (a cos - b sin, a sin + b cos); `inverse` turns back (SPEC section 3,
    attention).

    Shapes: x [n, heads * head_dim], table [n, f, 2] to [n, heads * head_dim].

    - C1: input and result have the same type.
    - C2: the features are a multiple of head_dim.
    - C3: 2 f is at most head_dim and the table's last extent is 2.

    Example:

    ```mlir
    %y = dsflash.rotate %x, %table {head_dim = 64 : i64}
      : (tensor<?x512xf32>, tensor<?x16x2xf32>) -> tensor<?x512xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_Tensor3:$table,
    I64Attr:$head_dim, UnitAttr:$inverse, UnitAttr:$rounded);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$input `,` $table attr-dict `:` functional-type(operands, results)";
}

def DSFlash_CSA2Op : DSFlash_ModelOp<"csa2", [AttrSizedOperandSegments]> {
  let summary = "attention over the window and the selected global rows";
  let description = [{
    Row i sees its own window KV, positions max(0, p - sliding_window + 1) to p,
    and the global rows that `selection` names (-1: none) in one softmax over K = V, scale
    head_dim^-0.5, with a per-head sink logit in the denominator only (SPEC
    section 3, attention). Window rows of this call come from `kv`, earlier
    ones from the ring, into which the call's last rows are then written. With
    `round_probabilities` the probabilities, relative to the maximum over all rows of
    the query and head, are rounded to bf16 for the value product and kept f32 in the
    denominator. A row that sees nothing gives zeros. With `within_call` the window
    begins at the sequence's first row of this call and nothing is read from the ring.

    The mode says where the global rows come from: none (`window`), the layer's own KV
    and selection (`full`), another layer's KV with a selection of its own
    (`reindex`), another layer's KV and its selection (`reuse`).

    Shapes: q [n, heads * dim], kv [n, dim], sink [1, heads], selection [n, k],
    sequence and position [n], extents [sequences, 2] (first row, rows) to
    [n, heads * dim] and the window after the call.

    - C1: q's features are heads times kv's.
    - C2: window and global KV have kv's features as dim.
    - C3: the sink has one row of `heads` columns.
    - C4: mode window has neither global KV nor selection, every other mode has both.
    - C5: sliding_window is positive and the ring has at least as many slots.
    - C6: the result has q's type and the window keeps its type.

    Example:

    ```mlir
    %y, %after = dsflash.csa2 <full> %q, %kv window %window[%layer] sink %sink
        rows(%sequence, %position, %extents) global %global selection %selection
        {heads = 8 : i64, sliding_window = 8 : i64}
      : (tensor<?x512xf32>, tensor<?x64xf32>, !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>, index,
         !dsflash.weight<[1, 8], <f32>>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>,
         !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>, tensor<?x16xi32>)
      -> (tensor<?x512xf32>, !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>)
    ```
  }];
  let arguments = (ins DSFlash_ModeAttr:$mode, DSFlash_Tensor2:$query, DSFlash_Tensor2:$kv,
    DSFlash_WindowType:$window, Index:$layer, DSFlash_WeightType:$sink,
    DSFlash_Ids:$sequence, DSFlash_Ids:$position, DSFlash_Extents:$extents,
    Optional<DSFlash_GlobalKVType>:$global_kv, Optional<DSFlash_IdTable>:$selection,
    I64Attr:$heads, I64Attr:$sliding_window, UnitAttr:$round_probabilities,
    UnitAttr:$within_call);
  let results = (outs DSFlash_Tensor2:$result, DSFlash_WindowType:$window_after);
  let assemblyFormat = [{
    $mode $query `,` $kv `window` $window `[` $layer `]` `sink` $sink
    `rows` `(` $sequence `,` $position `,` $extents `)`
    (`global` $global_kv^)? (`selection` $selection^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_CompressOp : DSFlash_ModelOp<"compress"> {
  let summary = "pool a group of positions into one latent";
  let description = [{
    Per channel, softmax of the gate over the `ratio` positions of a group weighs
    their kv (SPEC section 3, compressor). Groups are aligned to the start of
    the sequence. The row of a group's last position gets the latent, every other row zeros.
    Positions before this call come from `pending`; this call's are kept there.

    Shapes: kv and gate [n, dim], f32 unrounded, to latent [n, dim] and the
    pending groups after the call.

    - C1: kv, gate and latent have the same type, and dim is that of `pending`.
    - C2: ratio is at least 2 and `pending` has at least ratio slots.
    - C3: `pending` keeps its type.

    Example:

    ```mlir
    %latent, %after = dsflash.compress %kv, %gate pending %pending rows(%sequence, %position, %extents)
        {ratio = 2 : i64}
      : (tensor<?x64xf32>, tensor<?x64xf32>, !dsflash.pending<slots = 8, dim = 64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
      -> (tensor<?x64xf32>, !dsflash.pending<slots = 8, dim = 64>)
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$kv, DSFlash_Tensor2:$gate, DSFlash_PendingType:$pending,
    DSFlash_Ids:$sequence, DSFlash_Ids:$position, DSFlash_Extents:$extents, I64Attr:$ratio);
  let results = (outs DSFlash_Tensor2:$latent, DSFlash_PendingType:$pending_after);
  let assemblyFormat = [{
    $kv `,` $gate `pending` $pending `rows` `(` $sequence `,` $position `,` $extents `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_AppendOp : DSFlash_ModelOp<"append"> {
  let summary = "quantize, pack and append rows to global KV or index keys";
  let description = [{
    The row of a group's last position p is written to row p / ratio in the
    state's format (quantizers of SPEC section 2; compressor of section 3); other
    rows are not.

    Shapes: x [n, dim] and the state to the state after the call.

    - C1: the input's features are the state's dim.
    - C2: the state keeps its type.

    Example:

    ```mlir
    %after = dsflash.append %key to %keys rows(%sequence, %position)
      : (tensor<?x32xf32>, !dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>, tensor<?xi32>, tensor<?xi32>)
      -> !dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_GlobalRows:$state,
    DSFlash_Ids:$sequence, DSFlash_Ids:$position);
  let results = (outs DSFlash_GlobalRows:$state_after);
  let assemblyFormat = [{
    $input `to` $state `rows` `(` $sequence `,` $position `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_LoadOp : DSFlash_ModelOp<"load"> {
  let summary = "values of the rows that this call appended";
  let description = [{
    result[i] = the decoded row position[i] / ratio (SPEC section 2), for
    observation points.

    Shapes: state to [n, dim].

    - C1: the result's features are the state's dim.

    Example:

    ```mlir
    %rows = dsflash.load %global rows(%sequence, %position)
      : (!dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>, tensor<?xi32>, tensor<?xi32>)
      -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_GlobalRows:$state, DSFlash_Ids:$sequence, DSFlash_Ids:$position);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = [{
    $state `rows` `(` $sequence `,` $position `)` attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_IndexerOp : DSFlash_ModelOp<"indexer"> {
  let summary = "select global rows for each query";
  let description = [{
    score(i, j) = sum over heads h of weights[i, h] * relu(q[i, h] . key[j]) in
    f32, for the reachable j < (position + 1) / ratio. The best k of them, ties
    to the lower j, ascending, then -1 (SPEC section 3, indexer). The scores are
    streamed: nothing of the context's length is stored. NaN scores are never selected.

    With `block_size` b and a `kept` result, blocks of b positions score their
    best reachable position, the newest reachable one is always kept, and the best
    stay, ascending, ties to the lower block, then -1. With a `candidates` operand only positions inside those
    blocks are read (SPEC section 3, candidates).

    Shapes: q [n, heads * dim], weights [n, heads], candidates [n, blocks] to
    selection [n, k] and kept [n, blocks].

    - C1: q's features are heads times the keys' dim, heads being the features of weights.
    - C2: there are not both candidates and kept blocks.
    - C3: block_size is 1 to 2^31 - 1 with candidates or kept blocks, else 0.

    Example:

    ```mlir
    %selection, %kept = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
        {block_size = 8 : i64}
      : (tensor<?x128xf32>, tensor<?x4xf32>, !dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>, tensor<?xi32>, tensor<?xi32>)
      -> (tensor<?x16xi32>, tensor<?x4xi32>)
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$query, DSFlash_Tensor2:$weights, DSFlash_IndexKeysType:$keys,
    DSFlash_Ids:$sequence, DSFlash_Ids:$position, Optional<DSFlash_IdTable>:$candidates,
    DefaultValuedAttr<I64Attr, "0">:$block_size);
  let results = (outs DSFlash_IdTable:$selection, Optional<DSFlash_IdTable>:$kept);
  let assemblyFormat = [{
    $query `,` $weights `keys` $keys `rows` `(` $sequence `,` $position `)`
    (`candidates` $candidates^)? attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_NoSelectionOp : DSFlash_Op<"no_selection", [Pure]> {
  let summary = "the selection of a layer without global rows";
  let description = [{
    -1 everywhere, for observation points (SPEC section 1, layers of ratio 0).

    Shapes: position [n] to [n, k].

    Example:

    ```mlir
    %selection = dsflash.no_selection %position : (tensor<?xi32>) -> tensor<?x16xi32>
    ```
  }];
  let arguments = (ins DSFlash_Ids:$position);
  let results = (outs DSFlash_IdTable:$selection);
  let assemblyFormat = "$position attr-dict `:` functional-type(operands, results)";
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHATTENTIONOPS_TD
