// RUN: dsflash-opt %s -convert-dsflash-to-kernels -split-input-file | FileCheck %s

// A check of values has no result; it counts as a writer, so that it stays.
// CHECK-LABEL: func.func @nan(
// CHECK: dsflash.dispatch @check_nan_4x8 grid(%{{.*}}) ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4x8xf32>, tensor<?xi32>, index) {writes_state}
func.func @nan(%layer: index, %x: tensor<?x4x8xf32>, %position: tensor<?xi32>) {
  dsflash.check_nan "layers.{l}.attn.expand"[%layer] %x at %position : (tensor<?x4x8xf32>, tensor<?xi32>, index) -> ()
  return
}
// CHECK-LABEL: func.func private @check_nan_4x8(
// CHECK-SAME: %{{[^:]*}}: index, %{{[^:]*}}: index, %[[X:[^:]*]]: memref<?x4x8xf32>, %[[POSITIONS:[^:]*]]: memref<?xi32>, %[[LAYER:[^:]*]]: index)
// CHECK: %[[ROWS:.*]] = memref.collapse_shape %[[X]] {{\[}}[0], [1, 2]]
// CHECK: %[[V:.*]] = vector.load %[[ROWS]]
// CHECK: arith.cmpf uno, %[[V]], %[[V]]
// CHECK: scf.if
// CHECK: %[[I32:.*]] = memref.load %[[POSITIONS]]
// CHECK-NEXT: %[[POSITION:.*]] = arith.index_cast %[[I32]]
// CHECK: dsflash.report <nan> "layers.{l}.attn.expand"[%[[LAYER]]] position %[[POSITION]]

// -----

// Rows that were chosen are looked up; without positions there is none to say.
// CHECK-LABEL: func.func @outputs(
// CHECK: dsflash.dispatch @check_nan_8 grid
// CHECK: dsflash.dispatch @check_nan grid
func.func @outputs(%x: tensor<?x8xf32>, %y: tensor<?xf32>, %position: tensor<?xi32>, %outputs: tensor<?xi32>) {
  dsflash.check_nan "head" %x at %position of %outputs : (tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>) -> ()
  dsflash.check_nan "confidence" %y : (tensor<?xf32>) -> ()
  return
}
// CHECK-LABEL: func.func private @check_nan_8(
// CHECK-SAME: %[[POSITIONS:[^:]*]]: memref<?xi32>, %[[OUTPUTS:[^:]*]]: memref<?xi32>)
// CHECK: %[[OUTPUT:.*]] = memref.load %[[OUTPUTS]]
// CHECK-NEXT: %[[ROW:.*]] = arith.index_cast %[[OUTPUT]]
// CHECK: memref.load %[[POSITIONS]][%[[ROW]]]
// CHECK-LABEL: func.func private @check_nan(
// CHECK: %[[NONE:.*]] = arith.constant -1 : index
// CHECK: dsflash.report <nan> "confidence" position %[[NONE]]

// -----

// Ids outside of the range are replaced in what is passed on.
// CHECK-LABEL: func.func @ids(
// CHECK: %[[OUT:.*]] = dsflash.dispatch @check_ids_6 grid(%{{.*}}) ins({{.*}}) outs(%{{.*}} : tensor<?x6xi32>) -> tensor<?x6xi32>
// CHECK: return %[[OUT]]
func.func @ids(%layer: index, %ids: tensor<?x6xi32>, %limit: index, %position: tensor<?xi32>) -> tensor<?x6xi32> {
  %0 = dsflash.check_ids <row> "layers.{l}.attn.csa2"[%layer] %ids below %limit at %position {optional, positions_per_row = 2 : i64}
    : (tensor<?x6xi32>, index, tensor<?xi32>, index) -> tensor<?x6xi32>
  return %0 : tensor<?x6xi32>
}
// CHECK-LABEL: func.func private @check_ids_6(
// CHECK-SAME: %[[IDS:[^:]*]]: memref<?x6xi32>, %[[LIMIT:[^:]*]]: index, %[[POSITIONS:[^:]*]]: memref<?xi32>, %[[LAYER:[^:]*]]: index, %[[OUT:[^:]*]]: memref<?x6xi32>)
// CHECK: %[[REACH:.*]] = arith.divui
// CHECK: %[[BELOW:.*]] = arith.minsi %[[LIMIT]], %[[REACH]]
// CHECK: %[[ID:.*]] = memref.load %[[IDS]]
// CHECK: memref.store %[[ID]], %[[OUT]]
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi slt, %{{.*}}, %[[BELOW]]
// CHECK: %[[INSTEAD:.*]] = arith.constant -1 : i32
// CHECK: memref.store %[[INSTEAD]], %[[OUT]]
// CHECK: dsflash.report <row> "layers.{l}.attn.csa2"[%[[LAYER]]] position %{{.*}} found %{{.*}} expected %[[BELOW]]

// -----

!window = !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>, positions>

// The positions of slots, plus one, are written with the rows and compared
// before they are read.
// CHECK-LABEL: func.func @window(
// CHECK-SAME: %{{[^:]*}}: tensor<?x64xf32>, %[[LAYER:[^:]*]]: index, %[[WINDOW:[^:]*]]: !dsflash.window
// CHECK: dsflash.dispatch @check_window_2 grid(%{{.*}}) ins(%[[WINDOW]], %[[LAYER]], %{{.*}}) {writes_state}
// CHECK: dsflash.dispatch @append_window_64 grid(%{{.*}}) ins(%{{.*}}, %[[WINDOW]], {{.*}}) {writes_state}
func.func @window(%kv: tensor<?x64xf32>, %layer: index, %window: !window, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) -> !window {
  %0 = dsflash.check_window "layers.{l}.attn.csa2"[%layer] %window[%layer] rows(%ids, %ids, %extents) {count = 7 : i64}
    : (!window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, index) -> !window
  %1 = dsflash.append_window %kv to %0[%layer] rows(%ids, %ids, %extents)
    : (tensor<?x64xf32>, !window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !window
  return %1 : !window
}
// CHECK-LABEL: func.func private @check_window_2(
// CHECK: %[[HELD:.*]] = dsflash.state_data position
// CHECK: scf.for %[[POSITION:.*]] =
// CHECK: %[[SLOT:.*]] = memref.load %[[HELD]]
// CHECK: arith.cmpi ne, %{{.*}}, %[[POSITION]]
// CHECK: dsflash.report <slot>
// CHECK-LABEL: func.func private @append_window_64(
// CHECK: arith.remui
// CHECK-NEXT: %[[ROW:.*]] = arith.addi
// CHECK: vector.store %{{.*}}, %{{.*}}[%[[ROW]],
// CHECK: %[[HELD:.*]] = dsflash.state_data position
// CHECK: memref.store %{{.*}}, %[[HELD]][%[[ROW]]] : memref<16xi32>
