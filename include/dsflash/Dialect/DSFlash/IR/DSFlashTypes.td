//===- DSFlashTypes.td - Weights and state --------------------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHTYPES_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHTYPES_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashAttrs.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashInterfaces.td"

class DSFlash_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<DSFlash_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
  let genVerifyDecl = 1;
}

class DSFlash_StateType<string name, string typeMnemonic>
    : DSFlash_Type<name, typeMnemonic,
        [DeclareTypeInterfaceMethods<DSFlash_StateTypeInterface>]>;

def DSFlash_WeightType : DSFlash_Type<"Weight", "weight"> {
  let summary = "a parameter of the checkpoint, as stored";
  let description = [{
    `[rows, columns]`, or `[experts, rows, columns]` for one tensor an expert,
    in elements (SPEC section 4). Bytes stay where the checkpoint has them;
    kernels decode them as they read.

    - C1: the shape has 2 or 3 extents, each 1 to 2^31 - 1, at most 2^48 elements.
    - C2: an E2M1 row has an even number of columns.

    Example: `!dsflash.weight<[64, 128], <e4m3, e8m0, [32, 32]>>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::dsflash::FormatAttr":$format);
  let assemblyFormat = "`<` `[` $shape `]` `,` $format `>`";
  let extraClassDeclaration = [{
    int64_t getExperts() const { return getShape().size() == 3 ? getShape()[0] : 1; }
    int64_t getRows() const { return getShape().drop_back().back(); }
    int64_t getColumns() const { return getShape().back(); }
    /// 2 when the scales are a tensor of their own, else 1.
    int64_t getPlanes() const { return getFormat().hasScale() ? 2 : 1; }
  }];
}

def DSFlash_WindowType : DSFlash_StateType<"Window", "window"> {
  let summary = "window KV rings of all layers";
  let description = [{
    For every layer a ring of `slots` rows; position p lies in slot
    p mod slots (SPEC section 1). More slots than the sliding window let a
    rejected draft block be undone by moving the length back. With `positions` every slot
    also keeps the position that it holds, for `dsflash.check_window`.

    - C1: layers, slots and dim are 1 to 2^31 - 1, at most 2^48 elements.
    - C2: the format is f32, or e4m3 or e2m1 with blocks of one row, dim being a
      multiple of their columns and even for e2m1.

    Example: `!dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>`
  }];
  let parameters = (ins "int64_t":$layers, "int64_t":$slots, "int64_t":$dim, "::mlir::dsflash::FormatAttr":$format,
    DefaultValuedParameter<"bool", "false">:$positions);
  let assemblyFormat = [{
    `<` `layers` `=` $layers `,` `slots` `=` $slots `,` `dim` `=` $dim `,`
    custom<RingRow>($format, $positions) `>`
  }];
}

class DSFlash_GlobalType<string name, string typeMnemonic>
    : DSFlash_StateType<name, typeMnemonic> {
  let parameters = (ins "int64_t":$rows, "int64_t":$dim, "int64_t":$ratio, "::mlir::dsflash::FormatAttr":$format);
  let assemblyFormat = "`<` `rows` `=` $rows `,` `dim` `=` $dim `,` `ratio` `=` $ratio `,` $format `>`";
}

def DSFlash_GlobalKVType : DSFlash_GlobalType<"GlobalKV", "global_kv"> {
  let summary = "global KV of one owner";
  let description = [{
    Row j is the latent of the group of positions j * ratio to
    (j + 1) * ratio - 1, K = V (SPEC sections 1 and 3). FP4 rows are 256 + 32
    bytes in the published model, payload and scales in separate planes.

    - C1: rows, dim and ratio are 1 to 2^31 - 1, at most 2^48 elements.
    - C2: the format is as C2 of `!dsflash.window` has it.

    Example: `!dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>`
  }];
}

def DSFlash_IndexKeysType : DSFlash_GlobalType<"IndexKeys", "index_keys"> {
  let summary = "index keys of one owner";
  let description = [{
    Row j is the index key of the same group as row j of the owner's global KV
    (SPEC section 3). FP4 rows are 64 + 4 bytes in the published model.

    - C1: rows, dim and ratio are 1 to 2^31 - 1, at most 2^48 elements.
    - C2: the format is as C2 of `!dsflash.window` has it.

    Example: `!dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>`
  }];
}

def DSFlash_PendingType : DSFlash_StateType<"Pending", "pending"> {
  let summary = "incomplete groups of one owner";
  let description = [{
    The (kv, gate) pairs, f32, of positions whose group waits for its last
    position (SPEC section 3, compressor). Position p lies in slot p mod slots,
    so that a rejected draft block is undone by moving the length back.

    - C1: slots and dim are 1 to 2^31 - 1, at most 2^48 elements.

    Example: `!dsflash.pending<slots = 8, dim = 64>`
  }];
  let parameters = (ins "int64_t":$slots, "int64_t":$dim);
  let assemblyFormat = "`<` `slots` `=` $slots `,` `dim` `=` $dim `>`";
}

def DSFlash_AnyWeight : Type<CPred<"::llvm::isa<::mlir::dsflash::WeightType>($_self)">, "weight", "::mlir::dsflash::WeightType">;
def DSFlash_AnyState : Type<CPred<"::llvm::isa<::mlir::dsflash::StateTypeInterface>($_self)">, "state">;
def DSFlash_GlobalRows : AnyTypeOf<[DSFlash_GlobalKVType, DSFlash_IndexKeysType]>;

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHTYPES_TD
