// RUN: dsflash-opt %s --dsflash-select-config=device=nvptx:sm_80 --convert-dsflash-to-kernels -split-input-file | FileCheck %s

!fp8 = !dsflash.weight<[96, 64], <e4m3, e8m0, [32, 32]>>

// Items are pairs of 64 outputs and 64 rows.
// CHECK-LABEL: func.func @quantized
// CHECK:       %[[AHEAD:.*]] = arith.addi %[[N:.*]], %c63
// CHECK:       %[[TILES:.*]] = arith.divui %[[AHEAD]], %c64
// CHECK:       %[[ITEMS:.*]] = arith.muli %[[TILES]], %c2
// CHECK:       dsflash.dispatch @linear_96x64_e4m3 grid(%[[ITEMS]])
func.func @quantized(%x: tensor<?x64xf32>, %w: !fp8) -> tensor<?x96xf32> {
  %q = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "x"} : tensor<?x64xf32>
  %y = dsflash.linear %q, %w : (tensor<?x64xf32>, !fp8) -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
// CHECK-LABEL: func.func private @linear_96x64_e4m3(
// CHECK-SAME:  dsflash.block = #dsflash.block<threads = 128, shared_bytes = 80512>
// CHECK:       call @tensor_product.e4m3.32x32(
// Three stages of 64 rows of f32 and of 64 stored rows of weights.
// CHECK-LABEL: func.func private @tensor_product.e4m3.32x32(
// CHECK:       memref.view {{.*}} to memref<3x64x64xf32, 3>
// CHECK:       memref.view {{.*}} to memref<3x64x64xi8, 3>
// CHECK:       nvvm.barrier0
// CHECK-COUNT-2: nvvm.cp.async.commit.group
// CHECK:       scf.for
// CHECK:       nvvm.cp.async.wait.group 1
// CHECK:       nvvm.barrier0
// CHECK:       nvgpu.device_async_copy {{.*}}, 4, %{{.*}} {bypassL1}
// CHECK:       nvgpu.device_async_copy {{.*}}, 16, %{{.*}} {bypassL1}
// CHECK:       nvvm.cp.async.commit.group
// CHECK:       nvvm.barrier0
// CHECK:       nvgpu.ldmatrix
// CHECK:       nvvm.mma.sync {{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 16>

// -----

!bf16 = !dsflash.weight<[96, 64], <bf16>>

// Values that may have more bits than bf16, sums in f64 and odd widths are not
// for tensor cores: a block shares the columns of four rows and an output.
// CHECK-LABEL: func.func @plain
func.func @plain(%x: tensor<?x64xf32>, %w: !bf16) -> (tensor<?x96xf32>, tensor<?x96xf32>) {
  %y = dsflash.linear %x, %w : (tensor<?x64xf32>, !bf16) -> tensor<?x96xf32>
  %r = dsflash.round %x {point = "x"} : tensor<?x64xf32>
  %z = dsflash.linear %r, %w {f64_accumulation} : (tensor<?x64xf32>, !bf16) -> tensor<?x96xf32>
  return %y, %z : tensor<?x96xf32>, tensor<?x96xf32>
}
func.func @odd(%x: tensor<?x64xf32>, %w: !dsflash.weight<[95, 64], <bf16>>) -> tensor<?x95xf32> {
  %r = dsflash.round %x {point = "x"} : tensor<?x64xf32>
  %y = dsflash.linear %r, %w : (tensor<?x64xf32>, !dsflash.weight<[95, 64], <bf16>>) -> tensor<?x95xf32>
  return %y : tensor<?x95xf32>
}
// CHECK-NOT: tensor_product
// CHECK: call @block_product.bf16.threads32.outputs1(
// CHECK: func.func private @block_product.bf16.threads32.outputs1(
// CHECK: memref.view {{.*}} to memref<4x32xf32, 3>
// CHECK: call @block_product.bf16.f64.threads32.outputs1(
// CHECK: func.func private @block_product.bf16.f64.threads32.outputs1(
// CHECK: memref.view {{.*}} to memref<4x32xf64, 3>
// CHECK-NOT: tensor_product

// -----

// Ideal numerics multiply in f32.
// CHECK-LABEL: module
module attributes {dsflash.numerics = "ideal"} {
func.func @ideal(%ids: tensor<?xi32>, %t: !dsflash.weight<[9, 64], <bf16>>, %w: !dsflash.weight<[96, 64], <bf16>>) -> tensor<?x96xf32> {
  %x = dsflash.embed %ids, %t : (tensor<?xi32>, !dsflash.weight<[9, 64], <bf16>>) -> tensor<?x64xf32>
  %y = dsflash.linear %x, %w : (tensor<?x64xf32>, !dsflash.weight<[96, 64], <bf16>>) -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
}
// CHECK-NOT: tensor_product

// -----

// What goes along rows has a block for each: 64 features are 16 vectors, for
// the 32 threads of a warp; a sum over the row is one over its threads.
// CHECK-LABEL: func.func @norm
func.func @norm(%x: tensor<?x64xf32>, %w: !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x64xf32> {
  %y = dsflash.rms_norm %x, %w {eps = 1.0e-20 : f32} : (tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
// CHECK:       func.func private @rms_norm_1x64_bf16(
// CHECK-SAME:  dsflash.block = #dsflash.block<threads = 32, shared_bytes = 256>
// CHECK:       %[[ID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK:       %[[THREAD:.*]] = arith.index_cast %[[ID]]
// CHECK:       %[[FIRST:.*]] = arith.muli %[[THREAD]], %c4
// CHECK:       scf.for %{{.*}} = %[[FIRST]] to %c64{{.*}} step %c128
// CHECK:       memref.view {{.*}} to memref<1x32xf64, 3>
// CHECK:       nvvm.barrier0

// -----

!window = !dsflash.window<layers = 2, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
!global = !dsflash.global_kv<rows = 32, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>
!sink = !dsflash.weight<[1, 4], <f32>>
!ids = tensor<?xi32>

// A row sees at most 8 + 70 keys: 4 tiles of 32 for the scores, whose heads are
// 128 apart, and one tile of 64 features for the values.
// CHECK-LABEL: func.func @attention
// CHECK:       %[[TILES:.*]] = arith.muli %[[N:.*]], %c4
// CHECK:       %[[SCORES:.*]]:3 = dsflash.dispatch @csa2_scores_512 grid(%[[TILES]]) {{.*}} -> tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x128xi32>
// CHECK:       %[[HEADS:.*]] = arith.muli %[[N]], %c4
// CHECK:       %[[SOFTMAX:.*]]:2 = dsflash.dispatch @attention_softmax_1x4_f32 grid(%[[HEADS]]) ins(%[[SCORES]]#0, %[[SCORES]]#1, {{.*}} -> tensor<?x512xbf16>, tensor<?x4xf32>
// CHECK:       dsflash.dispatch @csa2_values_256 grid(%[[N]]) {{.*}} %[[SOFTMAX]]#0, %[[SOFTMAX]]#1, %[[SCORES]]#1, %[[SCORES]]#2
// CHECK:       dsflash.dispatch @append_window
func.func @attention(%x: tensor<?x256xf32>, %y: tensor<?x64xf32>, %window: !window, %layer: index,
    %sink: !sink, %sequence: !ids, %position: !ids, %extents: tensor<?x2xi32>, %global: !global,
    %selection: tensor<?x70xi32>) -> (tensor<?x256xf32>, !window) {
  %q = dsflash.round %x {point = "q"} : tensor<?x256xf32>
  %kv = dsflash.quantize %y {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "kv"} : tensor<?x64xf32>
  %out, %after = dsflash.csa2 <full> %q, %kv window %window[%layer] sink %sink
      rows(%sequence, %position, %extents) global %global selection %selection
      {heads = 4 : i64, sliding_window = 8 : i64, round_probabilities}
    : (tensor<?x256xf32>, tensor<?x64xf32>, !window, index, !sink, !ids, !ids, tensor<?x2xi32>, !global,
       tensor<?x70xi32>) -> (tensor<?x256xf32>, !window)
  return %out, %after : tensor<?x256xf32>, !window
}
// CHECK-LABEL: func.func private @csa2_scores_512(
// CHECK-SAME:  dsflash.block = #dsflash.block<threads = 128
// CHECK:       call @attention_scores.4x64.e4m3.1x32.e2m1.1x16.tensor(
// Queries and keys as bf16; what two steps copy, so that two blocks share
// a multiprocessor: keys that the call has in f32, packed ones as they are stored, queries; a place and 4 scales for a key.
// CHECK-LABEL: func.func private @attention_scores.4x64.e4m3.1x32.e2m1.1x16.tensor(
// CHECK:       memref.view {{.*}} to memref<1x64x72xbf16, 3>
// CHECK:       memref.view {{.*}} to memref<32x72xbf16, 3>
// CHECK:       memref.view {{.*}} to memref<2x32x64xf32, 3>
// CHECK:       memref.view {{.*}} to memref<2x32x64xi8, 3>
// CHECK:       memref.view {{.*}} to memref<2x32x32xi8, 3>
// CHECK:       memref.view {{.*}} to memref<32xi64, 3>
// CHECK:       memref.view {{.*}} to memref<32x4xi8, 3>
// CHECK:       nvvm.redux.sync {{ *}}min
// CHECK:       memref.view {{.*}} to memref<2x64x64xf32, 3>
// CHECK:       nvvm.cp.async.commit.group
// CHECK:       scf.for
// CHECK:       nvvm.cp.async.wait.group 0
// CHECK:       nvvm.barrier0
// CHECK-COUNT-4: nvgpu.device_async_copy
// CHECK:       nvvm.barrier0
// CHECK:       nvgpu.ldmatrix {{.*}} transpose = false
// CHECK:       nvvm.mma.sync
// CHECK-LABEL: func.func private @attention_softmax_1x4_f32(
// CHECK-SAME:  dsflash.block = #dsflash.block<threads = 32
// CHECK:       math.exp
// CHECK:       llvm.fptrunc {{.*}} : vector<4xf32> to vector<4xbf16>
// All of the row's 128 places for keys; probabilities are copied to where they
// are multiplied.
// CHECK-LABEL: func.func private @attention_values.128.4x64.e4m3.1x32.e2m1.1x16.tensor(
// CHECK:       memref.view {{.*}} to memref<3x64x40xbf16, 3>
// CHECK:       memref.view {{.*}} to memref<128xi64, 3>
// CHECK:       memref.view {{.*}} to memref<128x4xi8, 3>
// CHECK:       nvgpu.ldmatrix {{.*}} transpose = true
// CHECK:       nvvm.mma.sync

// -----

!window = !dsflash.window<layers = 2, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
!sink = !dsflash.weight<[1, 4], <f32>>
!ids = tensor<?xi32>

// Without a rounding point in front there are no tensor cores. Drafts whose
// rows have no bound stay with one thread an item.
// CHECK-LABEL: func.func @draft_attention
// CHECK:       dsflash.dispatch @draft_attention_scores_
// CHECK:       dsflash.dispatch @attention_softmax_{{.*}} -> tensor<?x256xf32>
// CHECK:       dsflash.dispatch @draft_attention_values_
// CHECK:       dsflash.dispatch @draft_attention_1x4_f32
func.func @draft_attention(%q: tensor<?x256xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index,
    %sink: !sink, %ids: !ids, %extents: tensor<?x2xi32>) -> (tensor<?x256xf32>, tensor<?x256xf32>) {
  %bounded = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 4 : i64, sliding_window = 8 : i64, round_probabilities, block_rows = 5 : i64}
    : (tensor<?x256xf32>, tensor<?x64xf32>, !window, index, !sink, !ids, !ids, tensor<?x2xi32>) -> tensor<?x256xf32>
  %unbounded = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 4 : i64, sliding_window = 8 : i64, round_probabilities}
    : (tensor<?x256xf32>, tensor<?x64xf32>, !window, index, !sink, !ids, !ids, tensor<?x2xi32>) -> tensor<?x256xf32>
  return %bounded, %unbounded : tensor<?x256xf32>, tensor<?x256xf32>
}
// CHECK-NOT: nvvm.mma.sync

// -----

!bias = !dsflash.weight<[1, 24], <f32>>

// A warp chooses for a row.
// CHECK-LABEL: func.func @router
func.func @router(%logits: tensor<?x24xf32>, %bias: !bias) -> (tensor<?x6xi32>, tensor<?x6xf32>) {
  %0:2 = dsflash.router %logits, %bias {temperature = 1.0 : f32, scaling = 1.5 : f32, normalize}
    : (tensor<?x24xf32>, !bias) -> (tensor<?x6xi32>, tensor<?x6xf32>)
  return %0#0, %0#1 : tensor<?x6xi32>, tensor<?x6xf32>
}
// CHECK:      func.func private @router_1x24_f32(
// CHECK-SAME: dsflash.block = #dsflash.block<threads = 32, shared_bytes = 192>
// CHECK:      nvvm.redux.sync max
// CHECK:      nvvm.redux.sync min

// -----

!fn = !dsflash.weight<[24, 160], <f32>>
!base = !dsflash.weight<[1, 24], <f32>>
!scale = !dsflash.weight<[1, 3], <f32>>

// The 16 entries of a row's matrix are carried through Sinkhorn's steps.
// CHECK-LABEL: func.func @mix
func.func @mix(%h: tensor<?x4x40xf32>, %fn: !fn, %base: !base, %scale: !scale)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>) {
  %0:3 = dsflash.hc_mix %h, %fn, %base, %scale {iterations = 20 : i64, eps = 1.0e-6 : f32, norm_eps = 1.0e-20 : f32}
    : (tensor<?x4x40xf32>, !fn, !base, !scale) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>)
  return %0#0, %0#1, %0#2 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>
}
// CHECK:      func.func private @hc_mix_product_24x160_f32(
// CHECK:      call @block_product.f32.threads64.outputs1(
// CHECK:      func.func private @hc_mix_1x24_f32(
// CHECK-SAME: dsflash.block = #dsflash.block<threads = 32, shared_bytes = 352>
// CHECK:      scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)

// -----

// A table on a device is the rows of its call, item by item.
!table = !dsflash.weight<[152, 32], <e4m3, e8m0, [1, 32]>>

// CHECK-LABEL: func.func @looked_up
// CHECK:       dsflash.await_rows %[[TABLE:.*]] :
// CHECK:       dsflash.dispatch @engram_lookup_152x32_e4m3 grid(%{{.*}}) ins(%[[TABLE]] :
func.func @looked_up(%rows: tensor<?x4xi64>, %table: !table) -> tensor<?x128xf32> {
  %x = dsflash.engram_lookup %rows, %table : (tensor<?x4xi64>, !table) -> tensor<?x128xf32>
  return %x : tensor<?x128xf32>
}
// A table's row has a block, whose threads take neighbouring vectors.
// CHECK-LABEL: func.func private @engram_lookup_152x32_e4m3(
// CHECK-SAME:  dsflash.block = #dsflash.block<threads = 32

// -----

// A thread of the one block has an expert: it counts that one's slots, a tile
// of them at a time, adds the counts of those before, and puts the slots there.
// CHECK-LABEL: func.func @grouped
// CHECK:       dsflash.dispatch @group_by_expert_3 grid(%c1
func.func @grouped(%e: tensor<?x3xi32>) -> (tensor<?x3xi32>, tensor<65xi32>) {
  %order, %offsets = dsflash.group_by_expert %e : (tensor<?x3xi32>) -> (tensor<?x3xi32>, tensor<65xi32>)
  return %order, %offsets : tensor<?x3xi32>, tensor<65xi32>
}
// CHECK-LABEL: func.func private @group_by_expert_3(
// CHECK-SAME:  dsflash.block = #dsflash.block<threads = 64, shared_bytes = 512>
// CHECK:       memref.view {{.*}} to memref<64xi32, 3>
// CHECK:       memref.view {{.*}} to memref<64xi32, 3>
// CHECK:       scf.for
// CHECK:         scf.for
// CHECK:           nvvm.barrier0
// CHECK:           nvvm.barrier0
// CHECK:           scf.for
// CHECK:         scf.for
// CHECK:           nvvm.barrier0
