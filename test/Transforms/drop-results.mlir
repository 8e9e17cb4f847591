// RUN: dsflash-opt %s --dsflash-drop-results | FileCheck %s

!window = !dsflash.window<layers = 2, slots = 13, dim = 64, <f32>>

// CHECK-LABEL: func @forward
// CHECK-SAME: (%[[H:[a-z0-9]+]]: memref<?x64xf32>, %[[W:[a-z0-9]+]]: !dsflash.window<{{.*}}>>, %[[S:[a-z0-9]+]]: memref<?x8xi32>) {
// CHECK-NEXT: call @layer(%[[W]], %[[H]], %[[S]]) {{.*}} -> ()
// CHECK-NEXT: call @layer(%[[W]], %[[H]], %[[S]]) {{.*}} -> ()
// CHECK-NEXT: return{{$}}
func.func @forward(%h: memref<?x64xf32>, %w: !window, %s: memref<?x8xi32>)
    -> (memref<?x8xi32> {dsflash.name = "selected"}, !window {dsflash.name = "window"}) {
  %0:3 = call @layer(%w, %h, %s) : (!window, memref<?x64xf32>, memref<?x8xi32>) -> (memref<?x64xf32>, memref<?x8xi32>, !window)
  %1:3 = call @layer(%0#2, %0#0, %0#1) : (!window, memref<?x64xf32>, memref<?x8xi32>) -> (memref<?x64xf32>, memref<?x8xi32>, !window)
  return %1#1, %1#2 : memref<?x8xi32>, !window
}

// CHECK-LABEL: func private @layer
// CHECK-SAME: memref<?x8xi32>) {
// CHECK-NEXT: return{{$}}
func.func private @layer(%w: !window, %h: memref<?x64xf32>, %s: memref<?x8xi32>) -> (memref<?x64xf32>, memref<?x8xi32>, !window) {
  return %h, %s, %w : memref<?x64xf32>, memref<?x8xi32>, !window
}
