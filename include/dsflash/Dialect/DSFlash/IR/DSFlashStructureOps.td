//===- DSFlashStructureOps.td - Parameters, CED, layers, probes -----------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHSTRUCTUREOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHSTRUCTUREOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashOpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def DSFlash_ParamOp : DSFlash_Op<"param", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a parameter of the checkpoint";
  let description = [{
    Declares the tensors `tensor` (and `scale`), in whose names "{l}" stands for a layer and
    "{e}" for an expert (SPEC section 4). Weights are symbols, never constants: the runtime maps
    them and fills a table of addresses, one slot for each layer, expert and plane.
    `from_tokenizer` marks the Engram token map.

    - C1: "{l}" is in the names exactly when there are layers, which ascend from 0 on.
    - C2: "{e}" is in the names exactly when the type has experts.
    - C3: there is a scale name exactly when the format has a scale.
    - C4: there are at most 2^24 slots.

    Example:

    ```mlir
    dsflash.param @attn.wkv "layers.{l}.attn.wkv.weight" scale "layers.{l}.attn.wkv.scale"
      layers [0, 1] : !dsflash.weight<[64, 128], <e4m3, e8m0, [32, 32]>>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$tensor, OptionalAttr<StrAttr>:$scale,
    OptionalAttr<DenseI32ArrayAttr>:$layers, UnitAttr:$from_tokenizer, TypeAttrOf<DSFlash_WeightType>:$type);
  let assemblyFormat = [{
    $sym_name $tensor (`scale` $scale^)? (`layers` $layers^)? (`from_tokenizer` $from_tokenizer^)?
    attr-dict `:` $type
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::dsflash::WeightType getWeightType() { return ::llvm::cast<::mlir::dsflash::WeightType>(getType()); }
    /// Slots are reserved for layers 0 to getLayerSpan() - 1.
    int64_t getLayerSpan();
    /// Entries of the address table that belong to this parameter.
    int64_t getSlotCount();
  }];
}

def DSFlash_ParamRefOp : DSFlash_Op<"param_ref", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a parameter of one layer";
  let description = [{
    A table lookup at run time (SPEC section 4, names of a layer).

    - C1: the symbol is a parameter of this type.
    - C2: there is a layer exactly when the parameter has layers.

    Example:

    ```mlir
    %w = dsflash.param_ref @attn.wkv[%layer] : <[64, 128], <e4m3, e8m0, [32, 32]>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Optional<Index>:$layer);
  let results = (outs DSFlash_WeightType:$result);
  let assemblyFormat = "$param (`[` $layer^ `]`)? attr-dict `:` type($result)";
}

class DSFlash_StackOp<string mnemonic> : DSFlash_Op<mnemonic, [
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments]> {
  let arguments = (ins);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`:` type($results)^)? $body attr-dict";
  let hasVerifier = 1;
}

def DSFlash_EncoderOp : DSFlash_StackOp<"encoder"> {
  let summary = "the causal encoder's layers";
  let description = [{
    The layers before the decoder's KV source (CED, SPEC section 1), and an Engram in
    front of that. A prompt token needs no more than these and the projection.

    - C1: the body yields the results.

    Example:

    ```mlir
    %encoded = dsflash.encoder : tensor<?x4x64xf32> {
      %h = dsflash.layer <window> @window_layer(%layer, %stream)
        : (index, tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
      dsflash.yield %h : tensor<?x4x64xf32>
    }
    ```
  }];
}

def DSFlash_DecoderOp : DSFlash_StackOp<"decoder"> {
  let summary = "the decoder's layers";
  let description = [{
    The layers from the decoder's KV source on; its first layer holds the one
    projection of the encoder's output (`dsflash.project`) and every other one reads the
    KV made from it (CED, SPEC section 1).

    - C1: the body yields the results.

    Example:

    ```mlir
    %decoded = dsflash.decoder : tensor<?x4x64xf32> {
      %h = dsflash.layer <window> @window_layer(%layer, %encoded)
        : (index, tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
      dsflash.yield %h : tensor<?x4x64xf32>
    }
    ```
  }];
}

def DSFlash_YieldOp : DSFlash_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["EncoderOp", "DecoderOp"]>]> {
  let summary = "results of an encoder or decoder";
  let description = [{
    Ends the body of a `dsflash.encoder` or `dsflash.decoder` (SPEC section 1, layer plan);
    their C1 compares the types.

    Example:

    ```mlir
    dsflash.yield %h : tensor<?x4x64xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$results);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

def DSFlash_LayerOp : DSFlash_Op<"layer", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call of a layer's function, with what it shares";
  let description = [{
    Layers of one kind call one function. Global KV, selection and candidates are
    operands of their own, so that sharing is visible: a reuse layer takes the
    *same* values that its sources made (SPEC section 1, layer plan). The function takes the
    operands in the order inputs, global_kv, selection, candidates.

    - C1: the callee is a function of these operand and result types.
    - C2: mode window has no global KV, selection or candidates; mode full has
      global KV (before the layer) but no selection; mode reindex has
      global KV but no selection; mode reuse has global KV and a selection.
    - C3: global KV of a reindex or reuse layer comes from a full layer (or from outside of
      the function).
    - C4: the selection of a reuse layer comes from a full or reindex layer that
      used the same global KV (or from outside of the function).
    - C5: candidates, in modes full and reindex only, come from a full or reindex
      layer over global KV of the same type (or from outside of the function).

    Example:

    ```mlir
    %h = dsflash.layer <reuse> @reuse_layer(%layer, %stream) global_kv %kv selection %selected
      : (index, tensor<?x4x64xf32>, !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>, tensor<?x16xi32>)
      -> tensor<?x4x64xf32>
    ```
  }];
  let arguments = (ins DSFlash_ModeAttr:$mode, FlatSymbolRefAttr:$callee, Variadic<AnyType>:$inputs,
    Optional<DSFlash_GlobalKVType>:$global_kv, Optional<DSFlash_IdTable>:$selection,
    Optional<DSFlash_IdTable>:$candidates);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $mode $callee `(` $inputs `)` (`global_kv` $global_kv^)? (`selection` $selection^)?
    (`candidates` $candidates^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def DSFlash_ProbeOp : DSFlash_Op<"probe"> {
  let summary = "named observation point";
  let description = [{
    Passes a tensor on; a run may record it there and, if it is f32, replace it (golden names,
    SPEC section 2: reference runs are forced through them). In
    the name "{l}" stands for the layer. With `positions_per_row` r > 1 only rows of positions
    r - 1 modulo r count. Without `--probes` a pass removes it. On a buffer there is no
    result: the buffer itself is recorded or replaced.

    - C1: "{l}" is in the name exactly when there is a layer.
    - C2: the input is f32, i32 or i64 of rank 1 to 3; a tensor's extents after the first are
      static.
    - C3: positions_per_row is 1 to 2^31 - 1.
    - C4: a tensor has a result of its type, a buffer has none.

    Example:

    ```mlir
    %y = dsflash.probe "layers.{l}.attn.out"[%layer] %x : tensor<?x64xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$input, StrAttr:$name, Optional<Index>:$layer,
                       DefaultValuedAttr<I64Attr, "1">:$positions_per_row);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = "$name (`[` $layer^ `]`)? $input attr-dict `:` custom<PassedOn>(type($input), type($result))";
  let hasVerifier = 1;
}

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHSTRUCTUREOPS_TD
