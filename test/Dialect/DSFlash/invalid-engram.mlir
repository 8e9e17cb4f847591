// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

!map = !dsflash.weight<[1, 512], <i32>>
func.func @engram_hash_of_too_few_multipliers(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>, %map: !map,
                                              %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.engram_hash' op (C1) expected the number of multipliers to be 3 but got 2}}
  %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%tokens, %extents)
      {multipliers = array<i64: 7, 11>, pad = 2 : i64, primes = array<i64: 31, 37>}
    : (tensor<?xi32>, tensor<?x2xi32>, !map, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?x2xi64>
  return
}

// -----

!map = !dsflash.weight<[1, 512], <i32>>
func.func @engram_hash_to_other_columns(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>, %map: !map,
                                        %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.engram_hash' op (C2) expected the result's columns to be 2 but got 4}}
  %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%tokens, %extents)
      {multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 37>}
    : (tensor<?xi32>, tensor<?x2xi32>, !map, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?x4xi64>
  return
}

// -----

!map = !dsflash.weight<[1, 512], <i32>>
func.func @engram_hash_of_part_of_the_heads(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>, %map: !map,
                                            %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.engram_hash' op (C2) expected a multiple of 2 primes but got 3}}
  %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%tokens, %extents)
      {multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 37, 41>}
    : (tensor<?xi32>, tensor<?x2xi32>, !map, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?x3xi64>
  return
}

// -----

!map = !dsflash.weight<[1, 512], <i32>>
func.func @engram_hash_of_prime_zero(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>, %map: !map,
                                     %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.engram_hash' op (C3) expected every prime to be at least 2}}
  %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%tokens, %extents)
      {multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 0>}
    : (tensor<?xi32>, tensor<?x2xi32>, !map, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?x2xi64>
  return
}

// -----

!map = !dsflash.weight<[1, 512], <f32>>
func.func @engram_hash_of_a_map_of_floats(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>, %map: !map,
                                          %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.engram_hash' op (C4) expected a token map of one i32 row that holds the pad token}}
  %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%tokens, %extents)
      {multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 37>}
    : (tensor<?xi32>, tensor<?x2xi32>, !map, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?x2xi64>
  return
}

// -----

!map = !dsflash.weight<[1, 512], <i32>>
func.func @engram_hash_of_a_negative_pad(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>, %map: !map,
                                         %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{(C4) expected a token map of one i32 row that holds the pad token}}
  %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%tokens, %extents)
      {multipliers = array<i64: 7, 11, 13>, pad = -1 : i64, primes = array<i64: 31, 37>}
    : (tensor<?xi32>, tensor<?x2xi32>, !map, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?x2xi64>
  return
}

// -----

!map = !dsflash.weight<[1, 512], <i32>>
func.func @engram_hash_of_an_image_token_outside(%tokens: tensor<?xi32>, %look_back: tensor<?x2xi32>, %map: !map,
                                                 %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{(C5) expected a token map that holds the image token}}
  %rows = dsflash.engram_hash %tokens, %look_back map %map rows(%tokens, %extents)
      {image_token = 512 : i64, multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 37>}
    : (tensor<?xi32>, tensor<?x2xi32>, !map, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?x2xi64>
  return
}

// -----

!table = !dsflash.weight<[68, 32], <e4m3, e8m0, [1, 32]>>
func.func @engram_lookup_to_other_features(%rows: tensor<?x4xi64>, %table: !table) {
  // expected-error @+1 {{'dsflash.engram_lookup' op (C1) expected the result's features to be 4 times 32 but got 64}}
  %x = dsflash.engram_lookup %rows, %table : (tensor<?x4xi64>, !table) -> tensor<?x64xf32>
  return
}

// -----

!table = !dsflash.weight<[68, 32], <e4m3, e8m0, [32, 32]>>
func.func @engram_lookup_of_blocks_of_rows(%rows: tensor<?x4xi64>, %table: !table) {
  // expected-error @+1 {{'dsflash.engram_lookup' op (C2) expected a table of two extents of e4m3 with an e8m0 scale for one row}}
  %x = dsflash.engram_lookup %rows, %table : (tensor<?x4xi64>, !table) -> tensor<?x128xf32>
  return
}

// -----

!table = !dsflash.weight<[2, 34, 32], <e4m3, e8m0, [1, 32]>>
func.func @engram_lookup_of_experts(%rows: tensor<?x4xi64>, %table: !table) {
  // expected-error @+1 {{(C2) expected a table of two extents of e4m3 with an e8m0 scale for one row}}
  %x = dsflash.engram_lookup %rows, %table : (tensor<?x4xi64>, !table) -> tensor<?x128xf32>
  return
}

// -----

!norm = !dsflash.weight<[4, 8], <bf16>>
func.func @engram_gate_of_other_kv(%stream: tensor<?x4x8xf32>, %kv: tensor<?x32xf32>, %norm: !norm) {
  // expected-error @+1 {{'dsflash.engram_gate' op (C1) expected kv's features to be 5 times 8 but got 32}}
  %gate = dsflash.engram_gate %stream, %kv, %norm, %norm {eps = 0.0 : f32}
    : (tensor<?x4x8xf32>, tensor<?x32xf32>, !norm, !norm) -> tensor<?x4xf32>
  return
}

// -----

!norm = !dsflash.weight<[4, 8], <bf16>>
!other = !dsflash.weight<[1, 8], <bf16>>
func.func @engram_gate_of_other_query_weight(%stream: tensor<?x4x8xf32>, %kv: tensor<?x40xf32>, %query: !other, %key: !norm) {
  // expected-error @+1 {{'dsflash.engram_gate' op (C2) expected the query weight to be [4, 8] of f32 or bf16 but got}}
  %gate = dsflash.engram_gate %stream, %kv, %query, %key {eps = 0.0 : f32}
    : (tensor<?x4x8xf32>, tensor<?x40xf32>, !other, !norm) -> tensor<?x4xf32>
  return
}

// -----

!norm = !dsflash.weight<[4, 8], <bf16>>
!other = !dsflash.weight<[1, 8], <bf16>>
func.func @engram_gate_of_other_key_weight(%stream: tensor<?x4x8xf32>, %kv: tensor<?x40xf32>, %query: !norm, %key: !other) {
  // expected-error @+1 {{'dsflash.engram_gate' op (C2) expected the key weight to be [4, 8] of f32 or bf16 but got}}
  %gate = dsflash.engram_gate %stream, %kv, %query, %key {eps = 0.0 : f32}
    : (tensor<?x4x8xf32>, tensor<?x40xf32>, !norm, !other) -> tensor<?x4xf32>
  return
}

// -----

!norm = !dsflash.weight<[4, 8], <bf16>>
func.func @engram_gate_to_other_streams(%stream: tensor<?x4x8xf32>, %kv: tensor<?x40xf32>, %norm: !norm) {
  // expected-error @+1 {{'dsflash.engram_gate' op (C3) expected the gate's extent to be 4 but got 3}}
  %gate = dsflash.engram_gate %stream, %kv, %norm, %norm {eps = 0.0 : f32}
    : (tensor<?x4x8xf32>, tensor<?x40xf32>, !norm, !norm) -> tensor<?x3xf32>
  return
}

// -----

!norm = !dsflash.weight<[4, 8], <bf16>>
func.func @engram_gate_of_negative_eps(%stream: tensor<?x4x8xf32>, %kv: tensor<?x40xf32>, %norm: !norm) {
  // expected-error @+1 {{'dsflash.engram_gate' op (C4) expected eps to be finite and not negative}}
  %gate = dsflash.engram_gate %stream, %kv, %norm, %norm {eps = -1.0 : f32}
    : (tensor<?x4x8xf32>, tensor<?x40xf32>, !norm, !norm) -> tensor<?x4xf32>
  return
}

// -----

func.func @engram_add_to_another_type(%stream: tensor<?x4x8xf32>, %kv: tensor<?x40xf32>, %gate: tensor<?x4xf32>) {
  // expected-error @+1 {{'dsflash.engram_add' op (C1) expected the result to be 'tensor<?x4x8xf32>' but got 'tensor<?x3x8xf32>'}}
  %next = dsflash.engram_add %stream, %kv, %gate
    : (tensor<?x4x8xf32>, tensor<?x40xf32>, tensor<?x4xf32>) -> tensor<?x3x8xf32>
  return
}

// -----

func.func @engram_add_of_other_kv(%stream: tensor<?x4x8xf32>, %kv: tensor<?x32xf32>, %gate: tensor<?x4xf32>) {
  // expected-error @+1 {{'dsflash.engram_add' op (C2) expected kv's features to be 5 times 8 but got 32}}
  %next = dsflash.engram_add %stream, %kv, %gate
    : (tensor<?x4x8xf32>, tensor<?x32xf32>, tensor<?x4xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @engram_add_of_another_gate(%stream: tensor<?x4x8xf32>, %kv: tensor<?x40xf32>, %gate: tensor<?x3xf32>) {
  // expected-error @+1 {{'dsflash.engram_add' op (C2) expected the gate's extent to be 4 but got 3}}
  %next = dsflash.engram_add %stream, %kv, %gate
    : (tensor<?x4x8xf32>, tensor<?x40xf32>, tensor<?x3xf32>) -> tensor<?x4x8xf32>
  return
}
