// RUN: dsflash-opt %s --dsflash-thread-call | FileCheck %s

dsflash.param @w "layers.{l}.w" layers [0, 1] : !dsflash.weight<[1, 4], <bf16>>

func.func private @other(f32) -> f32

// CHECK-LABEL: func.func private @kernel
// CHECK-SAME:  (%[[CALL:.*]]: !llvm.ptr, %{{.*}}: index, %{{.*}}: index,
// CHECK:       dsflash.weight_data payload %{{.*}} call(%[[CALL]])
// CHECK:       dsflash.state_data payload %{{.*}}[%{{.*}}] call(%[[CALL]])
// CHECK:       call @other(%{{.*}}) : (f32) -> f32
func.func private @kernel(%begin: index, %end: index, %w: !dsflash.weight<[1, 4], <bf16>>, %s: !dsflash.pending<slots = 2, dim = 4>, %y: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %p = dsflash.weight_data payload %w : !dsflash.weight<[1, 4], <bf16>> -> memref<1x4xbf16>
  %q = dsflash.state_data payload %s[%c0] : !dsflash.pending<slots = 2, dim = 4> -> memref<2x8xf32>
  %r = call @other(%one) : (f32) -> f32
  return
}

// CHECK-LABEL: func.func private @layer
// CHECK-SAME:  (%[[CALL:.*]]: !llvm.ptr, %{{.*}}: index,
// CHECK:       dsflash.dispatch @kernel call(%[[CALL]]) grid
func.func private @layer(%layer: index, %s: !dsflash.pending<slots = 2, dim = 4>, %y: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?x4xf32>
  %w = dsflash.param_ref @w[%layer] : !dsflash.weight<[1, 4], <bf16>>
  dsflash.dispatch @kernel grid(%n) ins(%w, %s : !dsflash.weight<[1, 4], <bf16>>, !dsflash.pending<slots = 2, dim = 4>) outs(%y : memref<?x4xf32>)
  return
}

// The attributes of arguments move along.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:  (%[[CALL:.*]]: !llvm.ptr, %{{.*}}: !dsflash.pending<slots = 2, dim = 4> {dsflash.name = "pending"}
// CHECK:       call @layer(%[[CALL]], %{{.*}}) : (!llvm.ptr, index,
func.func @forward(%s: !dsflash.pending<slots = 2, dim = 4> {dsflash.name = "pending"}, %y: memref<?x4xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c1 = arith.constant 1 : index
  call @layer(%c1, %s, %y) : (index, !dsflash.pending<slots = 2, dim = 4>, memref<?x4xf32>) -> ()
  return
}
