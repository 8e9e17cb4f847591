// RUN: dsflash-opt %s --dsflash-thread-call --convert-dsflash-to-llvm="device=nvptx:sm_80" --dsflash-outline-device --dsflash-verify-addressing --dsflash-verify-llvm | FileCheck %s

// The launch passes the kernel's number, the items and the packed arguments:
// call, items, address and size of x, then of y.
// CHECK-LABEL: llvm.func internal @forward(
// CHECK:       %[[ENV:.*]] = llvm.load %{{.*}} invariant
// CHECK:       %[[NUMBER:.*]] = llvm.mlir.constant(0 : i32)
// CHECK:       %[[BYTES:.*]] = llvm.mlir.constant(48 : i64)
// CHECK:       llvm.call %{{.*}}(%{{.*}}, %[[NUMBER]], %{{.*}}, %{{.*}}, %[[BYTES]]) : !llvm.ptr, (!llvm.ptr, i32, i64, !llvm.ptr, i64) -> ()

// The host reads a tensor that it gets, and the table says so.
// CHECK-LABEL: llvm.func internal @counted(
// CHECK:       llvm.load %{{.*}} : !llvm.ptr -> i32

// An entry of the host runs its launches there, by a kernel of its own.
// CHECK-LABEL: llvm.func internal @twice_host(
// CHECK-LABEL: llvm.func internal @on_host(
// CHECK:       llvm.mlir.addressof @twice_host.task

// The table has the device's codes and kernels.
// CHECK-DAG: llvm.mlir.global external constant @dsf.device_codes() {{.*}} : i8
// CHECK-DAG: llvm.mlir.global internal constant @dsf.kernels()

// CHECK-LABEL: gpu.module @device_code
// CHECK:       llvm.func internal @helper(
// CHECK-SAME:  no_inline
// CHECK:       llvm.func internal @copy.body(
// CHECK-NOT:   prefetch

// A thread takes the items that are as far away as there are threads.
// CHECK:       llvm.func @copy(
// CHECK-SAME:  %[[CALL:[^:]*]]: !llvm.ptr, %[[COUNT:[^:]*]]: i64, %[[X:[^:]*]]: !llvm.ptr, %[[NX:[^:]*]]: i64, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: i64)
// CHECK-SAME:  nvvm.kernel
// CHECK:       nvvm.read.ptx.sreg.ntid.x
// CHECK:       nvvm.read.ptx.sreg.ctaid.x
// CHECK:       nvvm.read.ptx.sreg.tid.x
// CHECK:       nvvm.read.ptx.sreg.nctaid.x
// CHECK:       llvm.br ^[[HEAD:.*]](%{{.*}} : i64)
// CHECK:       ^[[HEAD]](%[[ITEM:.*]]: i64):
// CHECK:       llvm.icmp "slt" %[[ITEM]], %[[COUNT]] : i64
// CHECK:       llvm.cond_br
// CHECK:       llvm.call @copy.body(%[[CALL]], %[[ITEM]],
// CHECK:       llvm.br ^[[HEAD]]
func.func private @helper(%x: memref<?xf32>, %i: index) -> f32 {
  %v = memref.load %x[%i] : memref<?xf32>
  return %v : f32
}
func.func private @copy(%begin: index, %end: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  memref.prefetch %x[%begin], read, locality<3>, data : memref<?xf32>
  %a = call @helper(%x, %begin) : (memref<?xf32>, index) -> f32
  %b = call @helper(%x, %begin) : (memref<?xf32>, index) -> f32
  %sum = arith.addf %a, %b : f32
  memref.store %sum, %y[%begin] : memref<?xf32>
  return
}
func.func @forward(%x: memref<?xf32> {dsflash.name = "x", dsflash.dim = "rows"}, %y: memref<?xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  dsflash.dispatch @copy grid(%n) ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}
func.func @counted(%count: memref<?xi32> {dsflash.name = "extents", dsflash.dim = "sequences"},
                   %x: memref<?xf32> {dsflash.name = "x", dsflash.dim = "rows"},
                   %y: memref<?xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %rows = memref.load %count[%c0] : memref<?xi32>
  %n = arith.index_cast %rows : i32 to index
  dsflash.dispatch @copy grid(%n) ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}
func.func private @twice(%begin: index, %end: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %a = memref.load %x[%begin] : memref<?xf32>
  %sum = arith.addf %a, %a : f32
  memref.store %sum, %y[%begin] : memref<?xf32>
  return
}
func.func @on_host(%x: memref<?xf32> {dsflash.name = "x", dsflash.dim = "rows"},
                   %y: memref<?xf32> {dsflash.name = "y", dsflash.dim = "rows"}) attributes {dsflash.host} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  dsflash.dispatch @twice grid(%n) ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}
