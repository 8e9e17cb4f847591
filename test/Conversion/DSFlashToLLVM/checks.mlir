// RUN: dsflash-opt %s --dsflash-thread-call --convert-dsflash-to-llvm="compiler=c" --dsflash-verify-llvm | FileCheck %s

// Checks of one kind and name have one number. The positions of a window lie
// behind its payload and scales: 2 * 4 * 32 bytes and 8, each aligned to 64.
// CHECK-LABEL: llvm.func internal @kernel(
// CHECK-SAME:  %[[CALL:[^:]*]]: !llvm.ptr, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %[[I:[^:]*]]: i64
// CHECK:       %[[OFFSET:.*]] = llvm.mlir.constant(320 : i64)
// CHECK:       llvm.getelementptr %{{.*}}[%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:       %[[NONE:.*]] = llvm.mlir.constant(-1 : i64)
// CHECK:       %[[FIRST:.*]] = llvm.mlir.constant(0 : i32)
// CHECK-DAG:   llvm.call @dsf.report(%[[CALL]], %{{.*}}, %[[I]], %[[I]], %[[I]], %[[I]], %[[I]]) : (!llvm.ptr, i32, i64, i64, i64, i64, i64) -> ()
func.func private @kernel(%begin: index, %end: index, %window: !dsflash.window<layers = 2, slots = 4, dim = 32, <e4m3, e8m0, [1, 32]>, positions>,
    %i: index, %y: memref<?xi32>) {
  %0 = dsflash.state_data position %window[%i] : !dsflash.window<layers = 2, slots = 4, dim = 32, <e4m3, e8m0, [1, 32]>, positions> -> memref<8xi32>
  %1 = memref.load %0[%i] : memref<8xi32>
  memref.store %1, %y[%i] : memref<?xi32>
  dsflash.report <row> "head" position %i found %i expected %i slot %i
  dsflash.report <nan> "layers.{l}.attn.csa2"[%i] position %i found %i expected %i slot %i
  dsflash.report <row> "head" position %i found %i expected %i slot %i
  return
}

func.func @forward(%y: memref<?xi32> {dsflash.name = "y", dsflash.dim = "rows"},
    %window: !dsflash.window<layers = 2, slots = 4, dim = 32, <e4m3, e8m0, [1, 32]>, positions> {dsflash.name = "window"}) {
  %c0 = arith.constant 0 : index
  dsflash.dispatch @kernel grid(%c0) ins(%window, %c0 : !dsflash.window<layers = 2, slots = 4, dim = 32, <e4m3, e8m0, [1, 32]>, positions>, index)
    outs(%y : memref<?xi32>)
  return
}

// A host that wants no reports leaves the callback null.
// CHECK-LABEL: llvm.func internal @dsf.report(
// CHECK-SAME:  attributes {no_inline, passthrough = ["cold"]}
// CHECK:       llvm.mlir.constant(24 : i64)
// CHECK:       %[[REPORT:.*]] = llvm.load %{{.*}} invariant
// CHECK:       %[[USED:.*]] = llvm.icmp "ne" %[[REPORT]]
// CHECK:       llvm.cond_br %[[USED]]
// CHECK:       llvm.call %[[REPORT]](%{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, i64, i64, i64, i64, i64) -> ()
// CHECK:       llvm.mlir.global internal constant @dsf.states() {{.*}} : !llvm.array<3 x
// CHECK:       llvm.mlir.global internal constant @dsf.checks() {{.*}} : !llvm.array<2 x struct<(ptr, i32, i32)>>
