// RUN: dsflash-opt %s --dsflash-fuse-rounding | FileCheck %s

!matrix = !dsflash.weight<[16, 64], <bf16>>

// CHECK-LABEL: func @fused
// CHECK: %[[Y:.*]] = dsflash.linear %{{.*}} {rounded}
// CHECK-NEXT: return %[[Y]]
func.func @fused(%x: tensor<?x64xf32>, %w: !matrix) -> tensor<?x16xf32> {
  %0 = dsflash.linear %x, %w : (tensor<?x64xf32>, !matrix) -> tensor<?x16xf32>
  %1 = dsflash.round %0 {point = "attn.q"} : tensor<?x16xf32>
  return %1 : tensor<?x16xf32>
}

// CHECK-LABEL: func @unrounded_value_has_another_use
// CHECK: %[[X:.*]] = dsflash.linear
// CHECK-NOT: rounded
// CHECK: %[[Y:.*]] = dsflash.round %[[X]]
// CHECK: return %[[X]], %[[Y]]
func.func @unrounded_value_has_another_use(%x: tensor<?x64xf32>, %w: !matrix) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %0 = dsflash.linear %x, %w : (tensor<?x64xf32>, !matrix) -> tensor<?x16xf32>
  %1 = dsflash.round %0 {point = "attn.q"} : tensor<?x16xf32>
  return %0, %1 : tensor<?x16xf32>, tensor<?x16xf32>
}

// CHECK-LABEL: func @producer_cannot_round
// CHECK: dsflash.scale
// CHECK: dsflash.round
func.func @producer_cannot_round(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = dsflash.scale %x {factor = 2.0 : f32} : tensor<?x64xf32>
  %1 = dsflash.round %0 {point = "indexer.weights"} : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// CHECK-LABEL: func @argument
// CHECK: dsflash.round
func.func @argument(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = dsflash.round %x {point = "attn.x"} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
