// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @engram_hash(
// CHECK: dsflash.engram_hash %{{.*}}, %{{.*}} map %{{.*}} rows(%{{.*}}, %{{.*}}) {multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 37, 41, 43>} :
func.func @engram_hash(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>, %map: !dsflash.weight<[1, 512], <i32>>,
                       %sequence: tensor<?xi32>, %extents: tensor<?x2xi32>) -> tensor<?x4xi64> {
  %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%sequence, %extents)
      {multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 37, 41, 43>}
    : (tensor<?xi32>, tensor<?x2xi32>, !dsflash.weight<[1, 512], <i32>>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x4xi64>
  return %rows : tensor<?x4xi64>
}

// CHECK-LABEL: func.func @engram_hash_with_images(
// CHECK: dsflash.engram_hash {{.*}} {image_token = 300 : i64, multipliers =
func.func @engram_hash_with_images(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>,
                                   %map: !dsflash.weight<[1, 512], <i32>>, %extents: tensor<?x2xi32>) -> tensor<?x2xi64> {
  %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%tokens, %extents)
      {image_token = 300 : i64, multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 37>}
    : (tensor<?xi32>, tensor<?x2xi32>, !dsflash.weight<[1, 512], <i32>>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x2xi64>
  return %rows : tensor<?x2xi64>
}

// CHECK-LABEL: func.func @engram_lookup(
// CHECK: dsflash.engram_lookup %{{.*}}, %{{.*}} : (tensor<?x4xi64>, !dsflash.weight<[152, 32], <e4m3, e8m0, [1, 32]>>) -> tensor<?x128xf32>
func.func @engram_lookup(%rows: tensor<?x4xi64>, %table: !dsflash.weight<[152, 32], <e4m3, e8m0, [1, 32]>>)
    -> tensor<?x128xf32> {
  %x = dsflash.engram_lookup %rows, %table
    : (tensor<?x4xi64>, !dsflash.weight<[152, 32], <e4m3, e8m0, [1, 32]>>) -> tensor<?x128xf32>
  return %x : tensor<?x128xf32>
}

// CHECK-LABEL: func.func @engram_gate(
// CHECK: dsflash.engram_gate %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {eps = {{.*}} : f32} : (tensor<?x4x64xf32>, tensor<?x320xf32>,
func.func @engram_gate(%stream: tensor<?x4x64xf32>, %kv: tensor<?x320xf32>,
                       %query_weight: !dsflash.weight<[4, 64], <bf16>>,
                       %key_weight: !dsflash.weight<[4, 64], <bf16>>) -> tensor<?x4xf32> {
  %gate = dsflash.engram_gate %stream, %kv, %query_weight, %key_weight {eps = 1.000000e-20 : f32}
    : (tensor<?x4x64xf32>, tensor<?x320xf32>, !dsflash.weight<[4, 64], <bf16>>, !dsflash.weight<[4, 64], <bf16>>)
    -> tensor<?x4xf32>
  return %gate : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @engram_add(
// CHECK: dsflash.engram_add %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x4x64xf32>, tensor<?x320xf32>, tensor<?x4xf32>) -> tensor<?x4x64xf32>
func.func @engram_add(%stream: tensor<?x4x64xf32>, %kv: tensor<?x320xf32>, %gate: tensor<?x4xf32>) -> tensor<?x4x64xf32> {
  %next = dsflash.engram_add %stream, %kv, %gate
    : (tensor<?x4x64xf32>, tensor<?x320xf32>, tensor<?x4xf32>) -> tensor<?x4x64xf32>
  return %next : tensor<?x4x64xf32>
}

// CHECK-LABEL: func.func @await_rows(
// CHECK: dsflash.await_rows %{{.*}} : <[152, 32], <e4m3, e8m0, [1, 32]>>
func.func @await_rows(%table: !dsflash.weight<[152, 32], <e4m3, e8m0, [1, 32]>>) {
  dsflash.await_rows %table : !dsflash.weight<[152, 32], <e4m3, e8m0, [1, 32]>>
  return
}
