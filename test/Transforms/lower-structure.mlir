// RUN: dsflash-opt %s --dsflash-lower-structure | FileCheck %s

!kv = !dsflash.global_kv<rows = 64, dim = 64, ratio = 2, <f32>>

// CHECK-LABEL: func @forward
// CHECK-SAME: (%[[H:.*]]: tensor<?x64xf32>, %[[KV:.*]]: !dsflash.global_kv
// CHECK-NEXT: %[[FULL:.*]]:4 = call @full_layer(%[[H]], %[[KV]])
// CHECK-NEXT: %[[REINDEX:.*]]:2 = call @reindex_layer(%[[FULL]]#0, %[[FULL]]#1, %[[FULL]]#3)
// CHECK-NEXT: %[[REUSE:.*]] = call @reuse_layer(%[[REINDEX]]#0, %[[FULL]]#1, %[[REINDEX]]#1)
// CHECK-NEXT: return %[[REUSE]], %[[FULL]]#1
func.func @forward(%h: tensor<?x64xf32>, %kv: !kv) -> (tensor<?x64xf32>, !kv) {
  %0:4 = dsflash.encoder : tensor<?x64xf32>, !kv, tensor<?x8xi32>, tensor<?x4xi32> {
    %1:4 = dsflash.layer <full> @full_layer(%h) global_kv %kv
      : (tensor<?x64xf32>, !kv) -> (tensor<?x64xf32>, !kv, tensor<?x8xi32>, tensor<?x4xi32>)
    dsflash.yield %1#0, %1#1, %1#2, %1#3 : tensor<?x64xf32>, !kv, tensor<?x8xi32>, tensor<?x4xi32>
  }
  %2 = dsflash.decoder : tensor<?x64xf32> {
    %3:2 = dsflash.layer <reindex> @reindex_layer(%0#0) global_kv %0#1 candidates %0#3
      : (tensor<?x64xf32>, !kv, tensor<?x4xi32>) -> (tensor<?x64xf32>, tensor<?x8xi32>)
    %4 = dsflash.layer <reuse> @reuse_layer(%3#0) global_kv %0#1 selection %3#1
      : (tensor<?x64xf32>, !kv, tensor<?x8xi32>) -> tensor<?x64xf32>
    dsflash.yield %4 : tensor<?x64xf32>
  }
  return %2, %0#1 : tensor<?x64xf32>, !kv
}

func.func private @full_layer(tensor<?x64xf32>, !kv) -> (tensor<?x64xf32>, !kv, tensor<?x8xi32>, tensor<?x4xi32>)
func.func private @reindex_layer(tensor<?x64xf32>, !kv, tensor<?x4xi32>) -> (tensor<?x64xf32>, tensor<?x8xi32>)
func.func private @reuse_layer(tensor<?x64xf32>, !kv, tensor<?x8xi32>) -> tensor<?x64xf32>
