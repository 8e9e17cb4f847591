// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func private @weights(
// CHECK-SAME: !dsflash.weight<[512, 64], <bf16>>
// CHECK-SAME: !dsflash.weight<[1, 24], <f32>>
// CHECK-SAME: !dsflash.weight<[1, 512], <i32>>
// CHECK-SAME: !dsflash.weight<[64, 128], <e4m3, e8m0, [32, 32]>>
// CHECK-SAME: !dsflash.weight<[16, 96, 192], <e2m1, e8m0, [1, 32]>>
func.func private @weights(
  !dsflash.weight<[512, 64], <bf16>>, !dsflash.weight<[1, 24], <f32>>, !dsflash.weight<[1, 512], <i32>>,
  !dsflash.weight<[64, 128], <e4m3, e8m0, [32, 32]>>, !dsflash.weight<[16, 96, 192], <e2m1, e8m0, [1, 32]>>)

// CHECK-LABEL: func.func private @states(
// CHECK-SAME: !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
// CHECK-SAME: !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>
// CHECK-SAME: !dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>
// CHECK-SAME: !dsflash.pending<slots = 8, dim = 64>
func.func private @states(
  !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>,
  !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>,
  !dsflash.index_keys<rows = 2048, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>,
  !dsflash.pending<slots = 8, dim = 64>)

// The ideal numerics keeps states in f32; a head of one feature is fine there.
// CHECK-LABEL: func.func private @f32_states(
// CHECK-SAME: !dsflash.window<layers = 1, slots = 1, dim = 1, <f32>>
// CHECK-SAME: !dsflash.global_kv<rows = 1, dim = 1, ratio = 1, <f32>>
// CHECK-SAME: !dsflash.index_keys<rows = 1, dim = 1, ratio = 1, <f32>>
func.func private @f32_states(
  !dsflash.window<layers = 1, slots = 1, dim = 1, <f32>>, !dsflash.global_kv<rows = 1, dim = 1, ratio = 1, <f32>>,
  !dsflash.index_keys<rows = 1, dim = 1, ratio = 1, <f32>>)

// The Engram table of the published model, and the largest extents.
// CHECK-LABEL: func.func private @large(
// CHECK-SAME: !dsflash.weight<[384006168, 256], <e4m3, e8m0, [1, 32]>>
// CHECK-SAME: !dsflash.weight<[2147483647, 131072], <f32>>
func.func private @large(
  !dsflash.weight<[384006168, 256], <e4m3, e8m0, [1, 32]>>, !dsflash.weight<[2147483647, 131072], <f32>>)

// CHECK-LABEL: func.func private @formats(
// CHECK-SAME: dsflash.formats = [#dsflash.format<f32>, #dsflash.format<bf16>, #dsflash.format<i32>, #dsflash.format<e4m3, e8m0, [32, 32]>, #dsflash.format<e2m1, e8m0, [1, 32]>, #dsflash.format<e2m1, e4m3, [1, 16]>]
func.func private @formats() attributes {dsflash.formats = [
  #dsflash.format<f32>, #dsflash.format<bf16>, #dsflash.format<i32>, #dsflash.format<e4m3, e8m0, [32, 32]>,
  #dsflash.format<e2m1, e8m0, [1, 32]>, #dsflash.format<e2m1, e4m3, [1, 16]>]}

// CHECK-LABEL: func.func private @modes_and_planes(
// CHECK-SAME: dsflash.modes = [#dsflash.mode<window>, #dsflash.mode<full>, #dsflash.mode<reindex>, #dsflash.mode<reuse>]
// CHECK-SAME: dsflash.planes = [#dsflash<plane payload>, #dsflash<plane scale>]
func.func private @modes_and_planes() attributes {
  dsflash.modes = [#dsflash.mode<window>, #dsflash.mode<full>, #dsflash.mode<reindex>, #dsflash.mode<reuse>],
  dsflash.planes = [#dsflash<plane payload>, #dsflash<plane scale>]}
