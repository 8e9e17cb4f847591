// RUN: dsflash-opt %s --split-input-file --dsflash-thread-call --convert-dsflash-to-llvm="device=nvptx:sm_80" | FileCheck %s

// Two kernels that differ in sizes: one entry, which takes what differs. The
// table keeps the kernels apart.
// CHECK-LABEL: llvm.func internal @scale_8x4_f32.body(
// CHECK-SAME:  %[[INSIDE:[^:]*]]: i64) attributes
// CHECK:       llvm.mul %{{.*}}, %[[INSIDE]]
// CHECK:       llvm.func @scale_f32(
// CHECK-SAME:  %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: i64, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: i64, %[[SIZE:[^:]*]]: i64) attributes {nvvm.kernel
// CHECK:       llvm.call @scale_8x4_f32.body({{.*}}, %[[SIZE]], %[[SIZE]], %{{[^,]*}}, %[[SIZE]])
// CHECK-NOT:   @scale_8x6_f32(
// CHECK:       llvm.mlir.global internal constant @dsf.kernel.text.0("scale_8x4_f32\00")
// CHECK:       llvm.mlir.global internal constant @dsf.kernel.text.1("scale_f32\00")
// CHECK:       llvm.mlir.global internal constant @dsf.constants.scale_8x4_f32(dense<4> : tensor<1xi64>)
// CHECK:       llvm.mlir.global internal constant @dsf.kernel.text.2("scale_8x6_f32\00")
// CHECK:       llvm.mlir.global internal constant @dsf.constants.scale_8x6_f32(dense<6> : tensor<1xi64>)
// CHECK:       llvm.mlir.global internal constant @dsf.kernels()
// CHECK:       llvm.mlir.addressof @dsf.kernel.text.1
// CHECK:       llvm.mlir.addressof @dsf.constants.scale_8x4_f32
// CHECK:       llvm.mlir.addressof @dsf.kernel.text.1
// CHECK:       llvm.mlir.addressof @dsf.constants.scale_8x6_f32
func.func private @scale_8x4_f32(%begin: index, %end: index, %x: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%begin, %c0] : memref<?x4xf32>
  %sum = arith.addf %a, %a : f32
  memref.store %sum, %x[%begin, %c0] : memref<?x4xf32>
  return
}
func.func private @scale_8x6_f32(%begin: index, %end: index, %x: memref<?x6xf32>) {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%begin, %c0] : memref<?x6xf32>
  %sum = arith.addf %a, %a : f32
  memref.store %sum, %x[%begin, %c0] : memref<?x6xf32>
  return
}
func.func @forward(%x: memref<?x4xf32> {dsflash.name = "x", dsflash.dim = "rows"},
                   %y: memref<?x6xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  dsflash.dispatch @scale_8x4_f32 grid(%n) outs(%x : memref<?x4xf32>)
  dsflash.dispatch @scale_8x6_f32 grid(%n) outs(%y : memref<?x6xf32>)
  return
}

// -----

// A divisor chooses the instructions: these stay two kernels. So do those of
// other operations.
// CHECK-DAG: llvm.func @halve_2(
// CHECK-DAG: llvm.func @halve_3(
// CHECK-DAG: llvm.func @drop_3(
// CHECK-NOT: dsf.constants
func.func private @halve_2(%begin: index, %end: index, %x: memref<?xf32>) {
  %c2 = arith.constant 2 : index
  %i = arith.divui %begin, %c2 : index
  %a = memref.load %x[%i] : memref<?xf32>
  memref.store %a, %x[%begin] : memref<?xf32>
  return
}
func.func private @halve_3(%begin: index, %end: index, %x: memref<?xf32>) {
  %c3 = arith.constant 3 : index
  %i = arith.divui %begin, %c3 : index
  %a = memref.load %x[%i] : memref<?xf32>
  memref.store %a, %x[%begin] : memref<?xf32>
  return
}
func.func private @drop_3(%begin: index, %end: index, %x: memref<?xf32>) {
  %c3 = arith.constant 3 : index
  %i = arith.subi %begin, %c3 : index
  %a = memref.load %x[%i] : memref<?xf32>
  memref.store %a, %x[%begin] : memref<?xf32>
  return
}
func.func @forward(%x: memref<?xf32> {dsflash.name = "x", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  dsflash.dispatch @halve_2 grid(%n) outs(%x : memref<?xf32>)
  dsflash.dispatch @halve_3 grid(%n) outs(%x : memref<?xf32>)
  dsflash.dispatch @drop_3 grid(%n) outs(%x : memref<?xf32>)
  return
}

// -----

// Blocks of other sizes are launched in another way.
// CHECK-DAG: llvm.func @load_4(
// CHECK-DAG: llvm.func @load_6(
// CHECK-NOT: dsf.constants
module attributes {dsflash.config = #dsflash.config<"nvptx:sm_80", lanes = 4, threads = 32, shared_bytes = 1024>} {
  func.func private @load_4(%begin: index, %end: index, %x: memref<?x4xf32>) attributes {dsflash.block = #dsflash.block<threads = 32, shared_bytes = 0>} {
    %c0 = arith.constant 0 : index
    %a = memref.load %x[%begin, %c0] : memref<?x4xf32>
    memref.store %a, %x[%c0, %c0] : memref<?x4xf32>
    return
  }
  func.func private @load_6(%begin: index, %end: index, %x: memref<?x6xf32>) attributes {dsflash.block = #dsflash.block<threads = 64, shared_bytes = 0>} {
    %c0 = arith.constant 0 : index
    %a = memref.load %x[%begin, %c0] : memref<?x6xf32>
    memref.store %a, %x[%c0, %c0] : memref<?x6xf32>
    return
  }
  func.func @forward(%x: memref<?x4xf32> {dsflash.name = "x", dsflash.dim = "rows"},
                     %y: memref<?x6xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %x, %c0 : memref<?x4xf32>
    dsflash.dispatch @load_4 grid(%n) outs(%x : memref<?x4xf32>)
    dsflash.dispatch @load_6 grid(%n) outs(%y : memref<?x6xf32>)
    return
  }
}
