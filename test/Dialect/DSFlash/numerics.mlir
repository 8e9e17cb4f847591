// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @round(
// CHECK: dsflash.round %{{.*}} {point = "attn.q"} : tensor<?x64xf32>
func.func @round(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = dsflash.round %x {point = "attn.q"} : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @round_choices(
// CHECK: dsflash.round %{{.*}} {point = "experts.w1"} : tensor<?x2x32xf32>
func.func @round_choices(%x: tensor<?x2x32xf32>) -> tensor<?x2x32xf32> {
  %y = dsflash.round %x {point = "experts.w1"} : tensor<?x2x32xf32>
  return %y : tensor<?x2x32xf32>
}

// CHECK-LABEL: func.func @quantize(
// CHECK: dsflash.quantize %{{.*}} {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "attn.x"} : tensor<?x64xf32>
func.func @quantize(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "attn.x"}
    : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @quantize_query(
// CHECK: format = #dsflash.format<e2m1, e8m0, [1, 32]>
func.func @quantize_query(%x: tensor<?x128xf32>) -> tensor<?x128xf32> {
  %y = dsflash.quantize %x {format = #dsflash.format<e2m1, e8m0, [1, 32]>, point = "indexer.q"}
    : tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}

// CHECK-LABEL: func.func @scale(
// CHECK: dsflash.scale %{{.*}} {factor = 1.250000e-01 : f32} : tensor<?x4xf32>
func.func @scale(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = dsflash.scale %x {factor = 0.125 : f32} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @rms_norm(
// CHECK: dsflash.rms_norm %{{.*}}, %{{.*}} {eps = {{.*}} : f32} : (tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x64xf32>
func.func @rms_norm(%x: tensor<?x64xf32>, %w: !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x64xf32> {
  %y = dsflash.rms_norm %x, %w {eps = 1.000000e-20 : f32}
    : (tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @linear(
// CHECK: dsflash.linear %{{.*}}, %{{.*}} : (tensor<?x64xf32>, !dsflash.weight<[32, 64], <e4m3, e8m0, [32, 32]>>) -> tensor<?x32xf32>
func.func @linear(%x: tensor<?x64xf32>, %w: !dsflash.weight<[32, 64], <e4m3, e8m0, [32, 32]>>)
    -> tensor<?x32xf32> {
  %y = dsflash.linear %x, %w
    : (tensor<?x64xf32>, !dsflash.weight<[32, 64], <e4m3, e8m0, [32, 32]>>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// CHECK-LABEL: func.func @linear_rounded(
// CHECK: dsflash.linear %{{.*}}, %{{.*}} {rounded} :
func.func @linear_rounded(%x: tensor<?x64xf32>, %w: !dsflash.weight<[32, 64], <f32>>) -> tensor<?x32xf32> {
  %y = dsflash.linear %x, %w {rounded}
    : (tensor<?x64xf32>, !dsflash.weight<[32, 64], <f32>>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// CHECK-LABEL: func.func @project(
// CHECK: dsflash.project %{{.*}}, %{{.*}} : (tensor<?x64xf32>, !dsflash.weight<[16, 64], <bf16>>) -> tensor<?x16xf32>
func.func @project(%x: tensor<?x64xf32>, %w: !dsflash.weight<[16, 64], <bf16>>) -> tensor<?x16xf32> {
  %latent = dsflash.project %x, %w
    : (tensor<?x64xf32>, !dsflash.weight<[16, 64], <bf16>>) -> tensor<?x16xf32>
  return %latent : tensor<?x16xf32>
}

// CHECK-LABEL: func.func @grouped_linear(
// CHECK: dsflash.grouped_linear %{{.*}}, %{{.*}} {groups = 2 : i64} : (tensor<?x128xf32>,
func.func @grouped_linear(%x: tensor<?x128xf32>, %w: !dsflash.weight<[32, 64], <e4m3, e8m0, [32, 32]>>)
    -> tensor<?x32xf32> {
  %y = dsflash.grouped_linear %x, %w {groups = 2 : i64}
    : (tensor<?x128xf32>, !dsflash.weight<[32, 64], <e4m3, e8m0, [32, 32]>>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
