// RUN: dsflash-opt %s --dsflash-export-function=function=layer -split-input-file | FileCheck %s

!gain = !dsflash.weight<[1, 64], <bf16>>
!w = !dsflash.weight<[4, 48, 64], <e2m1, e8m0, [1, 32]>>

// What the function does not reach goes. Callers lend names and dims where they agree; the number of a layer becomes a
// column, a weight a parameter.
// CHECK-DAG: dsflash.param @arg4 "arg4" : !dsflash.weight<[1, 64], <bf16>>
// CHECK-DAG: dsflash.param @"w1.{e}" "w1.{e}" scale "w1.{e}.scale" : !dsflash.weight<[4, 48, 64]
// CHECK-DAG: dsflash.param @used "used.{l}"
// CHECK-NOT: @unused
// CHECK-NOT: @forward
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[L:[a-z0-9]+]]: tensor<?xi32> {dsflash.dim = "sequences", dsflash.name = "arg0"}
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf32> {dsflash.dim = "rows", dsflash.name = "arg1"}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<?x2xi32> {dsflash.dim = "sequences", dsflash.name = "extents"}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<?x2xi32> {dsflash.dim = "rows", dsflash.name = "ids"}
// CHECK-SAME: -> (tensor<?x64xf32> {dsflash.access = "write", dsflash.dim = "rows", dsflash.name = "result0"},
// CHECK-SAME: tensor<?x2x48xf32> {dsflash.access = "write", dsflash.dim = "outputs", dsflash.name = "y"})
// CHECK: %[[FIRST:.*]] = tensor.extract %[[L]]
// CHECK: %[[I:.*]] = arith.index_cast %[[FIRST]] : i32 to index
// CHECK-DAG: dsflash.param_ref @used[%[[I]]]
// CHECK-DAG: %[[GAIN:.*]] = dsflash.param_ref @arg4
// CHECK-DAG: %[[W:.*]] = dsflash.param_ref @"w1.{e}"
// CHECK: dsflash.rms_norm %{{.*}}, %[[GAIN]]
// CHECK: call @shared
// CHECK: dsflash.expert_linear %{{.*}}, %[[W]]
// CHECK: func.func private @shared
dsflash.param @used "used.{l}" layers [0, 1] : !gain
dsflash.param @unused "unused" : !gain
func.func @forward(%x: tensor<?x64xf32> {dsflash.name = "x", dsflash.dim = "rows"},
    %z: tensor<?x64xf32> {dsflash.name = "z", dsflash.dim = "rows"},
    %extents: tensor<?x2xi32> {dsflash.name = "extents", dsflash.dim = "sequences"},
    %ids: tensor<?x2xi32> {dsflash.name = "ids"}, %g: !gain, %w: !w) {
  %c0 = arith.constant 0 : index
  %0:2 = call @layer(%c0, %x, %extents, %ids, %g, %w)
    : (index, tensor<?x64xf32>, tensor<?x2xi32>, tensor<?x2xi32>, !gain, !w) -> (tensor<?x64xf32>, tensor<?x2x48xf32>)
  %1:2 = call @layer(%c0, %z, %extents, %ids, %g, %w)
    : (index, tensor<?x64xf32>, tensor<?x2xi32>, tensor<?x2xi32>, !gain, !w) -> (tensor<?x64xf32>, tensor<?x2x48xf32>)
  return
}
func.func private @layer(%layer: index, %x: tensor<?x64xf32>, %extents: tensor<?x2xi32>, %ids: tensor<?x2xi32>, %g: !gain,
    %w: !w {dsflash.name = "w1"})
    -> (tensor<?x64xf32>, tensor<?x2x48xf32> {dsflash.name = "y", dsflash.dim = "outputs"}) {
  %used = dsflash.param_ref @used[%layer] : <[1, 64], <bf16>>
  %0 = dsflash.rms_norm %x, %used {eps = 1.0e-20 : f32} : (tensor<?x64xf32>, !gain) -> tensor<?x64xf32>
  %1 = dsflash.rms_norm %0, %g {eps = 1.0e-20 : f32} : (tensor<?x64xf32>, !gain) -> tensor<?x64xf32>
  %2 = call @shared(%1) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %order, %offsets = dsflash.group_by_expert %ids : (tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<5xi32>)
  %y = dsflash.expert_linear %2, %w order %order, %offsets
    : (tensor<?x64xf32>, !w, tensor<?x2xi32>, tensor<5xi32>) -> tensor<?x2x48xf32>
  return %2, %y : tensor<?x64xf32>, tensor<?x2x48xf32>
}
func.func @shared(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = dsflash.scale %x {factor = 2.0 : f32} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// Buffers, of which the workspace is not an argument with a name.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[L:[a-z0-9]+]]: memref<?xi32> {dsflash.dim = "sequences", dsflash.name = "arg0"}
// CHECK-SAME: %{{[a-z0-9]+}}: memref<?x64xf32> {dsflash.dim = "rows", dsflash.name = "arg1"}
// CHECK-SAME: %{{[a-z0-9]+}}: memref<?xi8> {dsflash.workspace})
// CHECK: memref.load %[[L]]
// CHECK: dsflash.dispatch @kernel
// CHECK: func.func private @kernel
func.func private @layer(%layer: index, %x: memref<?x64xf32>, %workspace: memref<?xi8> {dsflash.workspace}) {
  dsflash.dispatch @kernel grid(%layer) outs(%x : memref<?x64xf32>)
  return
}
func.func private @kernel(%begin: index, %end: index, %x: memref<?x64xf32>) attributes {dsflash.kernel} {
  return
}
