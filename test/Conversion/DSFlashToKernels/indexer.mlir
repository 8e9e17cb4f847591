// RUN: dsflash-opt %s -convert-dsflash-to-kernels -split-input-file | FileCheck %s

!keys = !dsflash.index_keys<rows = 128, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>

// Scratch depends on k, not on the length of the context.
// CHECK-LABEL: func.func @select
func.func @select(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys, %sequence: tensor<?xi32>,
                  %position: tensor<?xi32>) -> tensor<?x6xi32> {
  // CHECK: %[[Y:[^:]*]]:4 = dsflash.dispatch @indexer_6 {{.*}} -> tensor<?x6xi32>, tensor<?x84xi32>, tensor<?x84xi32>, tensor<?x32x4xf32>
  // CHECK: return %[[Y]]#0
  %0 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> tensor<?x6xi32>
  return %0 : tensor<?x6xi32>
}
// CHECK: func.func private @indexer_6
// CHECK-DAG: memref.alloca() {{.*}} : memref<4x32xf32>
// CHECK: dsflash.state_data payload {{.*}} -> memref<128x16xi8>
// CHECK: %[[REACH:.*]] = arith.divui

// -----

!keys = !dsflash.index_keys<rows = 256, dim = 32, ratio = 1, <e2m1, e8m0, [1, 32]>>

// CHECK-LABEL: func.func @candidates
func.func @candidates(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys, %sequence: tensor<?xi32>,
                      %position: tensor<?xi32>) -> (tensor<?x6xi32>, tensor<?x6xi32>) {
  // CHECK: %[[FULL:[^:]*]]:7 = dsflash.dispatch @indexer_6
  %0:2 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position) {block_size = 4 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x6xi32>, tensor<?x3xi32>)
  // CHECK: %[[SOME:[^:]*]]:4 = dsflash.dispatch @candidate_indexer_6 {{.*}} ins({{.*}}, %[[FULL]]#1 :
  %1 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position) candidates %0#1 {block_size = 4 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>, tensor<?x3xi32>) -> tensor<?x6xi32>
  // CHECK: return %[[FULL]]#0, %[[SOME]]#0
  return %0#0, %1 : tensor<?x6xi32>, tensor<?x6xi32>
}

// -----

// CHECK-LABEL: func.func @none
func.func @none(%position: tensor<?xi32>) -> tensor<?x6xi32> {
  // CHECK: dsflash.dispatch @no_selection_6 grid({{.*}}) outs(
  %0 = dsflash.no_selection %position : (tensor<?xi32>) -> tensor<?x6xi32>
  return %0 : tensor<?x6xi32>
}
