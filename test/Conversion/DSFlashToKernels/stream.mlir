// RUN: dsflash-opt %s -convert-dsflash-to-kernels -split-input-file | FileCheck %s

!table = !dsflash.weight<[64, 32], <bf16>>

// CHECK-LABEL: func.func @embed
func.func @embed(%ids: tensor<?xi32>, %table: !table) -> tensor<?x32xf32> {
  // CHECK: %[[N:.*]] = tensor.dim %[[IDS:.*]], %{{.*}} : tensor<?xi32>
  // CHECK: %[[INIT:.*]] = tensor.empty(%[[N]]) : tensor<?x32xf32>
  // CHECK: dsflash.dispatch @embed_64x32_bf16 grid(%[[N]]) ins(%[[IDS]], %{{.*}} : tensor<?xi32>, !dsflash.weight
  // CHECK-SAME: outs(%[[INIT]] : tensor<?x32xf32>) -> tensor<?x32xf32>
  %0 = dsflash.embed %ids, %table : (tensor<?xi32>, !table) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
// The table's bf16 rows are read in place.
// CHECK: func.func private @embed_64x32_bf16(%[[BEGIN:.*]]: index, %[[END:.*]]: index, %[[IDS:.*]]: memref<?xi32>
// CHECK: dsflash.weight_data payload {{.*}} -> memref<64x32xbf16>
// CHECK: scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: memref.load %[[IDS]][%[[ROW]]]

// -----

// CHECK-LABEL: func.func @init
func.func @init(%x: tensor<?x32xf32>) -> (tensor<?x4x32xf32>, tensor<?x4xf32>) {
  // CHECK: dsflash.dispatch @hc_init_4x32 grid({{.*}}) ins({{.*}}) outs({{.*}} : tensor<?x4x32xf32>, tensor<?x4xf32>)
  %0:2 = dsflash.hc_init %x : (tensor<?x32xf32>) -> (tensor<?x4x32xf32>, tensor<?x4xf32>)
  return %0#0, %0#1 : tensor<?x4x32xf32>, tensor<?x4xf32>
}

// -----

!fn = !dsflash.weight<[24, 128], <f32>>
!base = !dsflash.weight<[1, 24], <f32>>
!scale = !dsflash.weight<[1, 3], <f32>>

// The product is cut by outputs, the rest by rows.
// CHECK-LABEL: func.func @mix
func.func @mix(%h: tensor<?x4x32xf32>, %fn: !fn, %base: !base, %scale: !scale)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>) {
  // CHECK: %[[N:.*]] = tensor.dim
  // CHECK: %[[M:.*]] = dsflash.dispatch @hc_mix_product_24x128_f32 grid(%c{{[0-9]+}})
  // CHECK: dsflash.dispatch @hc_mix_1x24_f32 grid(%[[N]]) ins(%{{.*}}, %[[M]],
  // CHECK-SAME: -> tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>
  %0:3 = dsflash.hc_mix %h, %fn, %base, %scale
    {iterations = 20 : i64, eps = 1.0e-6 : f32, norm_eps = 1.0e-20 : f32}
    : (tensor<?x4x32xf32>, !fn, !base, !scale) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>)
  return %0#0, %0#1, %0#2 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @collapse
func.func @collapse(%h: tensor<?x4x32xf32>, %pre: tensor<?x4xf32>) -> tensor<?x32xf32> {
  // CHECK: dsflash.dispatch @hc_collapse_32
  %0 = dsflash.hc_collapse %h, %pre {rounded} : (tensor<?x4x32xf32>, tensor<?x4xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
// CHECK: func.func private @hc_collapse_32
// CHECK-COUNT-4: arith.mulf
// CHECK: arith.shrui
// CHECK: vector.store

// -----

// In place: the stream itself is what the launch writes, and all streams are
// read before one of them is written.
// CHECK-LABEL: func.func @expand
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x32xf32>, %[[H:[^:]*]]: tensor<?x2x32xf32>, %[[POST:[^:]*]]: tensor<?x2xf32>, %[[COMB:[^:]*]]: tensor<?x2x2xf32>
func.func @expand(%x: tensor<?x32xf32>, %h: tensor<?x2x32xf32>, %post: tensor<?x2xf32>,
                  %comb: tensor<?x2x2xf32>) -> tensor<?x2x32xf32> {
  // CHECK-NOT: tensor.empty
  // CHECK: dsflash.dispatch @hc_expand_2x32 grid({{.*}}) ins(%[[X]], %[[POST]], %[[COMB]] : {{.*}}) outs(%[[H]] :
  %0 = dsflash.hc_expand %x, %h, %post, %comb
    : (tensor<?x32xf32>, tensor<?x2x32xf32>, tensor<?x2xf32>, tensor<?x2x2xf32>) -> tensor<?x2x32xf32>
  return %0 : tensor<?x2x32xf32>
}
// CHECK: func.func private @hc_expand_2x32
// CHECK-COUNT-3: vector.load
// CHECK-COUNT-2: vector.store

// -----

// CHECK-LABEL: func.func @mean
func.func @mean(%h: tensor<?x4x32xf32>) -> tensor<?x32xf32> {
  // CHECK: dsflash.dispatch @stream_mean_32
  %0 = dsflash.stream_mean %h : (tensor<?x4x32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
// CHECK: func.func private @stream_mean_32
// CHECK: arith.constant dense<4.000000e+00>
// CHECK: arith.divf

// -----

// As many items as chosen rows.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x32xf32>, %[[ROWS:[^:]*]]: tensor<?xi32>
func.func @rows(%x: tensor<?x32xf32>, %rows: tensor<?xi32>) -> tensor<?x32xf32> {
  // CHECK: %[[M:.*]] = tensor.dim %[[ROWS]]
  // CHECK: %[[CHOSEN:.*]] = dsflash.dispatch @gather_rows_32 grid(%[[M]]) ins(%[[X]], %[[ROWS]]
  %0 = dsflash.gather_rows %x, %rows : (tensor<?x32xf32>, tensor<?xi32>) -> tensor<?x32xf32>
  // CHECK: dsflash.dispatch @add_rows_32 grid(%[[M]]) ins(%[[CHOSEN]], %[[ROWS]] : {{.*}}) outs(%[[X]] :
  %1 = dsflash.add_rows %0, %x, %rows : (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xi32>) -> tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}

// -----

// The numbers of rows follow from the extents that the function gets, those of
// a second narrowing too, and from what is wanted: no kernel's result is read.
// They are not negative where nothing of the call is wanted.
// CHECK-LABEL: func.func @last
// CHECK-SAME: %[[SEQUENCE:[^:]*]]: tensor<?xi32>, %[[POSITION:[^:]*]]: tensor<?xi32>, %[[EXTENTS:[^:]*]]: tensor<?x2xi32>, %[[WANTED:[^:]*]]: tensor<?xi32>
func.func @last(%sequence: tensor<?xi32>, %position: tensor<?xi32>, %extents: tensor<?x2xi32>, %w: tensor<?xi32>) -> tensor<?xi32> {
  // CHECK: scf.for
  // CHECK: tensor.extract %[[EXTENTS]]
  // CHECK: tensor.extract %[[WANTED]]
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[COUNT:.*]] = arith.maxsi %{{.*}}, %[[ZERO]]
  // CHECK: arith.minsi %{{.*}}, %[[COUNT]]
  // CHECK: arith.maxsi
  // CHECK-COUNT-2: arith.minsi
  // CHECK: %[[FIRST:.*]]:4 = dsflash.dispatch @last_rows_but_2 grid(%{{.*}}) ins(%[[POSITION]], %[[EXTENTS]], %[[WANTED]], %{{.*}}, %{{.*}} :
  %0:4 = dsflash.last_rows %sequence, %position, %extents wanted %w {count = 15 : i64, skip = 8 : i64}
    : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
  // CHECK: scf.for
  // CHECK: tensor.extract %[[EXTENTS]]
  // CHECK: tensor.extract %[[WANTED]]
  // CHECK-COUNT-4: arith.minsi
  // CHECK: dsflash.dispatch @last_rows_2 grid(%{{.*}}) ins(%[[FIRST]]#2, %[[FIRST]]#3, %[[WANTED]],
  %1:4 = dsflash.last_rows %0#1, %0#2, %0#3 wanted %w {count = 3 : i64}
    : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
  return %1#0 : tensor<?xi32>
}
// CHECK: func.func private @last_rows_but_2(
// CHECK: arith.maxsi
// CHECK: arith.maxsi
// CHECK: func.func private @last_rows_2(
// CHECK: arith.maxsi
// CHECK-NOT: func.func private @last_rows
