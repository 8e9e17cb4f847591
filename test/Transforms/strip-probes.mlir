// RUN: dsflash-opt %s --dsflash-strip-probes | FileCheck %s

!kv = !dsflash.global_kv<rows = 64, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>

// CHECK-LABEL: func @probes
// CHECK-SAME: %{{.*}}: index, %[[X:.*]]: tensor<?x64xf32>
// CHECK-NEXT: return %[[X]]
func.func @probes(%layer: index, %x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = dsflash.probe "layers.{l}.attn.out"[%layer] %x : tensor<?x64xf32>
  %1 = dsflash.probe "head.stream" %0 : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// CHECK-LABEL: func @load_for_a_probe
// CHECK-NEXT: return
func.func @load_for_a_probe(%layer: index, %kv: !kv, %sequence: tensor<?xi32>, %position: tensor<?xi32>) {
  %0 = dsflash.load %kv rows(%sequence, %position) : (!kv, tensor<?xi32>, tensor<?xi32>) -> tensor<?x64xf32>
  %1 = dsflash.probe "layers.{l}.attn.kv"[%layer] %0 {positions_per_row = 2 : i64} : tensor<?x64xf32>
  return
}

// CHECK-LABEL: func @load_with_another_use
// CHECK-NEXT: %[[ROWS:.*]] = dsflash.load
// CHECK-NEXT: return %[[ROWS]]
func.func @load_with_another_use(%kv: !kv, %sequence: tensor<?xi32>, %position: tensor<?xi32>) -> tensor<?x64xf32> {
  %0 = dsflash.load %kv rows(%sequence, %position) : (!kv, tensor<?xi32>, tensor<?xi32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
