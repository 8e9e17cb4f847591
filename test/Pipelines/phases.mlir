// RUN: dsflash-opt %s --dsflash-phases-pipeline | FileCheck %s --check-prefixes=CHECK,REFERENCE
// RUN: dsflash-opt %s --dsflash-phases-pipeline="numerics=ideal" | FileCheck %s --check-prefixes=CHECK,IDEAL
// RUN: dsflash-opt %s --dsflash-phases-pipeline="probes" | FileCheck %s --check-prefixes=CHECK,PROBES
// RUN: not dsflash-opt %s --dsflash-phases-pipeline="numerics=fast" 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: expected the numerics 'reference' or 'ideal' but got 'fast'

!kv = !dsflash.global_kv<rows = 64, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>

// REFERENCE: module attributes {dsflash.numerics = "reference"}
// IDEAL: module attributes {dsflash.numerics = "ideal"}
// CHECK-LABEL: func @forward
// CHECK: call @layer(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?x64xf32>, tensor<?xi32>, !dsflash.global_kv
// CHECK-NOT: dsflash.encoder
func.func @forward(%x: tensor<?x64xf32>, %position: tensor<?xi32>, %kv: !kv) -> (tensor<?x64xf32>, !kv) {
  %0:2 = dsflash.encoder : tensor<?x64xf32>, !kv {
    %1:2 = dsflash.layer <full> @layer(%x, %position) global_kv %kv
      : (tensor<?x64xf32>, tensor<?xi32>, !kv) -> (tensor<?x64xf32>, !kv)
    dsflash.yield %1#0, %1#1 : tensor<?x64xf32>, !kv
  }
  return %0#0, %0#1 : tensor<?x64xf32>, !kv
}

// CHECK-LABEL: func private @layer
// IDEAL-NEXT: dsflash.append
// IDEAL-SAME: !dsflash.global_kv<rows = 64, dim = 64, ratio = 2, <f32>>
// IDEAL-NEXT: return
// REFERENCE-NEXT: dsflash.round
// REFERENCE-NEXT: dsflash.append
// REFERENCE-NEXT: return
// PROBES-NEXT: dsflash.round
// PROBES-NEXT: dsflash.append
// PROBES-NEXT: dsflash.load
// PROBES-NEXT: dsflash.probe
// PROBES-NEXT: return
func.func private @layer(%x: tensor<?x64xf32>, %position: tensor<?xi32>, %kv: !kv) -> (tensor<?x64xf32>, !kv) {
  %0 = dsflash.round %x {point = "attn.kv"} : tensor<?x64xf32>
  %1 = dsflash.append %0 to %kv rows(%position, %position) : (tensor<?x64xf32>, !kv, tensor<?xi32>, tensor<?xi32>) -> !kv
  %2 = dsflash.load %1 rows(%position, %position) : (!kv, tensor<?xi32>, tensor<?xi32>) -> tensor<?x64xf32>
  %3 = dsflash.probe "kv" %2 : tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, !kv
}
