// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

!window = !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>, positions>

// CHECK-LABEL: func.func @nan(
// CHECK-NEXT: dsflash.check_nan "layers.{l}.attn.wq_a"[%{{.*}}] %{{.*}} at %{{.*}} : (tensor<?x64xf32>, tensor<?xi32>, index) -> ()
// CHECK-NEXT: dsflash.check_nan "head" %{{.*}} at %{{.*}} of %{{.*}} : (tensor<?x64xf32>, tensor<?xi32>, tensor<?xi32>) -> ()
// CHECK-NEXT: dsflash.check_nan "markov" %{{.*}} : (tensor<?x64xf32>) -> ()
func.func @nan(%layer: index, %x: tensor<?x64xf32>, %position: tensor<?xi32>, %outputs: tensor<?xi32>) {
  dsflash.check_nan "layers.{l}.attn.wq_a"[%layer] %x at %position : (tensor<?x64xf32>, tensor<?xi32>, index) -> ()
  dsflash.check_nan "head" %x at %position of %outputs : (tensor<?x64xf32>, tensor<?xi32>, tensor<?xi32>) -> ()
  dsflash.check_nan "markov" %x : (tensor<?x64xf32>) -> ()
  return
}

// CHECK-LABEL: func.func @ids(
// CHECK-NEXT: dsflash.check_ids <row> "layers.{l}.attn.csa2"[%{{.*}}] %{{.*}} below %{{.*}} at %{{.*}} {optional, positions_per_row = 2 : i64} : (tensor<?x16xi32>, index, tensor<?xi32>, index) -> tensor<?x16xi32>
// CHECK-NEXT: dsflash.check_ids <expert> "experts" %{{.*}} below %{{.*}} : (tensor<?x16xi32>, index) -> tensor<?x16xi32>
func.func @ids(%layer: index, %ids: tensor<?x16xi32>, %limit: index, %position: tensor<?xi32>) -> tensor<?x16xi32> {
  %0 = dsflash.check_ids <row> "layers.{l}.attn.csa2"[%layer] %ids below %limit at %position {optional, positions_per_row = 2 : i64}
    : (tensor<?x16xi32>, index, tensor<?xi32>, index) -> tensor<?x16xi32>
  %1 = dsflash.check_ids <expert> "experts" %0 below %limit : (tensor<?x16xi32>, index) -> tensor<?x16xi32>
  return %1 : tensor<?x16xi32>
}

// CHECK-LABEL: func.func @window(
// CHECK-NEXT: dsflash.check_window "layers.{l}.attn.csa2"[%{{.*}}] %{{.*}}[%{{.*}}] rows(%{{.*}}, %{{.*}}, %{{.*}}) {count = 7 : i64} : (!dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>, positions>, index,
func.func @window(%layer: index, %window: !window, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) -> !window {
  %0 = dsflash.check_window "layers.{l}.attn.csa2"[%layer] %window[%layer] rows(%ids, %ids, %extents) {count = 7 : i64}
    : (!window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, index) -> !window
  return %0 : !window
}

// CHECK-LABEL: func.func @kernel(
// CHECK-NEXT: dsflash.state_data position %{{.*}}[%{{.*}}] : {{.*}} -> memref<130xi32>
// CHECK-NEXT: dsflash.report <slot> "layers.{l}.attn.csa2"[%{{.*}}] position %{{.*}} found %{{.*}} expected %{{.*}} slot %{{.*}}
// CHECK-NEXT: dsflash.report <nan> "head" position %{{.*}} found %{{.*}} expected %{{.*}} slot %{{.*}} call(%{{.*}})
func.func @kernel(%call: !llvm.ptr, %layer: index, %i: index, %window: !window) {
  %0 = dsflash.state_data position %window[%i] : !window -> memref<130xi32>
  dsflash.report <slot> "layers.{l}.attn.csa2"[%layer] position %i found %i expected %i slot %i
  dsflash.report <nan> "head" position %i found %i expected %i slot %i call(%call)
  return
}
