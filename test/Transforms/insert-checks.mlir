// RUN: dsflash-opt %s --dsflash-insert-checks -split-input-file | FileCheck %s

// Checks in a layer: named after weights or operations, with the layer.

!window = !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>>
!kv = !dsflash.global_kv<rows = 32, dim = 64, ratio = 2, <f32>>
!ids = tensor<?xi32>
!x = tensor<?x64xf32>

dsflash.param @attn.wkv "layers.{l}.attn.wkv.weight" layers [0, 1] : !dsflash.weight<[64, 64], <bf16>>
dsflash.param @sink "layers.{l}.attn.sink" layers [0, 1] : !dsflash.weight<[1, 1], <f32>>
dsflash.param @ffn.experts.w1 "layers.{l}.ffn.experts.{e}.w1.weight" layers [0, 1] : !dsflash.weight<[4, 32, 64], <bf16>>

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME:  %[[LAYER:[^:]*]]: index, %[[X:[^:]*]]: tensor<?x64xf32>, %[[SEQUENCE:[^:]*]]: tensor<?xi32>, %[[POSITION:[^:]*]]: tensor<?xi32>,
// CHECK-SAME:  %[[EXTENTS:[^:]*]]: tensor<?x2xi32>, %[[WINDOW:[^:]*]]: !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>, positions>
func.func private @layer(%layer: index, %x: !x, %sequence: !ids, %position: !ids, %extents: tensor<?x2xi32>, %window: !window, %kv: !kv, %selection: tensor<?x4xi32>, %experts: tensor<?x2xi32>)
    -> (!x, !window, !kv, tensor<?x2x32xf32>) {
  // What is rounded is checked as it comes out.
  // CHECK:      %[[KV:.*]] = dsflash.linear
  // CHECK-NEXT: %[[ROUNDED:.*]] = dsflash.round %[[KV]]
  // CHECK-NEXT: dsflash.check_nan "layers.{l}.attn.wkv"[%[[LAYER]]] %[[ROUNDED]] at %[[POSITION]]
  %w = dsflash.param_ref @attn.wkv[%layer] : <[64, 64], <bf16>>
  %0 = dsflash.linear %x, %w : (!x, !dsflash.weight<[64, 64], <bf16>>) -> !x
  %1 = dsflash.round %0 {point = "attn.wkv"} : !x
  // CHECK:      %[[LIMIT:.*]] = arith.constant 64 : index
  // CHECK-NEXT: %[[AT:.*]] = dsflash.check_ids <row> "layers.{l}.attn.append"[%[[LAYER]]] %[[POSITION]] below %[[LIMIT]] at %[[POSITION]] :
  // CHECK-NEXT: dsflash.append %{{.*}} to %{{.*}} rows(%[[SEQUENCE]], %[[AT]])
  %2 = dsflash.append %1 to %kv rows(%sequence, %position) : (!x, !kv, !ids, !ids) -> !kv
  %sink = dsflash.param_ref @sink[%layer] : <[1, 1], <f32>>
  // CHECK:      %[[CHECKED:.*]] = dsflash.check_window "layers.{l}.attn.csa2"[%[[LAYER]]] %[[WINDOW]][%[[LAYER]]] rows(%[[SEQUENCE]], %[[POSITION]], %[[EXTENTS]]) {count = 3 : i64}
  // CHECK-NEXT: %[[ROWS:.*]] = arith.constant 32 : index
  // CHECK-NEXT: %[[SELECTION:.*]] = dsflash.check_ids <row> "layers.{l}.attn.csa2"[%[[LAYER]]] %{{.*}} below %[[ROWS]] at %[[POSITION]] {optional, positions_per_row = 2 : i64}
  // CHECK-NEXT: %[[RESULT:.*]], %{{.*}} = dsflash.csa2 <full> %{{.*}}, %{{.*}} window %[[CHECKED]][%[[LAYER]]] {{.*}} selection %[[SELECTION]]
  // CHECK-NEXT: %[[CONTEXT:.*]] = dsflash.round %[[RESULT]]
  // CHECK-NEXT: dsflash.check_nan "layers.{l}.attn.csa2"[%[[LAYER]]] %[[CONTEXT]] at %[[POSITION]]
  %result, %after = dsflash.csa2 <full> %1, %1 window %window[%layer] sink %sink rows(%sequence, %position, %extents)
    global %2 selection %selection {heads = 1 : i64, sliding_window = 4 : i64}
    : (!x, !x, !window, index, !dsflash.weight<[1, 1], <f32>>, !ids, !ids, tensor<?x2xi32>, !kv, tensor<?x4xi32>) -> (!x, !window)
  %3 = dsflash.round %result {point = "attn.context"} : !x
  // CHECK:      %[[FOUR:.*]] = arith.constant 4 : index
  // CHECK-NEXT: %[[EXPERTS:.*]] = dsflash.check_ids <expert> "layers.{l}.experts.group_by_expert"[%[[LAYER]]] %{{.*}} below %[[FOUR]] at %[[POSITION]] :
  // CHECK-NEXT: dsflash.group_by_expert %[[EXPERTS]]
  %order, %offsets = dsflash.group_by_expert %experts : (tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<5xi32>)
  %w1 = dsflash.param_ref @ffn.experts.w1[%layer] : <[4, 32, 64], <bf16>>
  %4 = dsflash.expert_linear %3, %w1 order %order, %offsets
    : (!x, !dsflash.weight<[4, 32, 64], <bf16>>, tensor<?x2xi32>, tensor<5xi32>) -> tensor<?x2x32xf32>
  // CHECK: dsflash.check_nan "layers.{l}.ffn.experts.w1"[%[[LAYER]]] %{{.*}} at %[[POSITION]] : (tensor<?x2x32xf32>
  %5 = dsflash.round %4 {point = "experts.w1"} : tensor<?x2x32xf32>
  return %3, %after, %2, %5 : !x, !window, !kv, tensor<?x2x32xf32>
}

// -----

// A function without positions gets its callers'; an entry has no layer, and
// past gather_rows a row is one of the outputs.

dsflash.param @q "layers.{l}.engram.q" layers [0] : !dsflash.weight<[8, 8], <bf16>>
dsflash.param @embed "embed.weight" : !dsflash.weight<[16, 8], <bf16>>

// CHECK-LABEL: func.func @forward(
// CHECK-SAME:  %[[TOKENS:[^:]*]]: tensor<?xi32> {{.*}}, %[[POSITION:[^:]*]]: tensor<?xi32> {{.*}}, %[[OUTPUTS:[^:]*]]: tensor<?xi32> {
func.func @forward(%tokens: tensor<?xi32> {dsflash.dim = "rows"}, %position: tensor<?xi32> {dsflash.dim = "rows"},
    %outputs: tensor<?xi32> {dsflash.dim = "outputs"}) -> (tensor<?x8xf32>, tensor<?x2x2xf32>) {
  %layer = arith.constant 0 : index
  // A table that depends on positions alone is never NaN.
  // CHECK: dsflash.rope_table
  // CHECK-NOT: check_nan
  %table = dsflash.rope_table %position {frequencies = array<f32: 1.0, 0.5>} : (tensor<?xi32>) -> tensor<?x2x2xf32>
  %embed = dsflash.param_ref @embed : <[16, 8], <bf16>>
  // CHECK: %[[IDS:.*]] = dsflash.check_ids <row> "embed" %[[TOKENS]] below %{{.*}} at %[[POSITION]] : (tensor<?xi32>, index, tensor<?xi32>) -> tensor<?xi32>
  // CHECK-NEXT: %[[EMBEDDED:.*]] = dsflash.embed %[[IDS]]
  // CHECK-NEXT: dsflash.check_nan "embed" %[[EMBEDDED]] at %[[POSITION]]
  %0 = dsflash.embed %tokens, %embed : (tensor<?xi32>, !dsflash.weight<[16, 8], <bf16>>) -> tensor<?x8xf32>
  // CHECK: %[[STREAM:.*]] = call @engram(%{{.*}}, %[[EMBEDDED]], %[[POSITION]])
  %1 = call @engram(%layer, %0) : (index, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: %[[ROWS:.*]] = tensor.dim %[[STREAM]]
  // CHECK-NEXT: %[[CHOSEN:.*]] = dsflash.check_ids <row> "gather_rows" %[[OUTPUTS]] below %[[ROWS]] : (tensor<?xi32>, index) -> tensor<?xi32>
  // CHECK-NEXT: %[[GATHERED:.*]] = dsflash.gather_rows %{{.*}}, %[[CHOSEN]]
  // CHECK-NEXT: dsflash.check_nan "gather_rows" %[[GATHERED]] at %[[POSITION]] of %[[CHOSEN]]
  %2 = dsflash.gather_rows %1, %outputs : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  // CHECK: dsflash.check_nan "scale" %{{.*}} at %[[POSITION]] of %[[CHOSEN]]
  %3 = dsflash.scale %2 {factor = 2.0 : f32} : tensor<?x8xf32>
  return %3, %table : tensor<?x8xf32>, tensor<?x2x2xf32>
}

// CHECK-LABEL: func.func private @engram(
// CHECK-SAME:  %[[LAYER:[^:]*]]: index, %{{[^:]*}}: tensor<?x8xf32>, %[[POSITION:[^:]*]]: tensor<?xi32>)
// CHECK: dsflash.check_nan "layers.{l}.engram.q"[%[[LAYER]]] %{{.*}} at %[[POSITION]]
func.func private @engram(%layer: index, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %q = dsflash.param_ref @q[%layer] : <[8, 8], <bf16>>
  %0 = dsflash.linear %x, %q : (tensor<?x8xf32>, !dsflash.weight<[8, 8], <bf16>>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// Without positions rows are checked all the same.
// CHECK-LABEL: func.func @no_positions
// CHECK: dsflash.check_nan "scale" %{{.*}} : (tensor<?x8xf32>) -> ()
func.func @no_positions(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = dsflash.scale %x {factor = 2.0 : f32} : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// The last rows of each sequence have positions of their own.
// CHECK-LABEL: func.func @tail
// CHECK-SAME:  %[[X:[^:]*]]: tensor<?x8xf32>, %{{.*}}, %[[OUTPUTS:[^:]*]]: tensor<?xi32> {
func.func @tail(%x: tensor<?x8xf32>, %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>, %w: tensor<?xi32>,
    %outputs: tensor<?xi32> {dsflash.dim = "outputs"}) -> (tensor<?x8xf32>, tensor<?x2x2xf32>) {
  %table = dsflash.rope_table %position {frequencies = array<f32: 1.0, 0.5>} : (tensor<?xi32>) -> tensor<?x2x2xf32>
  // CHECK: %[[LAST:.*]], %{{.*}}, %[[POSITION:.*]], %{{.*}} = dsflash.last_rows
  // CHECK-NEXT: %[[ROWS:.*]] = dsflash.gather_rows %[[X]], %[[LAST]]
  // CHECK-NEXT: dsflash.check_nan "gather_rows" %[[ROWS]] at %[[POSITION]] :
  %last:4 = dsflash.last_rows %sequence, %position, %extents wanted %w {count = 1 : i64}
    : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
  %0 = dsflash.gather_rows %x, %last#0 : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  // CHECK: %[[COUNT:.*]] = tensor.dim %[[ROWS]]
  // CHECK-NEXT: %[[CHOSEN:.*]] = dsflash.check_ids <row> "gather_rows" %[[OUTPUTS]] below %[[COUNT]]
  // CHECK: dsflash.check_nan "gather_rows" %{{.*}} at %[[POSITION]] of %[[CHOSEN]]
  %1 = dsflash.gather_rows %0, %outputs : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  return %1, %table : tensor<?x8xf32>, tensor<?x2x2xf32>
}

// -----

// Attention that reads nothing from the ring has nothing to check in it.
!ring = !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>>
// CHECK-LABEL: func.func @within_call
// CHECK-NOT: dsflash.check_window
func.func @within_call(%layer: index, %x: tensor<?x64xf32>, %s: tensor<?xi32>, %p: tensor<?xi32>, %e: tensor<?x2xi32>, %ring: !ring, %sink: !dsflash.weight<[1, 1], <f32>>)
    -> (tensor<?x64xf32>, !ring) {
  %y, %after = dsflash.csa2 <window> %x, %x window %ring[%layer] sink %sink rows(%s, %p, %e) {heads = 1 : i64, sliding_window = 4 : i64, within_call}
    : (tensor<?x64xf32>, tensor<?x64xf32>, !ring, index, !dsflash.weight<[1, 1], <f32>>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x64xf32>, !ring)
  return %y, %after : tensor<?x64xf32>, !ring
}
