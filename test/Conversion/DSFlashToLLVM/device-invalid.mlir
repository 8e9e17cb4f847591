// RUN: dsflash-opt %s --split-input-file --verify-diagnostics --dsflash-thread-call --convert-dsflash-to-llvm="device=nvptx:sm_80" --dsflash-outline-device

// expected-error @below {{a kernel of a device has a name of letters, digits and '_', not 'copy rows'}}
func.func private @"copy rows"(%begin: index, %end: index, %y: memref<?xf32>) {
  return
}
func.func @forward(%y: memref<?xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  dsflash.dispatch @"copy rows" grid(%n) outs(%y : memref<?xf32>)
  return
}

// -----

func.func private @shared(%y: memref<?xf32>) {
  return
}
func.func private @kernel(%begin: index, %end: index, %y: memref<?xf32>) {
  call @shared(%y) : (memref<?xf32>) -> ()
  return
}
func.func @forward(%y: memref<?xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  dsflash.dispatch @kernel grid(%n) outs(%y : memref<?xf32>)
  // expected-error @below {{the host uses 'shared', a part of a kernel}}
  call @shared(%y) : (memref<?xf32>) -> ()
  return
}

// -----

// The host has a buffer's address and size, and may not touch what is there.
func.func private @kernel(%begin: index, %end: index, %y: memref<?xf32>) {
  return
}
func.func private @layer(%y: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  // expected-error @below {{the host may not look at data of a device}}
  %x = memref.load %y[%c0] : memref<?xf32>
  dsflash.dispatch @kernel grid(%n) outs(%y : memref<?xf32>)
  return %x : f32
}
func.func @forward(%y: memref<?xf32> {dsflash.name = "y", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  %x = call @layer(%y, %n) : (memref<?xf32>, index) -> f32
  // expected-error @below {{the host may not look at data of a device}}
  memref.store %x, %y[%c0] : memref<?xf32>
  return
}

// -----

// Nor what is written in its call.
func.func private @kernel(%begin: index, %end: index, %y: memref<?xf32>) {
  %c0 = arith.constant 0.0 : f32
  memref.store %c0, %y[%begin] : memref<?xf32>
  return
}
func.func @forward(%y: memref<?xi32> {dsflash.name = "y", dsflash.dim = "rows"},
                   %z: memref<?xf32> {dsflash.name = "z", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %count = memref.load %y[%c0] : memref<?xi32>
  %n = arith.index_cast %count : i32 to index
  dsflash.dispatch @kernel grid(%n) outs(%z : memref<?xf32>)
  // expected-error @below {{the host may not look at data of a device}}
  %x = memref.load %z[%c0] : memref<?xf32>
  return
}
