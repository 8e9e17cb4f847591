// RUN: dsflash-opt %s --dsflash-derive-engram-rows | FileCheck %s

!map = !dsflash.weight<[1, 512], <i32>>

// CHECK-LABEL: func.func @forward(

// Only what the hash needs: neither the stream nor the other arguments.
// CHECK-LABEL: func.func @engram_rows.3(
// CHECK-SAME: %[[TOKENS:[a-z0-9]+]]: tensor<?xi32> {dsflash.dim = "rows", dsflash.name = "tokens"},
// CHECK-SAME: %[[BACK:[a-z0-9]+]]: tensor<?x2xi32> {dsflash.dim = "sequences", dsflash.name = "lookback"},
// CHECK-SAME: %[[SEQUENCE:[a-z0-9]+]]: tensor<?xi32> {dsflash.dim = "rows", dsflash.name = "sequence"},
// CHECK-SAME: %[[EXTENTS:[a-z0-9]+]]: tensor<?x2xi32> {dsflash.dim = "sequences", dsflash.name = "extents"},
// CHECK-SAME: %[[MAP:[a-z0-9]+]]: !dsflash.weight<[1, 512], <i32>>)
// CHECK-SAME: -> (tensor<?x4xi64> {dsflash.dim = "rows", dsflash.name = "engram_rows"})
// CHECK-SAME: attributes {dsflash.host}
// CHECK-NEXT: %[[ROWS:.*]] = dsflash.engram_hash %[[TOKENS]], %[[BACK]] map %[[MAP]] rows(%[[SEQUENCE]], %[[EXTENTS]])
// CHECK-NEXT: return %[[ROWS]]
func.func @forward(%stream: tensor<?x4x64xf32>, %tokens: tensor<?xi32> {dsflash.name = "tokens", dsflash.dim = "rows"},
                   %back: tensor<?x2xi32> {dsflash.name = "lookback", dsflash.dim = "sequences"},
                   %sequence: tensor<?xi32> {dsflash.name = "sequence", dsflash.dim = "rows"},
                   %extents: tensor<?x2xi32> {dsflash.name = "extents", dsflash.dim = "sequences"}, %map: !map)
    -> tensor<?x4x64xf32> {
  %layer = arith.constant 3 : index
  %rows = dsflash.engram_hash %tokens, %back map %map rows(%sequence, %extents)
      {multipliers = array<i64: 7, 11, 13>, pad = 2 : i64, primes = array<i64: 31, 37, 41, 43>}
    : (tensor<?xi32>, tensor<?x2xi32>, !map, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?x4xi64>
  %0 = call @engram_3(%layer, %stream, %rows) : (index, tensor<?x4x64xf32>, tensor<?x4xi64>) -> tensor<?x4x64xf32>
  return %0 : tensor<?x4x64xf32>
}

func.func private @engram_3(%layer: index, %stream: tensor<?x4x64xf32>, %rows: tensor<?x4xi64>) -> tensor<?x4x64xf32> {
  return %stream : tensor<?x4x64xf32>
}
