//===- DSFlashCheckOps.td - What a checked model verifies as it runs ------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHCHECKOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHCHECKOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashKernelOps.td"

/// A check of a value at the model level. Not pure: it may report.
class DSFlash_CheckOp<string mnemonic, list<Trait> traits = []>
    : DSFlash_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

def DSFlash_CheckNaNOp : DSFlash_CheckOp<"check_nan", [AttrSizedOperandSegments]> {
  let summary = "report rows with NaN";
  let description = [{
    Reports every row that has a NaN, by the name of the operation that made the tensor, in which
    "{l}" stands for the layer (docs/Rationale.md, checks are operations). The row's position is
    position[row], or position[outputs[row]] where only chosen rows are left.

    Shapes: x [m, ...], position [n], outputs [m].

    - C1: "{l}" is in the name exactly when there is a layer.
    - C2: there are outputs only with positions.

    Example:

    ```mlir
    dsflash.check_nan "layers.{l}.attn.wq_a"[%layer] %x at %position
      : (tensor<?x64xf32>, tensor<?xi32>, index) -> ()
    ```
  }];
  let arguments = (ins StrAttr:$name, DSFlash_RowTensor<[F32], [1, 2, 3]>:$input, Optional<DSFlash_Ids>:$position,
    Optional<DSFlash_Ids>:$outputs, Optional<Index>:$layer);
  let assemblyFormat = [{
    $name (`[` $layer^ `]`)? $input (`at` $position^)? (`of` $outputs^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_CheckIdsOp : DSFlash_CheckOp<"check_ids", [AttrSizedOperandSegments, AllTypesMatch<["ids", "result"]>]> {
  let summary = "report ids outside of a range";
  let description = [{
    Passes ids on that lie in [0, limit); others are reported by the name of the operation that
    uses them and become 0, so that what follows stays in its memory (docs/Rationale.md, checks are operations). With
    `optional` -1 is allowed and takes their place. With `positions_per_row` r > 0 row i may only
    name the (position[i] + 1) / r rows that exist by then (SPEC section 3, indexer).

    Shapes: ids [n] or [n, k], position [n] to the ids.

    - C1: "{l}" is in the name exactly when there is a layer.
    - C2: the kind is expert or row.
    - C3: positions_per_row is 0 to 2^31 - 1, and with it there are positions.

    Example:

    ```mlir
    %checked = dsflash.check_ids <row> "layers.{l}.attn.csa2"[%layer] %selection below %rows at %position
        {optional, positions_per_row = 2 : i64}
      : (tensor<?x16xi32>, index, tensor<?xi32>, index) -> tensor<?x16xi32>
    ```
  }];
  let arguments = (ins DSFlash_CheckAttr:$kind, StrAttr:$name, DSFlash_RowTensor<[I32, I64], [1, 2]>:$ids, Index:$limit,
    Optional<DSFlash_Ids>:$position, Optional<Index>:$layer,
    UnitAttr:$optional, DefaultValuedAttr<I64Attr, "0">:$positions_per_row);
  let results = (outs DSFlash_RowTensor<[I32, I64], [1, 2]>:$result);
  let assemblyFormat = [{
    $kind $name (`[` $layer^ `]`)? $ids `below` $limit (`at` $position^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_CheckWindowOp : DSFlash_CheckOp<"check_window"> {
  let summary = "report ring slots that hold the wrong position";
  let description = [{
    Passes the window on. Of each sequence the last `count` positions before this call must
    be what their slots in the ring hold (SPEC section 1, window rings); others are reported
    by the name of the operation that reads them (docs/Rationale.md, checks are operations).

    Shapes: sequence and position [n], extents [sequences, 2]; the window keeps its type.

    - C1: "{l}" is in the name exactly when there is a layer.
    - C2: the window keeps positions.
    - C3: count is 0 to the number of slots.

    Example:

    ```mlir
    %checked = dsflash.check_window "layers.{l}.attn.csa2"[%layer] %window[%ring] rows(%sequence, %position, %extents)
        {count = 7 : i64}
      : (!dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>, positions>, index,
         tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, index)
      -> !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>, positions>
    ```
  }];
  let arguments = (ins StrAttr:$name, DSFlash_WindowType:$window, Index:$ring,
    DSFlash_Ids:$sequence, DSFlash_Ids:$position, DSFlash_Extents:$extents, Optional<Index>:$layer, I64Attr:$count);
  let results = (outs DSFlash_WindowType:$result);
  let assemblyFormat = [{
    $name (`[` $layer^ `]`)? $window `[` $ring `]` `rows` `(` $sequence `,` $position `,` $extents `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def DSFlash_ReportOp : DSFlash_Op<"report", [AttrSizedOperandSegments]> {
  let summary = "tell the host what a check found";
  let description = [{
    Runs inside of a kernel, where a check fails: a call of `dsf_env.report` with the number that the
    module's table gives this kind and name (docs/Rationale.md, checks are operations). `position` is -1 where it is not known; `found`,
    `expected` and `slot` are those of dsf_check_kind.

    - C1: "{l}" is in the name exactly when there is a layer.

    Example:

    ```mlir
    dsflash.report <row> "layers.{l}.attn.csa2"[%layer] position %position found %id expected %limit slot %zero
    ```
  }];
  let arguments = (ins DSFlash_CheckAttr:$kind, StrAttr:$name, Optional<DSFlash_Context>:$call, Optional<Index>:$layer,
    Index:$position, Index:$found, Index:$expected, Index:$slot);
  let assemblyFormat = [{
    $kind $name (`[` $layer^ `]`)? `position` $position `found` $found `expected` $expected `slot` $slot
    (`call` `(` $call^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHCHECKOPS_TD
