// RUN: dsflash-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s

!window = !dsflash.window<layers = 2, slots = 13, dim = 64, <f32>>

// Launches and probes work in place; states are left alone.
// CHECK-LABEL: func @in_place
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x64xf32>, %[[W:[a-z0-9]+]]: !dsflash.window{{.*}}, %[[OUT:[a-z0-9]+]]: memref<?x8xi32>
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: dsflash.dispatch @select grid(%{{.*}}) ins(%[[X]], %[[W]] : memref<?x64xf32>, !dsflash.window{{.*}}) outs(%[[OUT]] : memref<?x8xi32>) {writes_state}
// CHECK-NEXT: dsflash.probe "layers.{l}.attn.selected"[%{{.*}}] %[[OUT]] {positions_per_row = 2 : i64} : memref<?x8xi32>
// CHECK-NEXT: return %[[OUT]], %[[W]]
func.func @in_place(%x: tensor<?x64xf32>, %w: !window, %out: tensor<?x8xi32>, %layer: index) -> (tensor<?x8xi32>, !window) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %0 = dsflash.dispatch @select grid(%n) ins(%x, %w : tensor<?x64xf32>, !window) outs(%out : tensor<?x8xi32>) {writes_state} -> tensor<?x8xi32>
  %1 = dsflash.probe "layers.{l}.attn.selected"[%layer] %0 {positions_per_row = 2 : i64} : tensor<?x8xi32>
  return %1, %w : tensor<?x8xi32>, !window
}

// A value that is read after its buffer was written elsewhere needs a copy.
// CHECK-LABEL: func @old_value_is_read
// CHECK: memref.alloc
// CHECK: memref.copy
func.func @old_value_is_read(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %0 = dsflash.dispatch @add grid(%n) ins(%y : tensor<?x64xf32>) outs(%x : tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = dsflash.dispatch @add grid(%n) ins(%x : tensor<?x64xf32>) outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// What a probe writes is seen by the users of its result alone.
// CHECK-LABEL: func @probed_value_is_read
// CHECK: %[[COPY:.*]] = memref.alloc
// CHECK: dsflash.probe "a" %[[COPY]]
func.func @probed_value_is_read(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %0 = dsflash.probe "a" %x : tensor<?x64xf32>
  %1 = dsflash.dispatch @add grid(%n) ins(%x : tensor<?x64xf32>) outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// Integers are only observed: layers share a selection, and none has a copy.
// CHECK-LABEL: func @shared_selection
// CHECK-SAME: %[[S:[a-z0-9]+]]: memref<?x8xi32>
// CHECK-NOT: memref.copy
// CHECK: dsflash.probe "a" %[[S]]
// CHECK-NOT: memref.copy
// CHECK: dsflash.dispatch @use grid(%{{.*}}) ins(%[[S]]
// CHECK-NOT: memref.copy
// CHECK: dsflash.dispatch @use grid(%{{.*}}) ins(%[[S]]
func.func @shared_selection(%s: tensor<?x8xi32>, %x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %0 = dsflash.probe "a" %s : tensor<?x8xi32>
  %1 = dsflash.dispatch @use grid(%n) ins(%0 : tensor<?x8xi32>) outs(%x : tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = dsflash.dispatch @use grid(%n) ins(%s : tensor<?x8xi32>) outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>
}

func.func private @select(index, index, memref<?x64xf32>, !window, memref<?x8xi32>) attributes {dsflash.kernel}
func.func private @add(index, index, memref<?x64xf32>, memref<?x64xf32>) attributes {dsflash.kernel}
func.func private @use(index, index, memref<?x8xi32>, memref<?x64xf32>) attributes {dsflash.kernel}
