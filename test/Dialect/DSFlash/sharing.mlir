// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

// Four kinds of layers in a small CED: what a layer shares is an operand of its
// own, so a reuse layer takes the very values that its sources made.

!kv2 = !dsflash.global_kv<rows = 512, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>
!kv1 = !dsflash.global_kv<rows = 1024, dim = 64, ratio = 1, <e2m1, e4m3, [1, 16]>>
!keys2 = !dsflash.index_keys<rows = 512, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>
!keys1 = !dsflash.index_keys<rows = 1024, dim = 32, ratio = 1, <e2m1, e8m0, [1, 32]>>
!h = tensor<?x4x64xf32>
!selection = tensor<?x16xi32>
!blocks = tensor<?x4xi32>

func.func private @window_layer(index, !h) -> !h
func.func private @full_r2_layer(index, !h, !keys2, !kv2) -> (!h, !kv2, !keys2, !selection)
func.func private @reuse_r2_layer(index, !h, !kv2, !selection) -> !h
func.func private @full_r1_layer(index, !h, !keys1, !kv1) -> (!h, !kv1, !keys1, !selection, !blocks)
func.func private @reuse_r1_layer(index, !h, !kv1, !selection) -> !h
func.func private @reindex_layer(index, !h, !keys1, !kv1, !blocks) -> (!h, !selection)

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[H0:.*]]: tensor<?x4x64xf32>, %[[KV2:.*]]: !dsflash.global_kv<rows = 512{{.*}}>, %[[KEYS2:.*]]: !dsflash.index_keys<rows = 512{{.*}}>, %[[KV1:.*]]: !dsflash.global_kv<rows = 1024{{.*}}>, %[[KEYS1:.*]]: !dsflash.index_keys<rows = 1024
func.func @forward(%h0: !h, %kv2: !kv2, %keys2: !keys2, %kv1: !kv1, %keys1: !keys1)
    -> (!h, !kv2, !keys2, !kv1, !keys1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index

  // CHECK: %[[ENCODED:.*]]:4 = dsflash.encoder
  // CHECK:   %[[H1:.*]] = dsflash.layer <window> @window_layer(%{{.*}}, %[[H0]]) :
  // CHECK:   %[[FULL:.*]]:4 = dsflash.layer <full> @full_r2_layer(%{{.*}}, %[[H1]], %[[KEYS2]]) global_kv %[[KV2]] :
  // CHECK:   %[[H3:.*]] = dsflash.layer <reuse> @reuse_r2_layer(%{{.*}}, %[[FULL]]#0) global_kv %[[FULL]]#1 selection %[[FULL]]#3 :
  // CHECK:   dsflash.yield %[[H3]], %[[FULL]]#1, %[[FULL]]#2, %[[FULL]]#3
  %encoded:4 = dsflash.encoder : !h, !kv2, !keys2, !selection {
    %h1 = dsflash.layer <window> @window_layer(%c0, %h0) : (index, !h) -> !h
    %h2, %kv, %keys, %selected = dsflash.layer <full> @full_r2_layer(%c1, %h1, %keys2) global_kv %kv2
      : (index, !h, !keys2, !kv2) -> (!h, !kv2, !keys2, !selection)
    %h3 = dsflash.layer <reuse> @reuse_r2_layer(%c2, %h2) global_kv %kv selection %selected
      : (index, !h, !kv2, !selection) -> !h
    dsflash.yield %h3, %kv, %keys, %selected : !h, !kv2, !keys2, !selection
  }

  // A layer outside of the encoder may still reuse what the encoder passes on.
  // CHECK: %[[H4:.*]] = dsflash.layer <reuse> @reuse_r2_layer(%{{.*}}, %[[ENCODED]]#0) global_kv %[[ENCODED]]#1 selection %[[ENCODED]]#3 :
  %h4 = dsflash.layer <reuse> @reuse_r2_layer(%c3, %encoded#0) global_kv %encoded#1 selection %encoded#3
    : (index, !h, !kv2, !selection) -> !h

  // CHECK: dsflash.decoder
  // CHECK:   %[[OWNER:.*]]:5 = dsflash.layer <full> @full_r1_layer(%{{.*}}, %[[H4]], %[[KEYS1]]) global_kv %[[KV1]] :
  // CHECK:   %[[INDEXED:.*]]:2 = dsflash.layer <reindex> @reindex_layer(%{{.*}}, %[[OWNER]]#0, %[[OWNER]]#2) global_kv %[[OWNER]]#1 candidates %[[OWNER]]#4 :
  // CHECK:   dsflash.layer <reuse> @reuse_r1_layer(%{{.*}}, %[[INDEXED]]#0) global_kv %[[OWNER]]#1 selection %[[INDEXED]]#1 :
  %decoded:3 = dsflash.decoder : !h, !kv1, !keys1 {
    %h5, %kv, %keys, %selected, %blocks = dsflash.layer <full> @full_r1_layer(%c4, %h4, %keys1) global_kv %kv1
      : (index, !h, !keys1, !kv1) -> (!h, !kv1, !keys1, !selection, !blocks)
    %h6, %reselected = dsflash.layer <reindex> @reindex_layer(%c5, %h5, %keys) global_kv %kv candidates %blocks
      : (index, !h, !keys1, !kv1, !blocks) -> (!h, !selection)
    %h7 = dsflash.layer <reuse> @reuse_r1_layer(%c6, %h6) global_kv %kv selection %reselected
      : (index, !h, !kv1, !selection) -> !h
    dsflash.yield %h7, %kv, %keys : !h, !kv1, !keys1
  }
  return %decoded#0, %encoded#1, %encoded#2, %decoded#1, %decoded#2 : !h, !kv2, !keys2, !kv1, !keys1
}

// A function that holds only some of the layers gets what they share from outside.
// CHECK-LABEL: func.func @tail(
// CHECK: dsflash.layer <reuse> @reuse_layer(%{{.*}}, %{{.*}}) global_kv %{{.*}} selection %{{.*}} : (index, tensor<?x4x64xf32>, !dsflash.global_kv<{{.*}}>, tensor<?x16xi32>) -> tensor<?x4x64xf32>
func.func private @reuse_layer(index, !h, !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>, !selection) -> !h
func.func @tail(%layer: index, %stream: !h, %kv: !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>,
                %selected: !selection) -> !h {
  %h = dsflash.layer <reuse> @reuse_layer(%layer, %stream) global_kv %kv selection %selected
    : (index, tensor<?x4x64xf32>, !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>, tensor<?x16xi32>)
    -> tensor<?x4x64xf32>
  return %h : !h
}
