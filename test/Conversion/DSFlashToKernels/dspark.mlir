// RUN: dsflash-opt %s -convert-dsflash-to-kernels -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @insert
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x32xf32>, %[[F:[^:]*]]: tensor<?x96xf32>
func.func @insert(%x: tensor<?x32xf32>, %features: tensor<?x96xf32>) -> tensor<?x96xf32> {
  // CHECK: dsflash.dispatch @insert_feature_96 grid({{.*}}) ins(%[[X]] : {{.*}}) outs(%[[F]] :
  %0 = dsflash.insert_feature %x into %features {slot = 2 : i64}
    : (tensor<?x32xf32>, tensor<?x96xf32>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
// CHECK: func.func private @insert_feature_96
// CHECK: arith.constant 64 : index

// -----

// CHECK-LABEL: func.func @tokens
func.func @tokens(%last: tensor<?xi32>, %sequence: tensor<?xi32>, %extents: tensor<?x2xi32>) -> tensor<?xi32> {
  // CHECK: dsflash.dispatch @draft_tokens
  %0 = dsflash.draft_tokens %last rows(%sequence, %extents) {noise = 259 : i64}
    : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}
// CHECK: func.func private @draft_tokens
// CHECK: arith.constant 259 : i32

// -----

!window = !dsflash.window<layers = 3, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
!sink = !dsflash.weight<[1, 4], <f32>>

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x256xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index, %sink: !sink,
                     %sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>)
    -> tensor<?x256xf32> {
  // CHECK: dsflash.dispatch @draft_attention_1x4_f32
  // CHECK-NOT: writes_state
  // CHECK: return
  %0 = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink
    rows(%sequence, %position, %extents) {heads = 4 : i64, sliding_window = 8 : i64}
    : (tensor<?x256xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}

// -----

!window = !dsflash.window<layers = 3, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>

// CHECK-LABEL: func.func @context
// CHECK-SAME: %{{[^:]*}}: tensor<?x64xf32>, %[[WINDOW:[^:]*]]: !dsflash.window
func.func @context(%kv: tensor<?x64xf32>, %window: !window, %layer: index, %sequence: tensor<?xi32>,
                   %position: tensor<?xi32>, %extents: tensor<?x2xi32>) -> !window {
  // CHECK: dsflash.dispatch @append_window{{.*}} {writes_state}
  // CHECK: return %[[WINDOW]]
  %0 = dsflash.append_window %kv to %window[%layer] rows(%sequence, %position, %extents)
    : (tensor<?x64xf32>, !window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !window
  return %0 : !window
}

// -----

!weight = !dsflash.weight<[1, 48], <bf16>>

// As many items as drafted rows; the result has one element for each row.
// CHECK-LABEL: func.func @confidence
// CHECK-SAME: %[[HIDDEN:[^:]*]]: tensor<?x32xf32>, %{{[^:]*}}: tensor<?x16xf32>, %{{[^:]*}}: !dsflash.weight{{.*}}, %[[ROWS:[^:]*]]: tensor<?xi32>
func.func @confidence(%hidden: tensor<?x32xf32>, %embed: tensor<?x16xf32>, %weight: !weight, %rows: tensor<?xi32>)
    -> tensor<?xf32> {
  // CHECK-DAG: %[[N:.*]] = tensor.dim %[[HIDDEN]]
  // CHECK-DAG: %[[M:.*]] = tensor.dim %[[ROWS]]
  // CHECK-DAG: %[[INIT:.*]] = tensor.empty(%[[N]]) : tensor<?xf32>
  // CHECK: dsflash.dispatch @confidence_1x48_bf16 grid(%[[M]]) ins({{.*}}) outs(%[[INIT]] :
  %0 = dsflash.confidence %hidden, %embed, %weight, %rows
    : (tensor<?x32xf32>, tensor<?x16xf32>, !weight, tensor<?xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
