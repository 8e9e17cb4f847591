// RUN: dsflash-opt %s --dsflash-plan-memory -split-input-file -verify-diagnostics

func.func @unknown_extent(%n: index) {
  // expected-error @+1 {{'memref.alloc' op expected the leading extent to be a constant times the one of an argument plus a constant}}
  %0 = memref.alloc(%n) : memref<?xf32>
  dsflash.probe "a" %0 : memref<?xf32>
  return
}

// -----

func.func @inner_extent(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  // expected-error @+1 {{'memref.alloc' op expected a plain layout with no dynamic extent but the leading one}}
  %0 = memref.alloc(%n) : memref<4x?xf32>
  dsflash.probe "a" %0 : memref<4x?xf32>
  return
}

// -----

func.func @returned(%x: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %0 = memref.alloc(%n) : memref<?xf32>
  // expected-error @+1 {{'func.return' op returns a buffer of the function's own}}
  return %0 : memref<?xf32>
}

// -----

func.func @deallocated(%x: memref<?xf32>) {
  // expected-error @+1 {{'memref.dealloc' op expected nothing to be deallocated}}
  memref.dealloc %x : memref<?xf32>
  return
}
