// RUN: dsflash-opt %s -convert-dsflash-to-kernels -split-input-file | FileCheck %s

// Rounding points of one shape share a kernel, whatever their names.
// CHECK-LABEL: func.func @round
func.func @round(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[N:.*]] = tensor.dim %[[X:.*]], %{{.*}} : tensor<?x64xf32>
  // CHECK: %[[A:.*]] = tensor.empty(%[[N]]) : tensor<?x64xf32>
  // CHECK: %[[Y:.*]] = dsflash.dispatch @round_64 grid(%[[N]]) ins(%[[X]] : tensor<?x64xf32>) outs(%[[A]] : tensor<?x64xf32>) -> tensor<?x64xf32>
  %0 = dsflash.round %x {point = "attn.q"} : tensor<?x64xf32>
  // CHECK: %[[B:.*]] = tensor.empty(%[[N]]) : tensor<?x64xf32>
  // CHECK: dsflash.dispatch @round_64 grid(%[[N]]) ins(%[[Y]] : {{.*}}) outs(%[[B]] : {{.*}})
  %1 = dsflash.round %0 {point = "attn.kv"} : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}
// CHECK: func.func private @round_64(%[[BEGIN:.*]]: index, %[[END:.*]]: index, %[[IN:.*]]: memref<?x64xf32>, %[[OUT:.*]]: memref<?x64xf32>) attributes {dsflash.kernel}
// CHECK: scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: vector.load %[[IN]][%[[ROW]], %[[F:.*]]] : memref<?x64xf32>, vector<16xf32>
// CHECK: vector.store %{{.*}}, %[[OUT]][%[[ROW]], %[[F]]]
// CHECK-NOT: func.func private

// -----

// CHECK-LABEL: func.func @quantize
func.func @quantize(%x: tensor<?x3x64xf32>) -> (tensor<?x3x64xf32>, tensor<?x3x64xf32>) {
  // CHECK: dsflash.dispatch @quantize_3x64 grid(%[[N:.*]]) ins
  %0 = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "ffn.x"} : tensor<?x3x64xf32>
  // The format is part of what makes a kernel.
  // CHECK: dsflash.dispatch @quantize_3x64_1 grid(%[[N]]) ins
  %1 = dsflash.quantize %x {format = #dsflash.format<e2m1, e8m0, [1, 32]>, point = "index.q"} : tensor<?x3x64xf32>
  return %0, %1 : tensor<?x3x64xf32>, tensor<?x3x64xf32>
}

// -----

// CHECK-LABEL: func.func @scale
func.func @scale(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // CHECK: dsflash.dispatch @scale_32
  %0 = dsflash.scale %x {factor = 0.5 : f32} : tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
// CHECK: func.func private @scale_32
// CHECK: arith.constant dense<5.000000e-01> : vector<16xf32>

// -----

!gain = !dsflash.weight<[1, 64], <bf16>>

// CHECK-LABEL: func.func @norm
func.func @norm(%x: tensor<?x64xf32>, %w: !gain) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: dsflash.dispatch @rms_norm_1x64_bf16 grid(%[[N:.*]]) ins(%[[X:.*]], %[[W:.*]] : tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>)
  %0 = dsflash.rms_norm %x, %w {eps = 1.0e-20 : f32} : (tensor<?x64xf32>, !gain) -> tensor<?x64xf32>
  // CHECK: dsflash.dispatch @rms_norm_1x64_bf16_1 grid(%[[N]]) ins(%[[X]], %[[W]]
  %1 = dsflash.rms_norm %x, %w {eps = 1.0e-20 : f32, rounded} : (tensor<?x64xf32>, !gain) -> tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}
// CHECK: func.func private @rms_norm_1x64_bf16(
// CHECK: dsflash.weight_data payload %{{.*}} : {{.*}} -> memref<1x64xbf16>

// -----

!matrix = !dsflash.weight<[48, 64], <e4m3, e8m0, [32, 32]>>

// A launch has an item for each tile of outputs, not for rows: a weight is read
// once for all of them.
// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<?x64xf32>, %w: !matrix) -> tensor<?x48xf32> {
  // CHECK: %[[TILES:.*]] = arith.constant 6 : index
  // CHECK: dsflash.dispatch @linear_48x64_e4m3 grid(%[[TILES]])
  %0 = dsflash.linear %x, %w : (tensor<?x64xf32>, !matrix) -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
// The bytes of the checkpoint are read in place, by code for all sizes.
// CHECK: func.func private @linear_48x64_e4m3
// CHECK-DAG: dsflash.weight_data payload %{{.*}} -> memref<48x64xi8>
// CHECK-DAG: dsflash.weight_data scale %{{.*}} -> memref<2x2xi8>
// CHECK: call @product.e4m3.32x32.lanes16(
// CHECK: func.func private @product.e4m3.32x32.lanes16({{.*}}) attributes {dsflash.kernel}
// CHECK-NOT: memref.alloc(
// CHECK-DAG: vector.load %{{.*}} : memref<?x?xi8>, vector<16xi8>
// CHECK-DAG: math.fma {{.*}} : vector<16xf32>

// -----

!experts = !dsflash.weight<[8, 64], <e2m1, e8m0, [1, 32]>>

// Two elements a byte: activations are taken apart instead of weights put
// together.
// CHECK-LABEL: func.func @linear_of_nibbles
func.func @linear_of_nibbles(%x: tensor<?x64xf32>, %w: !experts) -> tensor<?x8xf32> {
  %0 = dsflash.linear %x, %w {rounded} : (tensor<?x64xf32>, !experts) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
// CHECK: func.func private @linear_8x64_e2m1
// CHECK: call @product.e2m1.1x32.lanes16(
// CHECK: func.func private @product.e2m1.1x32.lanes16(
// CHECK-DAG: vector.load %{{.*}} : memref<?x?xi8>, vector<16xi8>
// CHECK-DAG: dsflash.decode_e2m1
// CHECK-DAG: vector.deinterleave %{{.*}} : vector<32xf32> -> vector<16xf32>

// -----

!matrix = !dsflash.weight<[48, 64], <e4m3, e8m0, [32, 32]>>
!experts = !dsflash.weight<[8, 64], <e2m1, e8m0, [1, 32]>>

// Inputs that are known to be bf16 are multiplied in pairs. Scales of E4M3 go
// to the inputs, those of E2M1 to the look-up. 64 columns of E4M3 fill a line of
// the cache, and those of E2M1 are the rest of one.
// CHECK-LABEL: func.func @linear_of_bf16
func.func @linear_of_bf16(%x: tensor<?x64xf32>, %w: !matrix, %v: !experts) -> (tensor<?x48xf32>, tensor<?x8xf32>) {
  %r = dsflash.round %x {point = "x"} : tensor<?x64xf32>
  %0 = dsflash.linear %r, %w : (tensor<?x64xf32>, !matrix) -> tensor<?x48xf32>
  %1 = dsflash.linear %r, %v : (tensor<?x64xf32>, !experts) -> tensor<?x8xf32>
  return %0, %1 : tensor<?x48xf32>, tensor<?x8xf32>
}
// CHECK: func.func private @dot_product.e4m3.32x32({{.*}}) attributes {dsflash.kernel}
// CHECK: arith.mulf {{.*}} : vector<32xf32>
// CHECK: dsflash.narrow_bf16 {{.*}} : vector<32xf32> -> vector<32xbf16>
// CHECK: dsflash.decode_e4m3 {{.*}} : vector<64xi8> -> vector<64xbf16>
// CHECK: dsflash.dot_bf16 {{.*}} : vector<32xbf16>, vector<16xf32>
// CHECK: func.func private @dot_product.e2m1.1x32.rest({{.*}}) attributes {dsflash.kernel}
// CHECK: dsflash.narrow_bf16 {{.*}} : vector<128xf32> -> vector<128xbf16>
// CHECK: dsflash.decode_e2m1_blocks
// CHECK: dsflash.dot_bf16 {{.*}} : vector<32xbf16>, vector<16xf32>

// -----

!group = !dsflash.weight<[32, 64], <bf16>>

// CHECK-LABEL: func.func @grouped
func.func @grouped(%x: tensor<?x256xf32>, %w: !group) -> tensor<?x32xf32> {
  // CHECK: %[[TILES:.*]] = arith.constant 4 : index
  // CHECK: dsflash.dispatch @grouped_linear_32x64_bf16 grid(%[[TILES]])
  %0 = dsflash.grouped_linear %x, %w {groups = 4 : i64} : (tensor<?x256xf32>, !group) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

!latent = !dsflash.weight<[16, 64], <bf16>>

// Extents of results come from what the function was given.
// CHECK-LABEL: func.func @project
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>
func.func @project(%x: tensor<?x64xf32>, %w: !latent) -> tensor<?x16xf32> {
  // CHECK: %[[N:.*]] = tensor.dim %[[X]]
  // CHECK: %[[Y:.*]] = dsflash.dispatch @project_16x64_bf16
  %0 = dsflash.project %x, %w : (tensor<?x64xf32>, !latent) -> tensor<?x16xf32>
  // CHECK: %[[P:.*]] = dsflash.probe "latent" %[[Y]]
  %1 = dsflash.probe "latent" %0 : tensor<?x16xf32>
  // CHECK: %[[INIT:.*]] = tensor.empty(%[[N]]) : tensor<?x16xf32>
  // CHECK: dsflash.dispatch @round_16 grid(%[[N]]) ins(%[[P]] : {{.*}}) outs(%[[INIT]] : {{.*}})
  %2 = dsflash.round %1 {point = "latent"} : tensor<?x16xf32>
  return %2 : tensor<?x16xf32>
}

// -----

// So do those of a layer's results: its first tensor has as many rows.
func.func private @layer(%layer: index, %x: tensor<?x16xf32>) -> tensor<?x16xf32>
// CHECK-LABEL: func.func @after_call
// CHECK-SAME: (%{{.*}}: index, %[[X:.*]]: tensor<?x16xf32>)
func.func @after_call(%layer: index, %x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // CHECK: %[[N:.*]] = tensor.dim %[[X]]
  // CHECK: call @layer
  %0 = func.call @layer(%layer, %x) : (index, tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK: dsflash.dispatch @round_16 grid(%[[N]])
  %1 = dsflash.round %0 {point = "x"} : tensor<?x16xf32>
  return %1 : tensor<?x16xf32>
}
