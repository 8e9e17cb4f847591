// RUN: dsflash-opt %s -convert-dsflash-to-kernels -split-input-file | FileCheck %s

!map = !dsflash.weight<[1, 256], <i32>>

// Offsets run over the primes of all n-grams: 0, 67, 67 + 71.
// CHECK-LABEL: func.func @hash
func.func @hash(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>, %map: !map, %sequence: tensor<?xi32>,
                %extents: tensor<?x2xi32>) -> tensor<?x4xi64> {
  // CHECK: dsflash.dispatch @engram_hash_1x256_i32
  %0 = dsflash.engram_hash %tokens, %look_back map %map rows(%sequence, %extents)
    {multipliers = array<i64: 11, 13, 17>, primes = array<i64: 67, 71, 73, 79>, pad = 2 : i64}
    : (tensor<?xi32>, tensor<?x2xi32>, !map, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?x4xi64>
  return %0 : tensor<?x4xi64>
}
// CHECK: func.func private @engram_hash_1x256_i32
// CHECK: arith.xori {{.*}} : i64
// CHECK: %[[P0:.*]] = arith.constant 67 : i64
// CHECK: arith.remui %{{.*}}, %[[P0]] : i64
// CHECK: %[[P1:.*]] = arith.constant 71 : i64
// CHECK: %[[R1:.*]] = arith.remui %{{.*}}, %[[P1]] : i64
// CHECK: %[[O1:.*]] = arith.constant 67 : i64
// CHECK: arith.addi %[[R1]], %[[O1]]
// CHECK: arith.xori {{.*}} : i64
// CHECK: %[[O2:.*]] = arith.constant 138 : i64
// CHECK: arith.addi %{{.*}}, %[[O2]]

// -----

!table = !dsflash.weight<[462, 64], <e4m3, e8m0, [1, 32]>>

// CHECK-LABEL: func.func @lookup
func.func @lookup(%rows: tensor<?x4xi64>, %table: !table) -> tensor<?x256xf32> {
  // CHECK: dsflash.await_rows %{{.*}} : <[462, 64]
  // CHECK: %[[ITEMS:.*]] = arith.muli %{{.*}}, %c4
  // CHECK: dsflash.dispatch @engram_lookup_462x64_e4m3 grid(%[[ITEMS]])
  %0 = dsflash.engram_lookup %rows, %table : (tensor<?x4xi64>, !table) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
// CHECK: func.func private @engram_lookup_462x64_e4m3
// CHECK: dsflash.weight_data payload {{.*}} -> memref<462x64xi8>
// CHECK: dsflash.weight_data scale {{.*}} -> memref<462x2xi8>

// -----

!norm = !dsflash.weight<[4, 32], <bf16>>

// CHECK-LABEL: func.func @gate
// CHECK-SAME: %[[H:[^:]*]]: tensor<?x4x32xf32>, %[[KV:[^:]*]]: tensor<?x160xf32>
func.func @gate(%h: tensor<?x4x32xf32>, %kv: tensor<?x160xf32>, %qw: !norm, %kw: !norm) -> tensor<?x4x32xf32> {
  // CHECK: %[[GATE:.*]] = dsflash.dispatch @engram_gate_4x32_bf16
  %0 = dsflash.engram_gate %h, %kv, %qw, %kw {eps = 1.0e-20 : f32}
    : (tensor<?x4x32xf32>, tensor<?x160xf32>, !norm, !norm) -> tensor<?x4xf32>
  // CHECK: dsflash.dispatch @engram_add_4x32 grid({{.*}}) ins(%[[KV]], %[[GATE]] : {{.*}}) outs(%[[H]] :
  %1 = dsflash.engram_add %h, %kv, %0 {rounded}
    : (tensor<?x4x32xf32>, tensor<?x160xf32>, tensor<?x4xf32>) -> tensor<?x4x32xf32>
  return %1 : tensor<?x4x32xf32>
}
// CHECK: func.func private @engram_gate_4x32_bf16
// CHECK: math.copysign
// CHECK: math.exp
