// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

!window = !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
!global = !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>
!keys = !dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>
!pending = !dsflash.pending<slots = 8, dim = 64>
!sink = !dsflash.weight<[1, 8], <f32>>

// CHECK-LABEL: func.func @rope_table(
// CHECK: dsflash.rope_table %{{.*}} {frequencies = array<f32: 1.000000e+00, 0.00999999977>, ratio = 2 : i64} : (tensor<?xi32>) -> tensor<?x2x2xf32>
func.func @rope_table(%position: tensor<?xi32>) -> tensor<?x2x2xf32> {
  %table = dsflash.rope_table %position {frequencies = array<f32: 1.000000e+00, 1.000000e-02>, ratio = 2 : i64}
    : (tensor<?xi32>) -> tensor<?x2x2xf32>
  return %table : tensor<?x2x2xf32>
}

// CHECK-LABEL: func.func @rotate(
// CHECK: dsflash.rotate %{{.*}}, %{{.*}} {head_dim = 64 : i64} : (tensor<?x512xf32>, tensor<?x16x2xf32>) -> tensor<?x512xf32>
func.func @rotate(%x: tensor<?x512xf32>, %table: tensor<?x16x2xf32>) -> tensor<?x512xf32> {
  %y = dsflash.rotate %x, %table {head_dim = 64 : i64}
    : (tensor<?x512xf32>, tensor<?x16x2xf32>) -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}

// CHECK-LABEL: func.func @rotate_back(
// CHECK: dsflash.rotate %{{.*}}, %{{.*}} {head_dim = 64 : i64, inverse} :
func.func @rotate_back(%x: tensor<?x64xf32>, %table: tensor<?x32x2xf32>) -> tensor<?x64xf32> {
  %y = dsflash.rotate %x, %table {head_dim = 64 : i64, inverse}
    : (tensor<?x64xf32>, tensor<?x32x2xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @csa2_window(
// CHECK: dsflash.csa2 <window> %{{.*}}, %{{.*}} window %{{.*}}[%{{.*}}] sink %{{.*}} rows(%{{.*}}, %{{.*}}, %{{.*}}) {heads = 8 : i64, round_probabilities, sliding_window = 8 : i64} :
func.func @csa2_window(%q: tensor<?x512xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index,
                       %sink: !sink, %sequence: tensor<?xi32>, %position: tensor<?xi32>,
                       %extents: tensor<?x2xi32>) -> (tensor<?x512xf32>, !window) {
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink
      rows(%sequence, %position, %extents)
      {heads = 8 : i64, round_probabilities, sliding_window = 8 : i64}
    : (tensor<?x512xf32>, tensor<?x64xf32>, !window, index, !sink,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x512xf32>, !window)
  return %y, %after : tensor<?x512xf32>, !window
}

// CHECK-LABEL: func.func @csa2_full(
// CHECK: dsflash.csa2 <full> %{{.*}} rows(%{{.*}}, %{{.*}}, %{{.*}}) global %{{.*}} selection %{{.*}} {heads = 8 : i64, sliding_window = 8 : i64} :
func.func @csa2_full(%q: tensor<?x512xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index,
                     %sink: !sink, %sequence: tensor<?xi32>, %position: tensor<?xi32>,
                     %extents: tensor<?x2xi32>, %global: !global, %selection: tensor<?x16xi32>)
    -> (tensor<?x512xf32>, !window) {
  %y, %after = dsflash.csa2 <full> %q, %kv window %window[%layer] sink %sink
      rows(%sequence, %position, %extents) global %global selection %selection
      {heads = 8 : i64, sliding_window = 8 : i64}
    : (tensor<?x512xf32>, tensor<?x64xf32>, !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>, index,
       !dsflash.weight<[1, 8], <f32>>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>,
       !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>, tensor<?x16xi32>)
    -> (tensor<?x512xf32>, !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>)
  return %y, %after : tensor<?x512xf32>, !window
}

// CHECK-LABEL: func.func @csa2_others(
// CHECK: dsflash.csa2 <reindex>
// CHECK: dsflash.csa2 <reuse>
// CHECK-SAME: {heads = 8 : i64, sliding_window = 1 : i64, within_call}
func.func @csa2_others(%q: tensor<?x512xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index,
                       %sink: !sink, %sequence: tensor<?xi32>, %position: tensor<?xi32>,
                       %extents: tensor<?x2xi32>, %global: !global, %selection: tensor<?x16xi32>) -> !window {
  %y, %w1 = dsflash.csa2 <reindex> %q, %kv window %window[%layer] sink %sink
      rows(%sequence, %position, %extents) global %global selection %selection
      {heads = 8 : i64, sliding_window = 13 : i64}
    : (tensor<?x512xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>,
       tensor<?x2xi32>, !global, tensor<?x16xi32>) -> (tensor<?x512xf32>, !window)
  %z, %w2 = dsflash.csa2 <reuse> %y, %kv window %w1[%layer] sink %sink
      rows(%sequence, %position, %extents) global %global selection %selection
      {heads = 8 : i64, sliding_window = 1 : i64, within_call}
    : (tensor<?x512xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>,
       tensor<?x2xi32>, !global, tensor<?x16xi32>) -> (tensor<?x512xf32>, !window)
  return %w2 : !window
}

// CHECK-LABEL: func.func @compress(
// CHECK: %[[LATENT:.*]], %[[AFTER:.*]] = dsflash.compress %{{.*}}, %{{.*}} pending %{{.*}} rows(%{{.*}}, %{{.*}}, %{{.*}}) {ratio = 2 : i64} :
// CHECK: return %[[LATENT]], %[[AFTER]]
func.func @compress(%kv: tensor<?x64xf32>, %gate: tensor<?x64xf32>, %pending: !pending,
                    %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>)
    -> (tensor<?x64xf32>, !pending) {
  %latent, %after = dsflash.compress %kv, %gate pending %pending rows(%sequence, %position, %extents)
      {ratio = 2 : i64}
    : (tensor<?x64xf32>, tensor<?x64xf32>, !dsflash.pending<slots = 8, dim = 64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x64xf32>, !dsflash.pending<slots = 8, dim = 64>)
  return %latent, %after : tensor<?x64xf32>, !pending
}

// CHECK-LABEL: func.func @append(
// CHECK: dsflash.append %{{.*}} to %{{.*}} rows(%{{.*}}, %{{.*}}) : (tensor<?x32xf32>, !dsflash.index_keys
// CHECK: dsflash.append %{{.*}} to %{{.*}} rows(%{{.*}}, %{{.*}}) : (tensor<?x64xf32>, !dsflash.global_kv
func.func @append(%key: tensor<?x32xf32>, %latent: tensor<?x64xf32>, %keys: !keys, %global: !global,
                  %sequence: tensor<?xi32>, %position: tensor<?xi32>) -> (!keys, !global) {
  %after = dsflash.append %key to %keys rows(%sequence, %position)
    : (tensor<?x32xf32>, !dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>, tensor<?xi32>, tensor<?xi32>)
    -> !dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>
  %kv = dsflash.append %latent to %global rows(%sequence, %position)
    : (tensor<?x64xf32>, !global, tensor<?xi32>, tensor<?xi32>) -> !global
  return %after, %kv : !keys, !global
}

// CHECK-LABEL: func.func @load(
// CHECK: dsflash.load %{{.*}} rows(%{{.*}}, %{{.*}}) : (!dsflash.global_kv<{{.*}}>, tensor<?xi32>, tensor<?xi32>) -> tensor<?x64xf32>
func.func @load(%global: !global, %sequence: tensor<?xi32>, %position: tensor<?xi32>) -> tensor<?x64xf32> {
  %rows = dsflash.load %global rows(%sequence, %position)
    : (!dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>, tensor<?xi32>, tensor<?xi32>)
    -> tensor<?x64xf32>
  return %rows : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @indexer(
// CHECK: dsflash.indexer %{{.*}}, %{{.*}} keys %{{.*}} rows(%{{.*}}, %{{.*}}) : (tensor<?x128xf32>, tensor<?x4xf32>, {{.*}}) -> tensor<?x16xi32>
func.func @indexer(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys,
                   %sequence: tensor<?xi32>, %position: tensor<?xi32>) -> tensor<?x16xi32> {
  %selection = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> tensor<?x16xi32>
  return %selection : tensor<?x16xi32>
}

// CHECK-LABEL: func.func @indexer_publishes_candidates(
// CHECK: %[[SELECTION:.*]], %[[KEPT:.*]] = dsflash.indexer {{.*}} {block_size = 8 : i64} :
// CHECK: return %[[SELECTION]], %[[KEPT]]
func.func @indexer_publishes_candidates(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys,
                                        %sequence: tensor<?xi32>, %position: tensor<?xi32>)
    -> (tensor<?x16xi32>, tensor<?x4xi32>) {
  %selection, %kept = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position)
      {block_size = 8 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>, tensor<?xi32>, tensor<?xi32>)
    -> (tensor<?x16xi32>, tensor<?x4xi32>)
  return %selection, %kept : tensor<?x16xi32>, tensor<?x4xi32>
}

// CHECK-LABEL: func.func @indexer_inside_candidates(
// CHECK: dsflash.indexer {{.*}} rows(%{{.*}}, %{{.*}}) candidates %{{.*}} {block_size = 8 : i64} :
func.func @indexer_inside_candidates(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys,
                                     %sequence: tensor<?xi32>, %position: tensor<?xi32>,
                                     %candidates: tensor<?x4xi32>) -> tensor<?x16xi32> {
  %selection = dsflash.indexer %q, %weights keys %keys rows(%sequence, %position) candidates %candidates
      {block_size = 8 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>, tensor<?x4xi32>) -> tensor<?x16xi32>
  return %selection : tensor<?x16xi32>
}

// CHECK-LABEL: func.func @no_selection(
// CHECK: dsflash.no_selection %{{.*}} : (tensor<?xi32>) -> tensor<?x16xi32>
func.func @no_selection(%position: tensor<?xi32>) -> tensor<?x16xi32> {
  %selection = dsflash.no_selection %position : (tensor<?xi32>) -> tensor<?x16xi32>
  return %selection : tensor<?x16xi32>
}
