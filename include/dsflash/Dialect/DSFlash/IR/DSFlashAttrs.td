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

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHATTRS_TD
