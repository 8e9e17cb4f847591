//===- Passes.td - Transforms of dsflash modules --------------------------===//

#ifndef DSFLASH_TRANSFORMS_PASSES_TD
#define DSFLASH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DeriveEngramRowsPass : Pass<"dsflash-derive-engram-rows", "::mlir::ModuleOp"> {
  let summary = "entries that say which Engram rows a call will read";
  let description = [{
    The rows of an Engram table follow from token ids alone (SPEC section 3, Engram), so that a host can fetch them ahead of a
    call. For each `dsflash.engram_hash` in `forward` whose rows go to the call of layer L, its first operand, the pass
    makes an entry `engram_rows.L` of the operations that the hash needs; its result is `engram_rows`, i64 [rows, columns].
    It is `dsflash.host`: its launches run there even if those of the model run on a device.
    Runs on plain calls. An entry of that name stays as it is.

    ```mlir
    func.func @forward(%tokens: tensor<?xi32> {dsflash.name = "tokens"}, ...) -> ... {
      %layer = arith.constant 3 : index
      %rows = dsflash.engram_hash %tokens, ... -> tensor<?x4xi64>
      %1 = call @engram_3(%layer, %stream, %rows) : (...) -> tensor<?x4x64xf32>
    ```
    gets a companion
    ```mlir
    func.func @engram_rows.3(%tokens: tensor<?xi32> {dsflash.name = "tokens"}, ...)
        -> (tensor<?x4xi64> {dsflash.dim = "rows", dsflash.name = "engram_rows"}) {
      %rows = dsflash.engram_hash %tokens, ... -> tensor<?x4xi64>
      return %rows : tensor<?x4xi64>
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def DerivePromptPass : Pass<"dsflash-derive-prompt", "::mlir::ModuleOp"> {
  let summary = "what a prompt token needs of the forward function";
  let description = [{
    Makes the entry `@prompt` from `@forward` (SPEC section 3, CED prefill): the encoder, and
    of the decoder's first layer, its KV source, what makes global KV and index keys. Results
    are the encoder's stream and collapse weights, named `stream` and `pre`, for the
    decoder tail. The layer's function `@L` is sliced to `@L_kv`.

    The encoder yields the stream and the collapse weights first. Nothing happens without a
    decoder, and where another decoder layer has KV of its own or draft features
    come from the encoder: such a model has no phases. Observation points stay in `@forward`.

    ```mlir
    func.func @forward(%rows..., %window, %kv, %keys) -> (logits, window, kv, keys) {
      %h:3 = dsflash.encoder : ... { ... }
      %d:5 = dsflash.decoder : ... {
        %0:6 = dsflash.layer <full> @full_layer(%20, %h#0, %h#1, ..., %keys) global_kv %kv : ...
        %1:3 = dsflash.layer <reuse> @reuse_layer(...) global_kv %0#3 selection %0#5 : ...
    ```
    adds
    ```mlir
    func.func @prompt(%rows..., %window, %kv, %keys) -> (stream, pre, window, kv, keys) {
      %h:3 = dsflash.encoder : ... { ... }
      %0:2 = dsflash.layer <full> @full_layer_kv(%20, %h#0, %h#1, ..., %keys) global_kv %kv : ...
      return %h#0, %h#1, %h#2, %0#0, %0#1
    ```
  }];
  let dependentDialects = ["::mlir::dsflash::DSFlashDialect", "::mlir::func::FuncDialect"];
}

def DeriveReplayPass : Pass<"dsflash-derive-replay", "::mlir::ModuleOp"> {
  let summary = "the entry that rebuilds the window of a kept sequence";
  let description = [{
    Bounded replay (SPEC section 3, CED prefill). A sequence that was kept has its global KV and index keys, but no
    windows and no pending groups. From the entry `forward` and the functions that it calls this pass derives the
    entry `replay`, which computes its rows anew and

    - appends nothing to global KV and index keys: `dsflash.append` gives way to the state that it took;
    - attends to window rows of the call alone: `dsflash.csa2` becomes `within_call`, and `dsflash.check_window` goes;
    - has no logits: results that count outputs, and arguments that only these needed, are dropped;
    - is not observed.

    Runs on plain calls. A module without a `forward` or with a `replay`
    stays as it is; functions in which nothing changes are shared.

    ```mlir
    func.func @forward(%x: tensor<?x32xf32> {dsflash.dim = "rows"}, %kv: !kv, %s: tensor<?xi32>, %p: tensor<?xi32>) -> !kv {
      %after = dsflash.append %x to %kv rows(%s, %p) : (...) -> !kv
      return %after : !kv
    }
    ```
    gets a companion
    ```mlir
    func.func @replay(%x: tensor<?x32xf32> {dsflash.dim = "rows"}, %kv: !kv, %s: tensor<?xi32>, %p: tensor<?xi32>) -> !kv {
      return %kv : !kv
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def DeriveTailPass : Pass<"dsflash-derive-tail", "::mlir::ModuleOp"> {
  let summary = "the decoder over the last positions of a prompt";
  let description = [{
    Makes the entry `@tail` from `@forward` (SPEC section 3, CED prefill): the decoder over the
    stream and collapse weights that `@prompt` gave, without what makes global KV
    and index keys. Only what later positions read is computed. The last layer runs for the last rows of
    each sequence, as many as its new argument `wanted` says: one behind a prompt, or those of a decode step. For one row, a layer that runs for r rows sees, with a sliding window of w, and leaves
    window KV for r + w - 1 rows, for which the layer before it runs. The rows that get window KV and no
    more go through a slice of the layer's function, `@L_window`. `dsflash.last_rows` of the
    entry is the number of rows of which its first layer makes window KV: no more are needed. For each wanted row
    more all of this is one row more. Logits are those of the wanted rows, which `outputs` numbers from 0 on.
    The rows may come in several calls, the oldest first; `wanted` of a call is less by the rows that follow it.

    With `bounded` the entry is `@bounded_tail`: every layer runs for the last w rows and
    its window begins at the first of them, whatever the rings hold.

    The models that have no phases are those of `dsflash-derive-prompt`.

    ```mlir
    %d:5 = dsflash.decoder : ... {
      %0:6 = dsflash.layer <full> @full_layer(%20, %h#0, ...) ...
      %1:3 = dsflash.layer <reuse> @reuse_layer(%21, %0#0, ...) ...
    ```
    becomes, with a window of 8,
    ```mlir
    %d:3 = dsflash.decoder : ... {
      %lead:4 = dsflash.last_rows %sequence, %position, %extents wanted %wanted {count = 15, skip = 8}
      %s = dsflash.gather_rows %stream, %lead#0
      %w = dsflash.layer <window> @full_layer_window(%20, %s, ...)
      %rows:4 = dsflash.last_rows %sequence, %position, %extents wanted %wanted {count = 8}
      %t = dsflash.gather_rows %stream, %rows#0
      %0:4 = dsflash.layer <reindex> @full_layer_reading(%20, %t, ..., %w, ...)
    ```
  }];
  let dependentDialects = ["::mlir::dsflash::DSFlashDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"bounded", "bounded", "bool", "false", "only the last window, nothing before it">];
}

def DropResultsPass : Pass<"dsflash-drop-results", "::mlir::ModuleOp"> {
  let summary = "callers use what they passed instead of results";
  let description = [{
    Runs on buffers. Every result of a function, a buffer or a state, must be one of its arguments; results
    are dropped and users in callers take the operand of the call. Works on
    exported functions too, which `drop-equivalent-buffer-results` leaves alone.

    ```mlir
    func.func private @layer(%h: memref<?x64xf32>) -> memref<?x64xf32> {
      return %h : memref<?x64xf32>
    }
    func.func @forward(%h: memref<?x64xf32>) {
      %0 = call @layer(%h) : (memref<?x64xf32>) -> memref<?x64xf32>
      dsflash.dispatch @k grid(%n) outs(%0 : memref<?x64xf32>)
    ```
    becomes
    ```mlir
    func.func private @layer(%h: memref<?x64xf32>) {
      return
    }
    func.func @forward(%h: memref<?x64xf32>) {
      call @layer(%h) : (memref<?x64xf32>) -> ()
      dsflash.dispatch @k grid(%n) outs(%h : memref<?x64xf32>)
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def ExportFunctionPass : Pass<"dsflash-export-function", "::mlir::ModuleOp"> {
  let summary = "make one function the only entry";
  let description = [{
    For experiments with a part of a model, at any stage before LLVM. The function becomes public and
    what it does not reach goes: other functions and their parameters.

    - A tensor or buffer without `dsflash.name` or `dsflash.dim` takes those that all callers
      have for it, else "arg0", "arg1", ... and "rows"; results are called "result0", ...
    - A weight becomes a parameter with the argument's name, its scales behind ".scale" and
      experts behind ".{e}".
    - A number becomes the first element of an i32 column of one element for each sequence.

    Errors: no such function, one without body, a kernel.

    ```mlir
    func.func private @norm(%layer: index, %x: tensor<?x64xf32>, %w: !dsflash.weight<[1, 64], <bf16>>)
        -> tensor<?x64xf32>
    ```
    becomes
    ```mlir
    dsflash.param @arg2 "arg2" : !dsflash.weight<[1, 64], <bf16>>
    func.func @norm(%layer: tensor<?xi32> {dsflash.name = "arg0", dsflash.dim = "sequences"},
                    %x: tensor<?x64xf32> {dsflash.name = "arg1", dsflash.dim = "rows"})
        -> (tensor<?x64xf32> {dsflash.name = "result0", dsflash.dim = "rows", dsflash.access = "write"}) {
      %first = tensor.extract %layer[%c0] : tensor<?xi32>
      %w = dsflash.param_ref @arg2 : <[1, 64], <bf16>>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect", "::mlir::dsflash::DSFlashDialect"];
  let options = [Option<"function", "function", "std::string", "", "name of the function">];
}

def FuseRoundingPass : Pass<"dsflash-fuse-rounding", "::mlir::ModuleOp"> {
  let summary = "round results as they are stored";
  let description = [{
    A `dsflash.round` of the first result of an operation that can round it
    itself, and whose result has no other use, becomes the operation's
    `rounded` attribute.

    ```mlir
    %0 = dsflash.linear %x, %w : (...) -> tensor<?x64xf32>
    %y = dsflash.round %0 {point = "attn.q"} : tensor<?x64xf32>
    ```
    becomes
    ```mlir
    %y = dsflash.linear %x, %w {rounded} : (...) -> tensor<?x64xf32>
    ```
  }];
}

def InsertChecksPass : Pass<"dsflash-insert-checks", "::mlir::ModuleOp"> {
  let summary = "verify values as the model runs";
  let description = [{
    Makes a checked model. Results are checked for NaN where they are made (what a `dsflash.round` takes, where
    that gives it), ids of experts and rows where they are used, and every slot of the window rings keeps
    the position that it holds, which attention checks before it reads. Functions that have no table of positions get that
    of their callers. Names of checks are those of weights, or the operation's in the part of the layer
    whose rounding point comes next; so this runs before `dsflash-legalize-numerics`, and behind the passes that slice
    layers (`dsflash-derive-prompt`, `dsflash-derive-tail`), whose slices would keep checks of what they leave out.

    ```mlir
    %1 = dsflash.linear %0, %w : (...) -> tensor<?x64xf32>
    %2 = dsflash.round %1 {point = "attn.wq_a"} : tensor<?x64xf32>
    %order, %offsets = dsflash.group_by_expert %experts : (...) -> (tensor<?x2xi32>, tensor<17xi32>)
    ```
    becomes
    ```mlir
    %1 = dsflash.linear %0, %w : (...) -> tensor<?x64xf32>
    %2 = dsflash.round %1 {point = "attn.wq_a"} : tensor<?x64xf32>
    dsflash.check_nan "layers.{l}.attn.wq_a"[%layer] %2 at %position : (...) -> ()
    %3 = dsflash.check_ids <expert> "layers.{l}.ffn.group_by_expert"[%layer] %experts below %c16 at %position : (...) -> tensor<?x2xi32>
    %order, %offsets = dsflash.group_by_expert %3 : (...) -> (tensor<?x2xi32>, tensor<17xi32>)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def LegalizeNumericsPass
    : Pass<"dsflash-legalize-numerics", "::mlir::ModuleOp"> {
  let summary = "choose the numerics of a module";
  let description = [{
    Writes the mode into the module attribute `dsflash.numerics`. In mode
    `ideal` (SPEC section 2) nothing is rounded or quantized on the way:
    `dsflash.round` and `dsflash.quantize` give way to their input, attention
    keeps its probabilities in f32, rows of the state are f32. Weights stay as the
    checkpoint has them. Mode `reference` is what import writes.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %kv: !dsflash.global_kv<rows = 8, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>)
      %y = dsflash.round %x {point = "attn.q"} : tensor<?x64xf32>
    ```
    becomes, with every use of %y replaced by %x,
    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %kv: !dsflash.global_kv<rows = 8, dim = 64, ratio = 2, <f32>>)
    ```
  }];
  let dependentDialects = ["::mlir::dsflash::DSFlashDialect"];
  let options = [
    Option<"mode", "mode", "std::string", "\"reference\"", "reference or ideal">];
}

def LowerStructurePass : Pass<"dsflash-lower-structure", "::mlir::ModuleOp"> {
  let summary = "encoder, decoder and layers to plain calls";
  let description = [{
    The bodies of `dsflash.encoder` and `dsflash.decoder` take their places and a
    layer becomes a call with the operands in the order inputs, global KV,
    selection, candidates.

    ```mlir
    %h1, %w1 = dsflash.encoder : tensor<?x4x64xf32>, !dsflash.window<...> {
      %0:2 = dsflash.layer <reuse> @reuse_layer(%h, %w) global_kv %kv selection %s : (...) -> (...)
      dsflash.yield %0#0, %0#1 : tensor<?x4x64xf32>, !dsflash.window<...>
    }
    ```
    becomes
    ```mlir
    %0:2 = call @reuse_layer(%h, %w, %kv, %s) : (...) -> (...)
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def PlanMemoryPass : Pass<"dsflash-plan-memory", "::mlir::ModuleOp"> {
  let summary = "every buffer a piece of a workspace argument";
  let description = [{
    Runs on buffers. Every function but kernels gets a last argument
    `%workspace: memref<?xi8> {dsflash.workspace}`, and each `memref.alloc`
    becomes a `memref.view` of it at the byte offset a * n + b, a multiple of 64, where n is the
    largest dynamic leading extent of the function's arguments. The leading extent of an
    allocation is such an extent times a constant plus a constant. Buffers
    that are not in use at the same time share bytes; a call gets the
    part of the workspace that is free during the call.

    The attributes `dsflash.workspace_row_bytes` = a and
    `dsflash.workspace_fixed_bytes` = b of a function say that a workspace of
    a * n + b bytes, 64-byte aligned, is enough. Nothing may be deallocated,
    returned or allocated in another way.

    ```mlir
    func.func @f(%x: memref<?x64xf32>) {
      %n = memref.dim %x, %c0 : memref<?x64xf32>
      %0 = memref.alloc(%n) {alignment = 64 : i64} : memref<?x64xf32>
      dsflash.dispatch @k grid(%n) ins(%x : memref<?x64xf32>) outs(%0 : memref<?x64xf32>)
      call @g(%0) : (memref<?x64xf32>) -> ()
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<?x64xf32>, %workspace: memref<?xi8> {dsflash.workspace})
        attributes {dsflash.workspace_fixed_bytes = 64 : i64, dsflash.workspace_row_bytes = 512 : i64} {
      %n = memref.dim %x, %c0 : memref<?x64xf32>
      %0 = memref.view %workspace[%c0][%n] : memref<?xi8> to memref<?x64xf32>
      dsflash.dispatch @k grid(%n) ins(%x : memref<?x64xf32>) outs(%0 : memref<?x64xf32>)
      %offset = arith.muli %n, %c256 : index
      %1 = memref.view %workspace[%offset][%bytes] : memref<?xi8> to memref<?xi8>
      call @g(%0, %1) : (memref<?x64xf32>, memref<?xi8>) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def ResultsToDestinationsPass
    : Pass<"dsflash-results-to-destinations", "::mlir::ModuleOp"> {
  let summary = "results are written where the caller wants them";
  let description = [{
    Runs on tensors, between kernels and bufferization. A tensor result of a
    function that is computed in a `tensor.empty` of the function, through launches, probes
    and calls, gets a last argument as its destination instead, which takes the result's
    attributes and is writable; callers make the `tensor.empty`. A result that is computed in
    an argument is in place already. After bufferization every result is an
    argument, which `dsflash-drop-results` makes use of.

    Every launch gets a `tensor.empty` of its own. One that CSE made of several
    would be a buffer in use from the first of them to the last.

    ```mlir
    func.func private @layer(%h: tensor<?x64xf32>) -> tensor<?x8xi32> {
      %n = tensor.dim %h, %c0 : tensor<?x64xf32>
      %0 = tensor.empty(%n) : tensor<?x8xi32>
      %1 = dsflash.dispatch @select grid(%n) ins(%h : tensor<?x64xf32>) outs(%0 : tensor<?x8xi32>) -> tensor<?x8xi32>
      return %1 : tensor<?x8xi32>
    ```
    becomes
    ```mlir
    func.func private @layer(%h: tensor<?x64xf32>, %0: tensor<?x8xi32> {bufferization.writable = true}) -> tensor<?x8xi32> {
      %n = tensor.dim %h, %c0 : tensor<?x64xf32>
      %1 = dsflash.dispatch @select grid(%n) ins(%h : tensor<?x64xf32>) outs(%0 : tensor<?x8xi32>) -> tensor<?x8xi32>
      return %1 : tensor<?x8xi32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::tensor::TensorDialect"];
}

def SelectConfigPass : Pass<"dsflash-select-config", "::mlir::ModuleOp"> {
  let summary = "how kernels are made for a device";
  let description = [{
    Writes `dsflash.config` on the module: the one place that knows an
    architecture's sizes. Of several devices the first has its name there, and a block has the shared memory
    that all of them have. Without a device, or for an unknown one, it is an error.

    ```mlir
    module {
    ```
    becomes
    ```mlir
    module attributes {dsflash.config = #dsflash.config<"nvptx:sm_80", lanes = 4, threads = 32, shared_bytes = 166912, stages = 3, tile = [64, 64, 64]>} {
    ```
  }];
  let options = [
    Option<"device", "device", "std::string", "\"\"", "as nvptx:sm_80,nvptx:sm_90a">,
    Option<"tensorCores", "tensor-cores", "bool", "true", "products of bf16 values on tensor cores">];
  let dependentDialects = ["::mlir::dsflash::DSFlashDialect"];
}

def StripProbesPass : Pass<"dsflash-strip-probes", "::mlir::ModuleOp"> {
  let summary = "remove observation points";
  let description = [{
    Users of a `dsflash.probe` take its input; `dsflash.load` operations that
    only served a probe go with it.

    ```mlir
    %0 = dsflash.probe "layers.{l}.attn.out"[%layer] %x : tensor<?x64xf32>
    return %0 : tensor<?x64xf32>
    ```
    becomes
    ```mlir
    return %x : tensor<?x64xf32>
    ```
  }];
}

def VerifyBufferizedPass
    : Pass<"dsflash-verify-bufferized", "::mlir::ModuleOp"> {
  let summary = "fail on anything that allocates or copies";
  let description = [{
    Fails on every allocation, deallocation and copy of a buffer, on every
    tensor and every operation of the tensor, linalg and bufferization dialects, and on stack
    buffers that are dynamic, or in one function larger than `max-alloca-bytes`
    together. All of them are reported.

    ```mlir
    %0 = memref.alloc(%n) : memref<?xf32>  // error: allocates; all memory must come from arguments
    ```
  }];
  let options = [
    Option<"maxAllocaBytes", "max-alloca-bytes", "int64_t", "1048576", "stack buffers of one function, in bytes">];
}

def VerifyStatePass : Pass<"dsflash-verify-state", "::mlir::ModuleOp"> {
  let summary = "a state that is appended to has no other reader";
  let description = [{
    State lives in one place: an operation that appends to it (`dsflash.csa2`,
    `dsflash.compress`, `dsflash.append`, `dsflash.append_window`, or a call of a function that does)
    changes it for everyone. So the value that it takes may have no other use; readers take the
    value after. All violations are reported.

    ```mlir
    %after = dsflash.append %x to %kv rows(%sequence, %position) : (...) -> ...
    %read = dsflash.load %kv rows(%sequence, %position) : (...) -> ...  // error
    ```
  }];
}

#endif // DSFLASH_TRANSFORMS_PASSES_TD
