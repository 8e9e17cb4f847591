// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

// CHECK: dsflash.param @token_map "engram.token_map" from_tokenizer : !dsflash.weight<[1, 512], <i32>>
dsflash.param @token_map "engram.token_map" from_tokenizer : !dsflash.weight<[1, 512], <i32>>

// CHECK: dsflash.param @norm "norm.weight" : !dsflash.weight<[1, 64], <bf16>>
dsflash.param @norm "norm.weight" : !dsflash.weight<[1, 64], <bf16>>

// CHECK: dsflash.param @attn.wkv "layers.{l}.attn.wkv.weight" scale "layers.{l}.attn.wkv.scale" layers [0, 1] : !dsflash.weight<[64, 128], <e4m3, e8m0, [32, 32]>>
dsflash.param @attn.wkv "layers.{l}.attn.wkv.weight" scale "layers.{l}.attn.wkv.scale"
  layers [0, 1] : !dsflash.weight<[64, 128], <e4m3, e8m0, [32, 32]>>

// CHECK: dsflash.param @experts.w1 "layers.{l}.experts.{e}.w1.weight" scale "layers.{l}.experts.{e}.w1.scale" layers [1, 3] : !dsflash.weight<[16, 32, 64], <e2m1, e8m0, [1, 32]>>
dsflash.param @experts.w1 "layers.{l}.experts.{e}.w1.weight" scale "layers.{l}.experts.{e}.w1.scale"
  layers [1, 3] : !dsflash.weight<[16, 32, 64], <e2m1, e8m0, [1, 32]>>

// CHECK-LABEL: func.func @param_ref(
// CHECK-SAME: %[[LAYER:.*]]: index)
// CHECK: dsflash.param_ref @norm : <[1, 64], <bf16>>
// CHECK: dsflash.param_ref @attn.wkv[%[[LAYER]]] : <[64, 128], <e4m3, e8m0, [32, 32]>>
func.func @param_ref(%layer: index) -> (!dsflash.weight<[1, 64], <bf16>>, !dsflash.weight<[64, 128], <e4m3, e8m0, [32, 32]>>) {
  %norm = dsflash.param_ref @norm : <[1, 64], <bf16>>
  %w = dsflash.param_ref @attn.wkv[%layer] : <[64, 128], <e4m3, e8m0, [32, 32]>>
  return %norm, %w : !dsflash.weight<[1, 64], <bf16>>, !dsflash.weight<[64, 128], <e4m3, e8m0, [32, 32]>>
}

func.func private @window_layer(index, tensor<?x4x64xf32>) -> tensor<?x4x64xf32>

// CHECK-LABEL: func.func @encoder_and_decoder(
// CHECK-SAME: %[[LAYER:.*]]: index, %[[STREAM:.*]]: tensor<?x4x64xf32>)
// CHECK: %[[ENCODED:.*]] = dsflash.encoder : tensor<?x4x64xf32> {
// CHECK:   %[[H:.*]] = dsflash.layer <window> @window_layer(%[[LAYER]], %[[STREAM]]) : (index, tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
// CHECK:   dsflash.yield %[[H]] : tensor<?x4x64xf32>
// CHECK: }
// CHECK: %[[DECODED:.*]] = dsflash.decoder : tensor<?x4x64xf32> {
// CHECK:   dsflash.layer <window> @window_layer(%[[LAYER]], %[[ENCODED]])
// CHECK: return %[[DECODED]]
func.func @encoder_and_decoder(%layer: index, %stream: tensor<?x4x64xf32>) -> tensor<?x4x64xf32> {
  %encoded = dsflash.encoder : tensor<?x4x64xf32> {
    %h = dsflash.layer <window> @window_layer(%layer, %stream)
      : (index, tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
    dsflash.yield %h : tensor<?x4x64xf32>
  }
  %decoded = dsflash.decoder : tensor<?x4x64xf32> {
    %h = dsflash.layer <window> @window_layer(%layer, %encoded)
      : (index, tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
    dsflash.yield %h : tensor<?x4x64xf32>
  }
  return %decoded : tensor<?x4x64xf32>
}

// CHECK-LABEL: func.func @encoder_without_results(
// CHECK: dsflash.encoder {
// CHECK-NEXT: }
func.func @encoder_without_results() {
  dsflash.encoder {
  }
  return
}

// CHECK-LABEL: func.func @probe(
// CHECK-SAME: %[[LAYER:.*]]: index, %[[X:.*]]: tensor<?x64xf32>, %[[SELECTED:.*]]: tensor<?x8xi32>)
// CHECK: dsflash.probe "layers.{l}.attn.out"[%[[LAYER]]] %[[X]] : tensor<?x64xf32>
// CHECK: dsflash.probe "layers.{l}.attn.index_key"[%[[LAYER]]] %[[X]] {positions_per_row = 2 : i64} : tensor<?x64xf32>
// CHECK: dsflash.probe "selected" %[[SELECTED]] : tensor<?x8xi32>
func.func @probe(%layer: index, %x: tensor<?x64xf32>, %selected: tensor<?x8xi32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x8xi32>) {
  %y = dsflash.probe "layers.{l}.attn.out"[%layer] %x : tensor<?x64xf32>
  %key = dsflash.probe "layers.{l}.attn.index_key"[%layer] %x {positions_per_row = 2 : i64} : tensor<?x64xf32>
  %s = dsflash.probe "selected" %selected : tensor<?x8xi32>
  return %y, %key, %s : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x8xi32>
}

// CHECK-LABEL: func.func @probe_on_buffer(
// CHECK: dsflash.probe "x" %{{.*}} : memref<?x64xf32>
func.func @probe_on_buffer(%x: memref<?x64xf32>) {
  dsflash.probe "x" %x : memref<?x64xf32>
  return
}
