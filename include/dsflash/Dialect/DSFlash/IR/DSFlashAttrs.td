//===- DSFlashAttrs.td - Attributes of the dialect ------------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHATTRS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHATTRS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashEnums.td"
include "mlir/IR/AttrTypeBase.td"

def DSFlash_ModeAttr : EnumAttr<DSFlash_Dialect, DSFlash_Mode, "mode"> {
  let description = [{
    `<full>` in `dsflash.csa2` and `dsflash.layer`: where a layer's global rows and
    selection come from (SPEC section 1, layer plan). `window`: there are none; `full`: both
    are the layer's own; `reindex`: another layer's rows, a selection of its own; `reuse`:
    another layer's rows and a selection over them that another layer made.
  }];
  let assemblyFormat = "`<` $value `>`";
}
def DSFlash_PlaneAttr : EnumAttr<DSFlash_Dialect, DSFlash_Plane, "plane"> {
  let description = [{
    `payload` in `dsflash.weight_data` and `dsflash.state_data`: the packed elements, or
    their scales (SPEC section 4), or the positions that ring slots hold.
  }];
  let assemblyFormat = "$value";
}
def DSFlash_CheckAttr : EnumAttr<DSFlash_Dialect, DSFlash_Check, "check"> {
  let description = [{
    `<row>` in `dsflash.check_ids` and `dsflash.report`: what is wrong. `nan`: a NaN;
    `expert`: an expert's id out of range; `row`: a row's; `slot`: a ring slot that holds
    another position.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def DSFlash_FormatAttr : AttrDef<DSFlash_Dialect, "Format"> {
  let mnemonic = "format";
  let summary = "stored number format with its block of one scale";
  let description = [{
    Element code, scale code and the block (rows x columns) that shares one
    scale (SPEC sections 2 and 4). Payload and scales lie in separate planes;
    E2M1 packs two elements a byte, the even one in the low nibble.

    - C1: the payload is f32, bf16, e4m3, e2m1 or i32.
    - C2: the scale is none, e8m0 or e4m3, and e4m3 and e2m1 payloads need one.
    - C3: a block has 1 to 2^31 - 1 rows and columns when there is a scale, and
      neither when there is none.

    Example:

    ```mlir
    #dsflash.format<bf16>
    #dsflash.format<e4m3, e8m0, [32, 32]>   // FP8 weights
    #dsflash.format<e2m1, e8m0, [1, 32]>    // FP4 experts, index keys
    #dsflash.format<e2m1, e4m3, [1, 16]>    // FP4 global KV
    ```
  }];
  let parameters = (ins
    EnumParameter<DSFlash_Element>:$element,
    DefaultValuedParameter<"::mlir::dsflash::Element", "::mlir::dsflash::Element::None">:$scale,
    DefaultValuedParameter<"int64_t", "0">:$blockRows,
    DefaultValuedParameter<"int64_t", "0">:$blockColumns);
  let assemblyFormat = [{
    `<` $element (`,` $scale^ `,` `[` $blockRows `,` $blockColumns `]`)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasScale() const { return getScale() != Element::None; }
    /// Bytes of the payload of `columns` elements of one row.
    int64_t getPayloadBytes(int64_t columns) const;
    /// Scales along `columns` elements of one row.
    int64_t getScaleCount(int64_t columns) const;
  }];
}

def DSFlash_ConfigAttr : AttrDef<DSFlash_Dialect, "Config"> {
  let mnemonic = "config";
  let summary = "how kernels are made for a device";
  let description = [{
    `dsflash.config` on a module, written by `dsflash-select-config` and obeyed by
    all that make kernels. `lanes`: elements that one thread takes at a time, at
    most. `threads`: of a block of a kernel in which each thread runs items of its
    own. `shared_bytes`: the most shared memory that a block can have. `tile`: rows,
    outputs and columns that a block multiplies at a time on tensor cores, `stages`: such
    pieces in flight; without a tile there are no tensor cores.

    - C1: lanes is a power of two, threads a multiple of 32 up to 1024,
      shared_bytes not negative.
    - C2: a tile has three extents, multiples of 16, at most 512 outputs, and two or more stages.

    Example:

    ```mlir
    #dsflash.config<"nvptx:sm_80", lanes = 4, threads = 32, shared_bytes = 166912, stages = 3, tile = [64, 64, 64]>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$device, "int64_t":$lanes, "int64_t":$threads,
    "int64_t":$shared_bytes, DefaultValuedParameter<"int64_t", "0">:$stages,
    OptionalArrayRefParameter<"int64_t">:$tile);
  let assemblyFormat = [{
    `<` $device `,` `lanes` `=` $lanes `,` `threads` `=` $threads `,` `shared_bytes` `=` $shared_bytes
    (`,` `stages` `=` $stages^ `,` `tile` `=` `[` $tile `]`)? `>`
  }];
  let genVerifyDecl = 1;
}

def DSFlash_BlockAttr : AttrDef<DSFlash_Dialect, "Block"> {
  let mnemonic = "block";
  let summary = "the threads that run one item of a kernel together";
  let description = [{
    `dsflash.block` on a kernel of a device: a block of `threads` runs one item
    together and has `shared_bytes` of shared memory, which `memref.get_global
    @dsflash_shared` gives. All threads enter the kernel and leave it; the next item may
    begin before the last of them has left. A kernel without it runs each of its items on one thread.

    - C1: threads is a multiple of 32 up to 1024.
    - C2: shared_bytes is not negative.

    Example:

    ```mlir
    #dsflash.block<threads = 128, shared_bytes = 49152>
    ```
  }];
  let parameters = (ins "int64_t":$threads, "int64_t":$shared_bytes);
  let assemblyFormat = "`<` struct($threads, $shared_bytes) `>`";
  let genVerifyDecl = 1;
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHATTRS_TD
