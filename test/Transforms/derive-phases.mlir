// RUN: dsflash-opt %s --dsflash-derive-prompt | FileCheck %s --check-prefix=PROMPT
// RUN: dsflash-opt %s --dsflash-derive-tail | FileCheck %s --check-prefix=TAIL
// RUN: dsflash-opt %s --dsflash-derive-tail=bounded | FileCheck %s --check-prefix=BOUNDED

// Two decoder layers, a window of 8: the last runs for 1 row, the first for
// 1 + 7, and makes window KV for 1 + 2 * 7 (SPEC section 3, CED prefill).

// PROMPT: func.func private @full_layer_kv(%{{.*}}: tensor<?x4x64xf32>, %{{.*}}: tensor<?x4xf32>, %{{.*}}: tensor<?xi32>, %{{.*}}: tensor<?xi32>, %{{.*}}: !dsflash.global_kv
// PROMPT-NOT: dsflash.csa2
// PROMPT: func.func @prompt(
// PROMPT: %[[ENC:.*]]:3 = dsflash.encoder
// PROMPT-NOT: dsflash.decoder
// PROMPT-NOT: call @between
// PROMPT: %[[KV:.*]] = dsflash.layer <full> @full_layer_kv(%[[ENC]]#0, %[[ENC]]#1,
// PROMPT-NEXT: return %[[ENC]]#0, %[[ENC]]#1, %[[ENC]]#2, %[[KV]]

// TAIL: func.func private @full_layer_reading(
// TAIL-NOT: dsflash.append
// TAIL: dsflash.csa2 <reindex>
// TAIL: func.func private @full_layer_window(
// TAIL-NOT: dsflash.csa2
// TAIL: dsflash.append_window
// TAIL: func.func @tail({{.*}}dsflash.name = "stream"}{{.*}}dsflash.name = "pre"}, %[[WANTED:[^:]*]]: tensor<?xi32> {dsflash.dim = "sequences", dsflash.name = "wanted"}{{.*}}dsflash.last_rows = 15 : i64
// TAIL-NOT: dsflash.encoder
// TAIL: dsflash.last_rows %{{.*}} wanted %[[WANTED]] {count = 15 : i64, skip = 8 : i64}
// TAIL: dsflash.layer <window> @full_layer_window
// TAIL: dsflash.last_rows %{{.*}} wanted %[[WANTED]] {count = 8 : i64}
// TAIL: %[[READ:.*]]:4 = dsflash.layer <reindex> @full_layer_reading
// TAIL: func.call @between(%[[READ]]#0)
// TAIL: dsflash.last_rows %{{.*}} wanted %[[WANTED]] {count = 8 : i64, skip = 1 : i64}
// TAIL: dsflash.layer <window> @window_layer_window
// TAIL: dsflash.last_rows %{{.*}} wanted %[[WANTED]] {count = 1 : i64}
// TAIL: dsflash.layer <window> @window_layer(

// BOUNDED: func.func private @full_layer_reading_only(
// BOUNDED: within_call
// BOUNDED: func.func @bounded_tail({{.*}}%[[WANTED:[^:]*]]: tensor<?xi32> {dsflash.dim = "sequences", dsflash.name = "wanted"}{{.*}}dsflash.last_rows = 8 : i64
// BOUNDED-NOT: dsflash.last_rows
// BOUNDED: dsflash.layer <reindex> @full_layer_reading_only
// BOUNDED: dsflash.layer <window> @window_layer_reading_only
// BOUNDED-NEXT: dsflash.last_rows %{{.*}} wanted %[[WANTED]] {count = 1 : i64}

!window = !dsflash.window<layers = 4, slots = 8, dim = 64, <e4m3, e8m0, [1, 32]>>
!kv = !dsflash.global_kv<rows = 64, dim = 64, ratio = 1, <e2m1, e4m3, [1, 16]>>
!keys = !dsflash.index_keys<rows = 64, dim = 32, ratio = 1, <e2m1, e8m0, [1, 32]>>
!sink = !dsflash.weight<[1, 1], <f32>>

dsflash.param @sink "sink" : !sink

func.func private @window_layer(%layer: index, %h: tensor<?x4x64xf32>, %pre: tensor<?x4xf32>, %s: tensor<?xi32>, %p: tensor<?xi32>, %e: tensor<?x2xi32>, %w: !window)
    -> (tensor<?x4x64xf32>, tensor<?x4xf32>, !window) {
  %x = dsflash.hc_collapse %h, %pre : (tensor<?x4x64xf32>, tensor<?x4xf32>) -> tensor<?x64xf32>
  %sink = dsflash.param_ref @sink : !sink
  %y, %w1 = dsflash.csa2 <window> %x, %x window %w[%layer] sink %sink rows(%s, %p, %e) {heads = 1 : i64, sliding_window = 8 : i64}
    : (tensor<?x64xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x64xf32>, !window)
  %h1, %pre1 = dsflash.hc_init %y : (tensor<?x64xf32>) -> (tensor<?x4x64xf32>, tensor<?x4xf32>)
  return %h1, %pre1, %w1 : tensor<?x4x64xf32>, tensor<?x4xf32>, !window
}

func.func private @full_layer(%layer: index, %h: tensor<?x4x64xf32>, %pre: tensor<?x4xf32>, %s: tensor<?xi32>, %p: tensor<?xi32>, %e: tensor<?x2xi32>, %w: !window, %kv: !kv)
    -> (tensor<?x4x64xf32>, tensor<?x4xf32>, !window, !kv, tensor<?x4xi32>) {
  %x = dsflash.hc_collapse %h, %pre : (tensor<?x4x64xf32>, tensor<?x4xf32>) -> tensor<?x64xf32>
  %kv1 = dsflash.append %x to %kv rows(%s, %p) : (tensor<?x64xf32>, !kv, tensor<?xi32>, tensor<?xi32>) -> !kv
  %sel = dsflash.no_selection %p : (tensor<?xi32>) -> tensor<?x4xi32>
  %sink = dsflash.param_ref @sink : !sink
  %y, %w1 = dsflash.csa2 <full> %x, %x window %w[%layer] sink %sink rows(%s, %p, %e) global %kv1 selection %sel {heads = 1 : i64, sliding_window = 8 : i64}
    : (tensor<?x64xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !kv, tensor<?x4xi32>) -> (tensor<?x64xf32>, !window)
  %h1, %pre1 = dsflash.hc_init %y : (tensor<?x64xf32>) -> (tensor<?x4x64xf32>, tensor<?x4xf32>)
  return %h1, %pre1, %w1, %kv1, %sel : tensor<?x4x64xf32>, tensor<?x4xf32>, !window, !kv, tensor<?x4xi32>
}

// What stands between layers, as Engram does, goes with the decoder and gets the rows of the layer behind it.
func.func private @between(%h: tensor<?x4x64xf32>) -> tensor<?x4x64xf32>

func.func @forward(%x: tensor<?x64xf32> {dsflash.dim = "rows", dsflash.name = "x"}, %s: tensor<?xi32> {dsflash.dim = "rows", dsflash.name = "sequence"},
    %p: tensor<?xi32> {dsflash.dim = "rows", dsflash.name = "position"}, %e: tensor<?x2xi32> {dsflash.dim = "sequences", dsflash.name = "extents"},
    %outputs: tensor<?xi32> {dsflash.dim = "outputs", dsflash.name = "outputs"}, %w: !window {dsflash.name = "window"}, %kv: !kv {dsflash.name = "kv.1"})
    -> (tensor<?x4xf32> {dsflash.dim = "outputs", dsflash.name = "logits"}, !window {dsflash.name = "window"}, !kv {dsflash.name = "kv.1"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h, %pre = dsflash.hc_init %x : (tensor<?x64xf32>) -> (tensor<?x4x64xf32>, tensor<?x4xf32>)
  %enc:3 = dsflash.encoder : tensor<?x4x64xf32>, tensor<?x4xf32>, !window {
    %0:3 = dsflash.layer <window> @window_layer(%c0, %h, %pre, %s, %p, %e, %w)
      : (index, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !window) -> (tensor<?x4x64xf32>, tensor<?x4xf32>, !window)
    dsflash.yield %0#0, %0#1, %0#2 : tensor<?x4x64xf32>, tensor<?x4xf32>, !window
  }
  %dec:4 = dsflash.decoder : tensor<?x4x64xf32>, tensor<?x4xf32>, !window, !kv {
    %0:5 = dsflash.layer <full> @full_layer(%c1, %enc#0, %enc#1, %s, %p, %e, %enc#2) global_kv %kv
      : (index, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !window, !kv) -> (tensor<?x4x64xf32>, tensor<?x4xf32>, !window, !kv, tensor<?x4xi32>)
    %between = func.call @between(%0#0) : (tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
    %1:3 = dsflash.layer <window> @window_layer(%c2, %between, %0#1, %s, %p, %e, %0#2)
      : (index, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !window) -> (tensor<?x4x64xf32>, tensor<?x4xf32>, !window)
    dsflash.yield %1#0, %1#1, %1#2, %0#3 : tensor<?x4x64xf32>, tensor<?x4xf32>, !window, !kv
  }
  %logits = dsflash.gather_rows %dec#1, %outputs : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
  return %logits, %dec#2, %dec#3 : tensor<?x4xf32>, !window, !kv
}
