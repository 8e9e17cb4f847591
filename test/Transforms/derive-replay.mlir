// RUN: dsflash-opt %s --dsflash-derive-replay -split-input-file | FileCheck %s

!kv = !dsflash.global_kv<rows = 64, dim = 64, ratio = 1, <f32>>
!sink = !dsflash.weight<[1, 1], <f32>>
!window = !dsflash.window<layers = 1, slots = 8, dim = 64, <f32>, positions>

// The entry stays as it is.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %{{.*}}: tensor<?xi32> {dsflash.dim = "outputs", dsflash.name = "outputs"}
// CHECK: call @embed
// CHECK: call @layer
// CHECK: dsflash.gather_rows

// The replay has neither outputs nor logits.
// CHECK-LABEL: func.func @replay(
// CHECK-NOT: dsflash.dim = "outputs"
// CHECK: call @embed
// CHECK: %[[LAYER:.*]]:3 = call @replay_layer
// CHECK-NOT: gather_rows
// CHECK: return %[[LAYER]]#1, %[[LAYER]]#2 : !dsflash.window
func.func @forward(%x: tensor<?x64xf32> {dsflash.name = "x", dsflash.dim = "rows"},
                   %s: tensor<?xi32> {dsflash.name = "sequence", dsflash.dim = "rows"},
                   %p: tensor<?xi32> {dsflash.name = "position", dsflash.dim = "rows"},
                   %e: tensor<?x2xi32> {dsflash.name = "extents", dsflash.dim = "sequences"},
                   %outputs: tensor<?xi32> {dsflash.name = "outputs", dsflash.dim = "outputs"},
                   %window: !window {dsflash.name = "window"}, %kv: !kv {dsflash.name = "kv"},
                   %selection: tensor<?x8xi32> {dsflash.name = "selection", dsflash.dim = "rows"}, %sink: !sink)
    -> (tensor<?x64xf32> {dsflash.name = "logits", dsflash.dim = "outputs"}, !window {dsflash.name = "window"},
        !kv {dsflash.name = "kv"}) {
  %0 = call @embed(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %1:3 = call @layer(%0, %s, %p, %e, %window, %kv, %selection, %sink)
    : (tensor<?x64xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !window, !kv, tensor<?x8xi32>, !sink)
    -> (tensor<?x64xf32>, !window, !kv)
  %2 = dsflash.gather_rows %1#0, %outputs : (tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x64xf32>
  return %2, %1#1, %1#2 : tensor<?x64xf32>, !window, !kv
}

// Nothing changes in it: one function for both.
// CHECK-LABEL: func.func private @embed
// CHECK-NOT: @replay_embed
func.func private @embed(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = dsflash.round %x {point = "x"} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func private @layer
// CHECK: dsflash.append
// CHECK: dsflash.check_window
// CHECK: dsflash.csa2
// CHECK-NOT: within_call
// CHECK: dsflash.probe

// CHECK-LABEL: func.func private @replay_layer
// CHECK-SAME: %[[KV:[a-z0-9]+]]: !dsflash.global_kv
// CHECK-NOT: dsflash.append
// CHECK-NOT: dsflash.check_window
// CHECK: %[[Y:.*]], %[[AFTER:.*]] = dsflash.csa2
// CHECK-SAME: global %[[KV]]
// CHECK-SAME: within_call
// CHECK-NOT: dsflash.probe
// CHECK: return %[[Y]], %[[AFTER]], %[[KV]]
func.func private @layer(%x: tensor<?x64xf32>, %s: tensor<?xi32>, %p: tensor<?xi32>, %e: tensor<?x2xi32>,
                         %window: !window, %kv: !kv, %selection: tensor<?x8xi32>, %sink: !sink)
    -> (tensor<?x64xf32>, !window, !kv) {
  %layer = arith.constant 0 : index
  %after = dsflash.append %x to %kv rows(%s, %p) : (tensor<?x64xf32>, !kv, tensor<?xi32>, tensor<?xi32>) -> !kv
  %checked = dsflash.check_window "csa2" %window[%layer] rows(%s, %p, %e) {count = 7 : i64}
    : (!window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !window
  %y, %ring = dsflash.csa2 <full> %x, %x window %checked[%layer] sink %sink rows(%s, %p, %e)
      global %after selection %selection {heads = 1 : i64, sliding_window = 8 : i64}
    : (tensor<?x64xf32>, tensor<?x64xf32>, !window, index, !sink, tensor<?xi32>,
       tensor<?xi32>, tensor<?x2xi32>, !kv, tensor<?x8xi32>) -> (tensor<?x64xf32>, !window)
  %0 = dsflash.probe "out" %y : tensor<?x64xf32>
  return %0, %ring, %after : tensor<?x64xf32>, !window, !kv
}

// -----

// Without the entry there is nothing to do.
// CHECK-LABEL: func.func @draft
// CHECK-NOT: @replay
func.func @draft(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func private @forward
// CHECK-NOT: @replay
func.func private @forward(%x: tensor<?x64xf32>)

// -----

// Derived once.
// CHECK-LABEL: func.func @forward
// CHECK-NOT: @replay_0
func.func @forward(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}
func.func @replay() {
  return
}
