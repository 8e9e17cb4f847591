// RUN: dsflash-opt %s --dsflash-thread-call --convert-dsflash-to-llvm="compiler=c triple=t features=avx2,fma" --dsflash-verify-llvm | FileCheck %s

dsflash.param @first "first" : !dsflash.weight<[1, 4], <bf16>>
dsflash.param @w "layers.{l}.{e}.w" scale "layers.{l}.{e}.s" layers [0, 1] : !dsflash.weight<[3, 32, 32], <e4m3, e8m0, [32, 32]>>

// Payload of expert %e: slot + 2 * e; its scales in the slot behind.
// CHECK-LABEL: llvm.func internal @kernel(
// CHECK-SAME:  %[[CALL:[^:]*]]: !llvm.ptr, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %[[W:[^:]*]]: i64, %[[S:[^:]*]]: i64, %[[E:[^:]*]]: i64, %{{[^:]*}}: !llvm.ptr
// CHECK:       %[[TWO:.*]] = llvm.mlir.constant(2 : i64)
// CHECK:       %[[EXPERT:.*]] = llvm.mul %[[E]], %[[TWO]]
// CHECK:       %[[SLOT:.*]] = llvm.add %[[W]], %[[EXPERT]]
// CHECK:       %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK:       %[[SCALE:.*]] = llvm.add %[[SLOT]], %[[ONE]]
// CHECK:       %[[TABLE:.*]] = llvm.load %{{.*}} invariant
// CHECK:       llvm.getelementptr %[[TABLE]][%[[SCALE]]] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
//
// States of sequence %e, then the offset, then 3 rows of 16 bytes aligned to 64.
// CHECK:       %[[BASE:.*]] = llvm.load %{{.*}} invariant
// CHECK:       %[[PAYLOAD:.*]] = llvm.getelementptr %{{.*}}[%[[S]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:       %[[BYTES:.*]] = llvm.mlir.constant(64 : i64)
// CHECK:       llvm.getelementptr %[[PAYLOAD]][%[[BYTES]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
//
// The task unpacks the context.
// CHECK-LABEL: llvm.func internal @kernel.task(
// CHECK-SAME:  %{{[^:]*}}: !llvm.ptr, %[[BEGIN:[^:]*]]: i64, %[[END:[^:]*]]: i64)
// CHECK-COUNT-6: llvm.load
// CHECK:       llvm.call @kernel(%{{[^,]*}}, %[[BEGIN]], %[[END]],
func.func private @kernel(%begin: index, %end: index, %w: !dsflash.weight<[3, 32, 32], <e4m3, e8m0, [32, 32]>>,
    %s: !dsflash.index_keys<rows = 3, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>, %e: index, %y: memref<?x4xi8>) {
  %c0 = arith.constant 0 : index
  %p = dsflash.weight_data scale %w[%e] : !dsflash.weight<[3, 32, 32], <e4m3, e8m0, [32, 32]>> -> memref<1x1xi8>
  %q = dsflash.state_data scale %s[%e] : !dsflash.index_keys<rows = 3, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>> -> memref<3x1xi8>
  %a = memref.load %p[%c0, %c0] : memref<1x1xi8>
  memref.store %a, %q[%c0, %c0] : memref<3x1xi8>
  return
}

// Layer functions stay functions. The parameter starts in slot 1, a layer has
// 6 slots. Without items there is no call.
// CHECK-LABEL: llvm.func internal @layer(
// CHECK-SAME:  %[[CALL:[^:]*]]: !llvm.ptr, %[[LAYER:[^:]*]]: i64,
// CHECK-SAME:  attributes {no_inline
// CHECK:       llvm.alloca
// CHECK:       %[[SLOT:.*]] = llvm.mlir.constant(1 : i64)
// CHECK:       %[[SIX:.*]] = llvm.mlir.constant(6 : i64)
// CHECK:       %[[OWN:.*]] = llvm.mul %[[LAYER]], %[[SIX]]
// CHECK:       %[[FIRST:.*]] = llvm.add %[[SLOT]], %[[OWN]]
// CHECK:       %[[ITEMS:.*]] = llvm.icmp "sgt" %[[N:.*]], %{{.*}} : i64
// CHECK:       llvm.cond_br %[[ITEMS]], ^[[LAUNCH:.*]], ^[[AFTER:.*]]
// CHECK:       ^[[LAUNCH]]:
// CHECK:       %[[TASK:.*]] = llvm.mlir.addressof @kernel.task
// CHECK:       llvm.call %{{.*}}(%{{.*}}, %[[TASK]], %{{.*}}, %[[N]]) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK:       llvm.br ^[[AFTER]]
//
// CHECK:       ^[[AFTER]]:
// CHECK:       %[[USED:.*]] = llvm.icmp "ne" %[[PROBE:.*]], %{{.*}} : !llvm.ptr
// CHECK:       llvm.cond_br %[[USED]]
// CHECK:       llvm.call %[[PROBE]](%{{.*}}, %{{.*}}, %[[LAYER]], %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, i64, !llvm.ptr, i64) -> ()
// CHECK:       %[[WAITS:.*]] = llvm.icmp "ne" %[[AWAIT:.*]], %{{.*}} : !llvm.ptr
// CHECK:       llvm.cond_br %[[WAITS]]
// CHECK:       llvm.call %[[AWAIT]](%{{.*}}, %[[FIRST]]) : !llvm.ptr, (!llvm.ptr, i64) -> ()
func.func private @layer(%layer: index, %s: !dsflash.index_keys<rows = 3, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>, %y: memref<?x4xi8>, %z: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?x4xi8>
  %w = dsflash.param_ref @w[%layer] : !dsflash.weight<[3, 32, 32], <e4m3, e8m0, [32, 32]>>
  dsflash.dispatch @kernel grid(%n) ins(%w, %s, %layer : !dsflash.weight<[3, 32, 32], <e4m3, e8m0, [32, 32]>>,
    !dsflash.index_keys<rows = 3, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>, index) outs(%y : memref<?x4xi8>) {writes_state}
  dsflash.probe "layers.{l}.z"[%layer] %z : memref<?xf32>
  dsflash.await_rows %w : !dsflash.weight<[3, 32, 32], <e4m3, e8m0, [32, 32]>>
  return
}

// CHECK-LABEL: llvm.func internal @forward(
// CHECK-NOT:   no_inline
// CHECK-LABEL: llvm.func internal @forward.entry(%{{.*}}: !llvm.ptr) -> i32
// CHECK-NOT:   dsflash
// CHECK:       llvm.func @dsf_module_query() -> !llvm.ptr
func.func @forward(%s: !dsflash.index_keys<rows = 3, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>> {dsflash.name = "keys.0"},
    %z: memref<?xf32> {dsflash.name = "z", dsflash.dim = "outputs"}, %workspace: memref<?xi8>)
    attributes {dsflash.workspace_row_bytes = 4 : i64, dsflash.workspace_fixed_bytes = 0 : i64} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %z, %c0 : memref<?xf32>
  %y = memref.view %workspace[%c0][%n] : memref<?xi8> to memref<?x4xi8>
  call @layer(%c0, %s, %y, %z) : (index, !dsflash.index_keys<rows = 3, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>, memref<?x4xi8>, memref<?xf32>) -> ()
  return
}
