// RUN: dsflash-opt %s --dsflash-legalize-numerics=mode=ideal | FileCheck %s
// RUN: dsflash-opt %s --dsflash-legalize-numerics | FileCheck %s --check-prefix=REFERENCE

!window = !dsflash.window<layers = 2, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
!kv = !dsflash.global_kv<rows = 64, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>
!keys = !dsflash.index_keys<rows = 64, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>
!matrix = !dsflash.weight<[64, 64], <e4m3, e8m0, [32, 32]>>
!sink = !dsflash.weight<[1, 2], <f32>>

// CHECK: module attributes {dsflash.numerics = "ideal"}
// REFERENCE: module attributes {dsflash.numerics = "reference"}

// Weights keep their format.
// CHECK-LABEL: func @products
// CHECK-NEXT: %[[Y:.*]] = dsflash.linear %arg0, %arg1 : (tensor<?x64xf32>, !dsflash.weight<[64, 64], <e4m3, e8m0, [32, 32]>>)
// CHECK-NEXT: return %[[Y]]
// REFERENCE-LABEL: func @products
// REFERENCE: dsflash.quantize
// REFERENCE: dsflash.linear
// REFERENCE: dsflash.round
func.func @products(%x: tensor<?x64xf32>, %w: !matrix) -> tensor<?x64xf32> {
  %0 = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "attn.x"} : tensor<?x64xf32>
  %1 = dsflash.linear %0, %w : (tensor<?x64xf32>, !matrix) -> tensor<?x64xf32>
  %2 = dsflash.round %1 {point = "attn.q"} : tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

// CHECK-LABEL: func private @layer
// CHECK-SAME: !dsflash.window<layers = 2, slots = 13, dim = 64, <f32>>
// CHECK-SAME: !dsflash.global_kv<rows = 64, dim = 64, ratio = 2, <f32>>
// CHECK-SAME: !dsflash.index_keys<rows = 64, dim = 32, ratio = 2, <f32>>
// CHECK: dsflash.csa2 <full>
// CHECK-NOT: round_probabilities
// CHECK-SAME: !dsflash.window<layers = 2, slots = 13, dim = 64, <f32>>
// REFERENCE-LABEL: func private @layer
// REFERENCE: round_probabilities
func.func private @layer(%q: tensor<?x128xf32>, %x: tensor<?x64xf32>, %layer: index, %sink: !sink,
    %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>, %selection: tensor<?x8xi32>,
    %window: !window, %kv: !kv, %keys: !keys) -> (tensor<?x128xf32>, !window, !kv, !keys) {
  %0, %1 = dsflash.csa2 <full> %q, %x window %window[%layer] sink %sink rows(%sequence, %position, %extents)
    global %kv selection %selection {heads = 2 : i64, sliding_window = 8 : i64, round_probabilities}
    : (tensor<?x128xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !kv, tensor<?x8xi32>)
    -> (tensor<?x128xf32>, !window)
  return %0, %1, %kv, %keys : tensor<?x128xf32>, !window, !kv, !keys
}

// CHECK-LABEL: func @forward
// CHECK: call @layer({{.*}}!dsflash.index_keys<rows = 64, dim = 32, ratio = 2, <f32>>
func.func @forward(%q: tensor<?x128xf32>, %x: tensor<?x64xf32>, %layer: index, %sink: !sink,
    %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>, %selection: tensor<?x8xi32>,
    %window: !window, %kv: !kv, %keys: !keys) -> tensor<?x128xf32> {
  %0:4 = call @layer(%q, %x, %layer, %sink, %sequence, %position, %extents, %selection, %window, %kv, %keys)
    : (tensor<?x128xf32>, tensor<?x64xf32>, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xi32>, !window, !kv, !keys)
    -> (tensor<?x128xf32>, !window, !kv, !keys)
  return %0#0 : tensor<?x128xf32>
}

// CHECK-LABEL: func @rounded_results
// CHECK-NOT: rounded}
func.func @rounded_results(%x: tensor<?x64xf32>, %w: !matrix) -> tensor<?x64xf32> {
  %0 = dsflash.linear %x, %w {rounded} : (tensor<?x64xf32>, !matrix) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
