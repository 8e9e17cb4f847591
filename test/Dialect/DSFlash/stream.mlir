// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @embed(
// CHECK: dsflash.embed %{{.*}}, %{{.*}} : (tensor<?xi32>, !dsflash.weight<[512, 64], <bf16>>) -> tensor<?x64xf32>
func.func @embed(%ids: tensor<?xi32>, %table: !dsflash.weight<[512, 64], <bf16>>) -> tensor<?x64xf32> {
  %x = dsflash.embed %ids, %table
    : (tensor<?xi32>, !dsflash.weight<[512, 64], <bf16>>) -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @hc_init(
// CHECK: %[[STREAM:.*]], %[[PRE:.*]] = dsflash.hc_init %{{.*}} : (tensor<?x64xf32>) -> (tensor<?x4x64xf32>, tensor<?x4xf32>)
// CHECK: return %[[STREAM]], %[[PRE]]
func.func @hc_init(%x: tensor<?x64xf32>) -> (tensor<?x4x64xf32>, tensor<?x4xf32>) {
  %stream, %pre = dsflash.hc_init %x : (tensor<?x64xf32>) -> (tensor<?x4x64xf32>, tensor<?x4xf32>)
  return %stream, %pre : tensor<?x4x64xf32>, tensor<?x4xf32>
}

// CHECK-LABEL: func.func @hc_mix(
// CHECK: %[[PRE:.*]], %[[POST:.*]], %[[COMB:.*]] = dsflash.hc_mix
// CHECK-SAME: iterations = 20 : i64
// CHECK: return %[[PRE]], %[[POST]], %[[COMB]]
func.func @hc_mix(%stream: tensor<?x4x64xf32>, %fn: !dsflash.weight<[24, 256], <f32>>,
                  %base: !dsflash.weight<[1, 24], <f32>>, %scale: !dsflash.weight<[1, 3], <f32>>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>) {
  %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale
      {eps = 9.99999997E-7 : f32, iterations = 20 : i64, norm_eps = 1.000000e-20 : f32}
    : (tensor<?x4x64xf32>, !dsflash.weight<[24, 256], <f32>>, !dsflash.weight<[1, 24], <f32>>, !dsflash.weight<[1, 3], <f32>>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>)
  return %pre, %post, %comb : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>
}

// CHECK-LABEL: func.func @hc_collapse(
// CHECK: dsflash.hc_collapse %{{.*}}, %{{.*}} : (tensor<?x4x64xf32>, tensor<?x4xf32>) -> tensor<?x64xf32>
func.func @hc_collapse(%stream: tensor<?x4x64xf32>, %pre: tensor<?x4xf32>) -> tensor<?x64xf32> {
  %x = dsflash.hc_collapse %stream, %pre : (tensor<?x4x64xf32>, tensor<?x4xf32>) -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @hc_expand(
// CHECK: dsflash.hc_expand %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x64xf32>, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>) -> tensor<?x4x64xf32>
func.func @hc_expand(%x: tensor<?x64xf32>, %stream: tensor<?x4x64xf32>,
                     %post: tensor<?x4xf32>, %comb: tensor<?x4x4xf32>) -> tensor<?x4x64xf32> {
  %next = dsflash.hc_expand %x, %stream, %post, %comb
    : (tensor<?x64xf32>, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>) -> tensor<?x4x64xf32>
  return %next : tensor<?x4x64xf32>
}

// CHECK-LABEL: func.func @stream_mean(
// CHECK: dsflash.stream_mean %{{.*}} : (tensor<?x4x64xf32>) -> tensor<?x64xf32>
func.func @stream_mean(%stream: tensor<?x4x64xf32>) -> tensor<?x64xf32> {
  %mean = dsflash.stream_mean %stream : (tensor<?x4x64xf32>) -> tensor<?x64xf32>
  return %mean : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @gather_rows(
// CHECK: dsflash.gather_rows %{{.*}}, %{{.*}} : (tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x64xf32>
func.func @gather_rows(%x: tensor<?x64xf32>, %rows: tensor<?xi32>) -> tensor<?x64xf32> {
  %y = dsflash.gather_rows %x, %rows : (tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @add_rows(
// CHECK: dsflash.add_rows %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x512xf32>, tensor<?x512xf32>, tensor<?xi32>) -> tensor<?x512xf32>
func.func @add_rows(%x: tensor<?x512xf32>, %into: tensor<?x512xf32>, %rows: tensor<?xi32>) -> tensor<?x512xf32> {
  %y = dsflash.add_rows %x, %into, %rows
    : (tensor<?x512xf32>, tensor<?x512xf32>, tensor<?xi32>) -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}

// CHECK-LABEL: func.func @last_rows(
// CHECK: dsflash.last_rows %{{.*}}, %{{.*}}, %{{.*}} wanted %{{.*}} {count = 15 : i64, skip = 8 : i64}
func.func @last_rows(%s: tensor<?xi32>, %p: tensor<?xi32>, %e: tensor<?x2xi32>, %w: tensor<?xi32>) -> tensor<?xi32> {
  %rows, %s1, %p1, %e1 = dsflash.last_rows %s, %p, %e wanted %w {count = 15 : i64, skip = 8 : i64}
    : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
  return %rows : tensor<?xi32>
}
