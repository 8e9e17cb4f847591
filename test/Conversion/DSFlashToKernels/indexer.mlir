// RUN: dsflash-opt %s -convert-dsflash-to-kernels -split-input-file | FileCheck %s
// RUN: dsflash-opt %s -dsflash-select-config=device=nvptx:sm_80 -convert-dsflash-to-kernels -split-input-file \
// RUN:   | FileCheck %s --check-prefix=DEVICE

!keys = !dsflash.index_keys<rows = 128, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>

// A row is divided into max(n, 128) / n parts. Scratch depends on k, not on the length of the context.
// CHECK-LABEL: func.func @select
// DEVICE-LABEL: func.func @select
func.func @select(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys, %sequence: tensor<?xi32>,
                  %position: tensor<?xi32>) -> tensor<?x6xi32> {
  // CHECK: %[[N:.*]] = tensor.dim %{{.*}}, %c0
  // CHECK: %[[SOME:.*]] = arith.maxsi %[[N]], %c1
  // CHECK: %[[AHEAD:.*]] = arith.addi %[[SOME]], %c127
  // CHECK: %[[PARTS:.*]] = arith.divui %[[AHEAD]], %[[SOME]]
  // CHECK: %[[ITEMS:.*]] = arith.muli %[[N]], %[[PARTS]]
  // CHECK: %[[MOST:.*]] = arith.addi %[[N]], %c128
  // CHECK: tensor.empty(%[[MOST]]) : tensor<?x84xi32>
  // CHECK: %[[FOUND:[^:]*]]:5 = dsflash.dispatch @indexer_84 grid(%[[ITEMS]]) ins({{.*}}, %[[PARTS]] : {{.*}} -> tensor<?xi32>, tensor<?x84xi32>, tensor<?x84xi32>, tensor<?xi32>, tensor<?x32x4xf32>
  // CHECK: %[[Y:[^:]*]]:3 = dsflash.dispatch @merge_entries_6 grid(%[[N]]) ins(%[[FOUND]]#1, %[[FOUND]]#2, %[[FOUND]]#3, %[[FOUND]]#0, %[[PARTS]] : {{.*}} -> tensor<?x6xi32>, tensor<?x81xi32>, tensor<?x81xi32>
  // CHECK: return %[[Y]]#0
  // On a device entries are gathered in shared memory.
  // DEVICE: dsflash.dispatch @indexer_6 {{.*}} -> tensor<?xi32>, tensor<?x6xi32>, tensor<?x6xi32>, tensor<?xi32>
  // DEVICE: dsflash.dispatch @merge_entries_6 {{.*}} -> tensor<?x6xi32>
  %0 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> tensor<?x6xi32>
  return %0 : tensor<?x6xi32>
}
// CHECK: func.func private @indexer_84
// CHECK-DAG: memref.alloca() {{.*}} : memref<4x32xf32>
// CHECK: dsflash.state_data payload {{.*}} -> memref<128x16xi8>
// CHECK: func.func private @merge_entries_6
// DEVICE: func.func private @indexer_6({{.*}} attributes {dsflash.block = #dsflash.block<threads = 128
// DEVICE: nvvm.barrier0
// DEVICE: nvvm.vote.sync
// DEVICE: func.func private @merge_entries_6({{.*}} attributes {dsflash.block = #dsflash.block<threads = 256

// -----

!keys = !dsflash.index_keys<rows = 256, dim = 32, ratio = 1, <e2m1, e8m0, [1, 32]>>

// CHECK-LABEL: func.func @candidates
func.func @candidates(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys, %sequence: tensor<?xi32>,
                      %position: tensor<?xi32>) -> (tensor<?x6xi32>, tensor<?x6xi32>) {
  // CHECK: %[[FULL:[^:]*]]:8 = dsflash.dispatch @indexer_84
  // CHECK: %[[BEST:[^:]*]]:3 = dsflash.dispatch @merge_entries_6 {{.*}} ins(%[[FULL]]#1, %[[FULL]]#2, %[[FULL]]#3,
  // CHECK: %[[KEPT:[^:]*]]:3 = dsflash.dispatch @merge_entries_3 {{.*}} ins(%[[FULL]]#4, %[[FULL]]#5, %[[FULL]]#6,
  %0:2 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position) {block_size = 4 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x6xi32>, tensor<?x3xi32>)
  // CHECK: %[[SOME:[^:]*]]:5 = dsflash.dispatch @candidate_indexer_84 {{.*}} ins({{.*}}, %[[KEPT]]#0, %{{[^ ]*}} :
  // CHECK: %[[INSIDE:[^:]*]]:3 = dsflash.dispatch @merge_entries_6 {{.*}} ins(%[[SOME]]#1,
  %1 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position) candidates %0#1 {block_size = 4 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>, tensor<?x3xi32>) -> tensor<?x6xi32>
  // CHECK: return %[[BEST]]#0, %[[INSIDE]]#0
  return %0#0, %1 : tensor<?x6xi32>, tensor<?x6xi32>
}

// -----

// CHECK-LABEL: func.func @none
func.func @none(%position: tensor<?xi32>) -> tensor<?x6xi32> {
  // CHECK: dsflash.dispatch @no_selection_6 grid({{.*}}) outs(
  %0 = dsflash.no_selection %position : (tensor<?xi32>) -> tensor<?x6xi32>
  return %0 : tensor<?x6xi32>
}

// -----

!keys = !dsflash.index_keys<rows = 128, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>

// Blocks that are longer than a tile are scanned by one thread.
// DEVICE-LABEL: func.func @long_blocks
func.func @long_blocks(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys, %sequence: tensor<?xi32>,
                       %position: tensor<?xi32>) -> (tensor<?x6xi32>, tensor<?x3xi32>) {
  %0:2 = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position) {block_size = 129 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x6xi32>, tensor<?x3xi32>)
  return %0#0, %0#1 : tensor<?x6xi32>, tensor<?x3xi32>
}
// DEVICE-NOT: func.func private @indexer_{{.*}} attributes {dsflash.block
