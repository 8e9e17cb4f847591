//===- DSFlashDSparkOps.td - Draft layers and heads -----------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHDSPARKOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHDSPARKOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashOpBase.td"

def DSFlash_InsertFeatureOp : DSFlash_ModelOp<"insert_feature"> {
  let summary = "one target layer's part of the draft features";
  let description = [{
    features[rows[i], slot * d : (slot + 1) * d] = x[i], without `rows` i takes the place of
    rows[i] (SPEC section 3, DSpark). Takes the place of `features`.

    Shapes: x [m, d], rows [m], features [n, targets * d] to [n, targets * d].

    - C1: features and result have the same type.
    - C2: the slot lies inside the features.

    Example:

    ```mlir
    %all = dsflash.insert_feature %x into %features {slot = 1 : i64}
      : (tensor<?x64xf32>, tensor<?x192xf32>) -> tensor<?x192xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$input, DSFlash_Tensor2:$features, Optional<DSFlash_Ids>:$rows,
    I64Attr:$slot);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = "$input `into` $features (`rows` $rows^)? attr-dict `:` functional-type(operands, results)";
}

def DSFlash_DraftTokensOp : DSFlash_ModelOp<"draft_tokens"> {
  let summary = "ids of a draft block";
  let description = [{
    Row i of a sequence's block is its last token for i = 0 and the noise token
    for every other row (SPEC section 3, DSpark).

    Shapes: last [sequences], sequence [n], extents [sequences, 2] to [n] (token ids).

    - C1: the noise token is 0 to 2^31 - 1.

    Example:

    ```mlir
    %ids = dsflash.draft_tokens %last rows(%sequence, %extents) {noise = 511 : i64}
      : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?xi32>
    ```
  }];
  let arguments = (ins DSFlash_Ids:$last, DSFlash_Ids:$sequence, DSFlash_Extents:$extents, I64Attr:$noise);
  let results = (outs DSFlash_Ids:$result);
  let assemblyFormat = "$last `rows` `(` $sequence `,` $extents `)` attr-dict `:` functional-type(operands, results)";
}

def DSFlash_DraftAttentionOp : DSFlash_ModelOp<"draft_attention"> {
  let summary = "attention of a draft block";
  let description = [{
    Every row of a block sees the last `sliding_window` positions of the ring
    and all rows of its block, later ones too (SPEC section 3, DSpark). Softmax,
    sink and rounding as `dsflash.csa2`. Nothing is written to the ring.
    With `block_rows` no sequence has more rows in a call; a device may then share a
    row's work among blocks of threads.

    Shapes: q [n, heads * dim], kv [n, dim], sink [1, heads] to [n, heads * dim].

    - C1: q's features are heads times kv's.
    - C2: the window has kv's features as dim.
    - C3: the sink has one row of `heads` columns.
    - C4: the result has q's type.
    - C5: sliding_window is positive and the ring has at least as many slots.
    - C6: block_rows is positive.

    Example:

    ```mlir
    %y = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink
        rows(%sequence, %position, %extents) {heads = 8 : i64, sliding_window = 8 : i64}
      : (tensor<?x512xf32>, tensor<?x64xf32>, !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>, index,
         !dsflash.weight<[1, 8], <f32>>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
      -> tensor<?x512xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$query, DSFlash_Tensor2:$kv, DSFlash_WindowType:$window,
    Index:$layer, DSFlash_WeightType:$sink,
    DSFlash_Ids:$sequence, DSFlash_Ids:$position, DSFlash_Extents:$extents,
    I64Attr:$heads, I64Attr:$sliding_window, UnitAttr:$round_probabilities,
    OptionalAttr<I64Attr>:$block_rows);
  let results = (outs DSFlash_Tensor2:$result);
  let assemblyFormat = [{
    $query `,` $kv `window` $window `[` $layer `]` `sink` $sink
    `rows` `(` $sequence `,` $position `,` $extents `)` attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_AppendWindowOp : DSFlash_ModelOp<"append_window"> {
  let summary = "insert positions into a layer's ring";
  let description = [{
    Writes the call's rows (of each sequence the last ones that the ring holds)
    to their slots, in the ring's format (SPEC section 3, DSpark).

    Shapes: kv [n, dim] and the window to the window after the call.

    - C1: the window has kv's features as dim.
    - C2: the window keeps its type.

    Example:

    ```mlir
    %after = dsflash.append_window %kv to %window[%layer] rows(%sequence, %position, %extents)
      : (tensor<?x64xf32>, !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>, index,
         tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
      -> !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$kv, DSFlash_WindowType:$window, Index:$layer,
    DSFlash_Ids:$sequence, DSFlash_Ids:$position, DSFlash_Extents:$extents);
  let results = (outs DSFlash_WindowType:$window_after);
  let assemblyFormat = [{
    $kv `to` $window `[` $layer `]` `rows` `(` $sequence `,` $position `,` $extents `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_ConfidenceOp : DSFlash_ModelOp<"confidence"> {
  let summary = "confidence of drafted positions";
  let description = [{
    result[rows[i]] = sigmoid(w . [hidden[rows[i]] ; embed[i]]), the hidden row
    before the norm (SPEC section 3, DSpark).

    Shapes: hidden [n, d], embed [m, rank], weight [1, d + rank], rows [m] to [n].

    - C1: the weight has one row of d + rank columns.

    Example:

    ```mlir
    %confidence = dsflash.confidence %hidden, %embed, %w, %rows
      : (tensor<?x64xf32>, tensor<?x16xf32>, !dsflash.weight<[1, 80], <bf16>>, tensor<?xi32>) -> tensor<?xf32>
    ```
  }];
  let arguments = (ins DSFlash_Tensor2:$hidden, DSFlash_Tensor2:$embed, DSFlash_WeightType:$weight, DSFlash_Ids:$rows);
  let results = (outs DSFlash_Tensor1:$result);
  let assemblyFormat = "$hidden `,` $embed `,` $weight `,` $rows attr-dict `:` functional-type(operands, results)";
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHDSPARKOPS_TD
