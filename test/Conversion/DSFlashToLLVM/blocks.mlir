// RUN: split-file %s %t
// RUN: dsflash-opt %t/block.mlir --dsflash-thread-call --convert-dsflash-to-llvm="device=nvptx:sm_80" --dsflash-outline-device --dsflash-verify-addressing --dsflash-verify-llvm | FileCheck %s
// RUN: dsflash-opt %t/block.mlir --dsflash-llvm-pipeline="device=nvptx:sm_80" | FileCheck %s --check-prefix=PTX
// RUN: not dsflash-opt %t/block.mlir --dsflash-llvm-pipeline="device=nvptx:sm_90a" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not dsflash-opt %t/block.mlir --dsflash-llvm-pipeline 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not dsflash-opt %t/large.mlir --dsflash-llvm-pipeline="device=nvptx:sm_80" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not dsflash-opt %t/unconfigured.mlir --dsflash-llvm-pipeline="device=nvptx:sm_80" 2>&1 | FileCheck %s --check-prefix=NOCONFIG

// The table says how the kernel is launched: 64 threads, 1024 bytes, one item a block.
// CHECK-LABEL: llvm.mlir.global internal constant @dsf.kernels()
// CHECK:       llvm.mlir.constant(64 : i32)
// CHECK:       llvm.mlir.constant(1024 : i32)
// CHECK:       llvm.mlir.constant(1 : i64)

// Its shared memory is as large as the launch says; a block runs an item and
// goes on a whole grid behind it.
// CHECK-LABEL: gpu.module @device_code
// CHECK:       llvm.mlir.global external @dsflash_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
// CHECK:       llvm.func @turn(
// CHECK-SAME:  nvvm.kernel
// CHECK-SAME:  nvvm.maxntid = array<i32: 64>, nvvm.minctasm = 1 : i32
// CHECK-NOT:   sreg.ntid
// CHECK:       nvvm.read.ptx.sreg.ctaid.x
// CHECK:       nvvm.read.ptx.sreg.nctaid.x
// CHECK:       llvm.call @turn.body(

// PTX: .extern .shared .align 128 .b8 dsflash_shared[];
// PTX-SAME: .visible .entry turn(
// PTX-SAME: .maxntid 64
// PTX-SAME: .minnctapersm 1
// PTX-SAME: bar.sync

// A kernel for one architecture does not go to another (case 37), and none asks
// for more than its architecture has (case 39).
// OTHER: error: the kernels were made for 'nvptx:sm_80', not for 'nvptx:sm_90a'
// HOST: error: the kernels were made for 'nvptx:sm_80', not for 'cpu'
// LARGE: large.mlir:{{[0-9]+}}:{{[0-9]+}}: error: a block needs 166913 bytes of shared memory, 'nvptx:sm_80' has 166912
// NOCONFIG: error: a kernel of blocks in a module without dsflash.config (run dsflash-select-config before)

//--- block.mlir
module attributes {dsflash.config = #dsflash.config<"nvptx:sm_80", lanes = 4, threads = 32, shared_bytes = 166912>} {
memref.global @dsflash_shared : memref<0xi8, 3> {alignment = 128}
func.func private @turn(%item: index, %end: index, %x: memref<?x64xi32>, %y: memref<?x64xi32>) attributes {dsflash.block = #dsflash.block<threads = 64, shared_bytes = 1024>} {
  %c0 = arith.constant 0 : index
  %c63 = arith.constant 63 : index
  %id = nvvm.read.ptx.sreg.tid.x : i32
  %thread = arith.index_cast %id : i32 to index
  %all = memref.get_global @dsflash_shared : memref<0xi8, 3>
  %row = memref.view %all[%c0][] : memref<0xi8, 3> to memref<64xi32, 3>
  %v = memref.load %x[%item, %thread] : memref<?x64xi32>
  memref.store %v, %row[%thread] : memref<64xi32, 3>
  nvvm.barrier0
  %other = arith.subi %c63, %thread : index
  %w = memref.load %row[%other] : memref<64xi32, 3>
  memref.store %w, %y[%item, %thread] : memref<?x64xi32>
  return
}
func.func @forward(%x: memref<?x64xi32> {dsflash.name = "x", dsflash.dim = "rows"}, %y: memref<?x64xi32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x64xi32>
  dsflash.dispatch @turn grid(%n) ins(%x : memref<?x64xi32>) outs(%y : memref<?x64xi32>)
  return
}
}

//--- large.mlir
module attributes {dsflash.config = #dsflash.config<"nvptx:sm_80", lanes = 4, threads = 32, shared_bytes = 166912>} {
func.func private @k(%item: index, %end: index, %y: memref<?xi32>) attributes {dsflash.block = #dsflash.block<threads = 64, shared_bytes = 166913>} {
  return
}
func.func @forward(%y: memref<?xi32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xi32>
  dsflash.dispatch @k grid(%n) outs(%y : memref<?xi32>)
  return
}
}

//--- unconfigured.mlir
func.func private @k(%item: index, %end: index, %y: memref<?xi32>) attributes {dsflash.block = #dsflash.block<threads = 64, shared_bytes = 16>} {
  return
}
func.func @forward(%y: memref<?xi32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xi32>
  dsflash.dispatch @k grid(%n) outs(%y : memref<?xi32>)
  return
}
