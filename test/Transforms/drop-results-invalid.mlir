// RUN: dsflash-opt %s --dsflash-drop-results -split-input-file -verify-diagnostics

func.func @new_buffer(%x: memref<?xf32>, %n: index) -> (memref<?xf32>, memref<?xf32>) {
  %0 = memref.alloc(%n) : memref<?xf32>
  // expected-error @+1 {{'func.return' op expected result #1 to be an argument of the function}}
  return %x, %0 : memref<?xf32>, memref<?xf32>
}
