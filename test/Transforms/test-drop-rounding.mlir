// RUN: dsflash-opt %s --dsflash-test-drop-rounding=points=attn.q,attn.x | FileCheck %s --check-prefix=POINTS
// RUN: dsflash-opt %s --dsflash-test-drop-rounding=points=probabilities | FileCheck %s --check-prefix=PROBABILITIES
// RUN: dsflash-opt %s --dsflash-test-drop-rounding=points=state.global_kv | FileCheck %s --check-prefix=KV
// RUN: dsflash-opt %s --dsflash-test-drop-rounding=points=state.window | FileCheck %s --check-prefix=WINDOW
// RUN: not dsflash-opt %s --dsflash-test-drop-rounding=points=attn.q,state.index_keys 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: nothing to drop is named 'state.index_keys'

!window = !dsflash.window<layers = 2, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
!kv = !dsflash.global_kv<rows = 64, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>
!sink = !dsflash.weight<[1, 2], <f32>>

// POINTS-NOT: point = "attn.q"
// POINTS-NOT: point = "attn.x"
// POINTS: round_probabilities
// POINTS: point = "attn.out"
// PROBABILITIES: point = "attn.q"
// PROBABILITIES: csa2
// PROBABILITIES-NOT: round_probabilities
// KV: !dsflash.window<layers = 2, slots = 13, dim = 64, <e4m3
// KV-SAME: !dsflash.global_kv<rows = 64, dim = 64, ratio = 2, <f32>>
// WINDOW: !dsflash.window<layers = 2, slots = 13, dim = 64, <f32>>
// WINDOW-SAME: !dsflash.global_kv<rows = 64, dim = 64, ratio = 2, <e2m1
func.func @layer(%q: tensor<?x128xf32>, %x: tensor<?x64xf32>, %layer: index, %sink: !sink,
    %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>, %selection: tensor<?x8xi32>,
    %window: !window, %kv: !kv) -> (tensor<?x128xf32>, !window) {
  %0 = dsflash.round %q {point = "attn.q"} : tensor<?x128xf32>
  %1 = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "attn.x"} : tensor<?x64xf32>
  %2, %3 = dsflash.csa2 <full> %0, %1 window %window[%layer] sink %sink rows(%sequence, %position, %extents)
    global %kv selection %selection {heads = 2 : i64, sliding_window = 8 : i64, round_probabilities}
    : (tensor<?x128xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !kv, tensor<?x8xi32>)
    -> (tensor<?x128xf32>, !window)
  %4 = dsflash.round %2 {point = "attn.out"} : tensor<?x128xf32>
  return %4, %3 : tensor<?x128xf32>, !window
}
