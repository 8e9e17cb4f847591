// RUN: dsflash-opt %s -convert-dsflash-to-kernels -split-input-file | FileCheck %s

// The angle is one product of f32, of the group's first position.
// CHECK-LABEL: func.func @table
func.func @table(%position: tensor<?xi32>) -> tensor<?x3x2xf32> {
  // CHECK: dsflash.dispatch @rope_table_3x2
  %0 = dsflash.rope_table %position {frequencies = array<f32: 1.0, 0.5, 0.25>, ratio = 2 : i64}
    : (tensor<?xi32>) -> tensor<?x3x2xf32>
  return %0 : tensor<?x3x2xf32>
}
// CHECK: func.func private @rope_table_3x2
// CHECK: %[[F:.*]] = arith.constant dense<[1.000000e+00, 5.000000e-01, 2.500000e-01]>
// CHECK: arith.remui
// CHECK: arith.subi
// CHECK: arith.mulf %{{.*}}, %[[F]]
// CHECK: math.cos
// CHECK: math.sin

// -----

// CHECK-LABEL: func.func @rotate
func.func @rotate(%x: tensor<?x64xf32>, %table: tensor<?x4x2xf32>) -> tensor<?x64xf32> {
  // CHECK: dsflash.dispatch @rotate_64
  %0 = dsflash.rotate %x, %table {head_dim = 32 : i64} : (tensor<?x64xf32>, tensor<?x4x2xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
// CHECK: func.func private @rotate_64
// CHECK: vector.deinterleave
// CHECK-NOT: arith.negf
// CHECK: vector.interleave

// -----

!window = !dsflash.window<layers = 3, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
!sink = !dsflash.weight<[1, 4], <f32>>

// Attention reads the ring before the call's rows are written to it.
// CHECK-LABEL: func.func @window
// CHECK-SAME: %{{[^:]*}}: tensor<?x256xf32>, %[[KV:[^:]*]]: tensor<?x64xf32>, %[[WINDOW:[^:]*]]: !dsflash.window
func.func @window(%q: tensor<?x256xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index, %sink: !sink,
                  %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>)
    -> (tensor<?x256xf32>, !window) {
  // CHECK: %[[Y:.*]] = dsflash.dispatch @csa2_1x4_f32 grid(
  // CHECK-NOT: writes_state
  // CHECK: dsflash.dispatch @append_window{{.*}} ins(%[[KV]], %[[WINDOW]], %{{.*}}) {writes_state}
  // CHECK: return %[[Y]], %[[WINDOW]]
  %0:2 = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink
    rows(%sequence, %position, %extents) {heads = 4 : i64, sliding_window = 8 : i64, round_probabilities}
    : (tensor<?x256xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x256xf32>, !window)
  return %0#0, %0#1 : tensor<?x256xf32>, !window
}
// CHECK: func.func private @csa2_1x4_f32
// CHECK: dsflash.state_data payload {{.*}} -> memref<39x64xi8>
// CHECK: dsflash.state_data scale {{.*}} -> memref<39x2xi8>
// CHECK: call @attention_rounded.4x64.e4m3.1x32(
// All scratch is of fixed size. Inputs that no rounding point made are
// multiplied as f32.
// CHECK: func.func private @attention_rounded.4x64.e4m3.1x32(
// CHECK-DAG: memref.alloca() {{.*}} : memref<16x64xf32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<4x16xf32>
// CHECK-NOT: dsflash.dot_bf16
// CHECK: func.func private @append_window
// CHECK: arith.constant 13 : index
// CHECK: arith.cmpi sle

// -----

!window = !dsflash.window<layers = 3, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
!sink = !dsflash.weight<[1, 4], <f32>>

// The window begins at the later of 7 positions before and the first position of the call.
// CHECK-LABEL: func.func @within_call
func.func @within_call(%q: tensor<?x256xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index, %sink: !sink,
                       %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>)
    -> tensor<?x256xf32> {
  %0:2 = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink
    rows(%sequence, %position, %extents) {heads = 4 : i64, sliding_window = 8 : i64, within_call}
    : (tensor<?x256xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x256xf32>, !window)
  return %0#0 : tensor<?x256xf32>
}
// CHECK: func.func private @csa2_1x4_f32
// CHECK: %[[AFTER_FIRST:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK-NEXT: %[[FIRST:.*]] = arith.subi %[[POSITION:.*]], %[[AFTER_FIRST]] : index
// CHECK: %[[BACK:.*]] = arith.constant -7 : index
// CHECK: %[[BEGIN:.*]] = arith.addi %[[POSITION]], %[[BACK]] : index
// CHECK: arith.maxsi %[[BEGIN]], %[[FIRST]] : index

// -----

!window = !dsflash.window<layers = 3, slots = 13, dim = 64, <f32>>
!global = !dsflash.global_kv<rows = 128, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>
!sink = !dsflash.weight<[1, 48], <f32>>

// 48 heads are six items a row; at most four of them, 32 heads, share what is decoded.
// CHECK-LABEL: func.func @selected
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x3072xf32>
func.func @selected(%q: tensor<?x3072xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index, %sink: !sink,
                    %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>,
                    %global: !global, %selection: tensor<?x6xi32>) -> tensor<?x3072xf32> {
  // CHECK: %[[N:.*]] = tensor.dim %[[Q]]
  // CHECK: %[[ITEMS:.*]] = arith.muli %[[N]], %c6
  // CHECK: dsflash.dispatch @csa2_1x48_f32 grid(%[[ITEMS]])
  %0:2 = dsflash.csa2 <full> %q, %kv window %window[%layer] sink %sink
    rows(%sequence, %position, %extents) global %global selection %selection
    {heads = 48 : i64, sliding_window = 8 : i64}
    : (tensor<?x3072xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>,
       !global, tensor<?x6xi32>) -> (tensor<?x3072xf32>, !window)
  return %0#0 : tensor<?x3072xf32>
}
// CHECK: func.func private @csa2_1x48_f32
// CHECK: dsflash.state_data payload {{.*}} -> memref<39x64xf32>
// CHECK: dsflash.state_data payload {{.*}} -> memref<128x32xi8>
// CHECK: dsflash.state_data scale {{.*}} -> memref<128x4xi8>
// CHECK: scf.for %[[ITEM:.*]] = %{{.*}} to %[[END:.*]] step %c4
// CHECK: %[[LEFT:.*]] = arith.subi %[[END]], %[[ITEM]]
// CHECK: arith.minsi %[[LEFT]], %c4
// CHECK: call @attention.32x64.f32.e2m1.1x16(
// CHECK: func.func private @attention.32x64.f32.e2m1.1x16(
// CHECK: memref.alloca() {{.*}} : memref<32x16xf32>

// -----

!window = !dsflash.window<layers = 3, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
!global = !dsflash.global_kv<rows = 128, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>
!sink = !dsflash.weight<[1, 4], <f32>>

// Behind rounding points, bf16 values are multiplied in pairs: of features,
// with the scores of all 8 + 6 keys in memory, then of keys, the first one in
// the low half of a word.
// CHECK-LABEL: func.func @pairs
func.func @pairs(%q: tensor<?x256xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index, %sink: !sink,
                 %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>,
                 %global: !global, %selection: tensor<?x6xi32>) -> tensor<?x256xf32> {
  %query = dsflash.round %q {point = "q"} : tensor<?x256xf32>
  %rows = dsflash.round %kv {point = "kv"} : tensor<?x64xf32>
  %0:2 = dsflash.csa2 <full> %query, %rows window %window[%layer] sink %sink
    rows(%sequence, %position, %extents) global %global selection %selection
    {heads = 4 : i64, sliding_window = 8 : i64, round_probabilities}
    : (tensor<?x256xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>,
       !global, tensor<?x6xi32>) -> (tensor<?x256xf32>, !window)
  return %0#0 : tensor<?x256xf32>
}
// CHECK: func.func private @attention_pairs.14.4x64.e4m3.1x32.e2m1.1x16(
// CHECK-DAG: memref.alloca() {{.*}} : memref<4x16xf32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<4x16xbf16>
// CHECK: dsflash.dot_bf16 {{.*}} : vector<32xbf16>, vector<16xf32>
// CHECK: %[[P:.*]] = math.exp
// CHECK: %[[BITS:.*]] = arith.select
// CHECK: %[[ROUNDED:.*]] = vector.bitcast %[[BITS]]
// CHECK: dsflash.narrow_bf16 %[[ROUNDED]]
// CHECK: arith.addf %{{.*}}, %[[P]]
// CHECK: %[[SIXTEEN:.*]] = arith.constant dense<16> : vector<16xi32>
// CHECK: %[[FIRST:.*]] = arith.shrui %{{.*}}, %[[SIXTEEN]]
// CHECK: %[[BOTH:.*]] = arith.ori %[[FIRST]]
// CHECK: vector.bitcast %[[BOTH]] : vector<16xi32> to vector<32xbf16>
// CHECK: dsflash.dot_bf16 {{.*}} : vector<32xbf16>, vector<16xf32>

// -----

!pending = !dsflash.pending<slots = 7, dim = 64>

// CHECK-LABEL: func.func @compress
func.func @compress(%kv: tensor<?x64xf32>, %gate: tensor<?x64xf32>, %pending: !pending, %sequence: tensor<?xi32>,
                    %position: tensor<?xi32>, %extents: tensor<?x2xi32>) -> tensor<?x64xf32> {
  // CHECK: %[[LATENT:.*]] = dsflash.dispatch @compress_64
  // CHECK: dsflash.dispatch @keep_pending_64{{.*}} {writes_state}
  // CHECK: return %[[LATENT]]
  %0:2 = dsflash.compress %kv, %gate pending %pending rows(%sequence, %position, %extents) {ratio = 2 : i64}
    : (tensor<?x64xf32>, tensor<?x64xf32>, !pending, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x64xf32>, !pending)
  return %0#0 : tensor<?x64xf32>
}
// CHECK: func.func private @compress_64
// CHECK: dsflash.state_data payload {{.*}} -> memref<7x128xf32>

// -----

!keys = !dsflash.index_keys<rows = 128, dim = 64, ratio = 2, <e2m1, e8m0, [1, 32]>>

// CHECK-LABEL: func.func @append
// CHECK-SAME: %[[KEYS:[^:]*]]: !dsflash.index_keys
func.func @append(%keys: !keys, %x: tensor<?x64xf32>, %sequence: tensor<?xi32>, %position: tensor<?xi32>)
    -> (tensor<?x64xf32>, !keys) {
  // CHECK: dsflash.dispatch @append_64 {{.*}} {writes_state}
  // CHECK: %[[Y:.*]] = dsflash.dispatch @load_64 {{.*}} ins(%[[KEYS]],
  // CHECK: return %[[Y]], %[[KEYS]]
  %0 = dsflash.append %x to %keys rows(%sequence, %position)
    : (tensor<?x64xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> !keys
  %1 = dsflash.load %0 rows(%sequence, %position) : (!keys, tensor<?xi32>, tensor<?xi32>) -> tensor<?x64xf32>
  return %1, %0 : tensor<?x64xf32>, !keys
}
