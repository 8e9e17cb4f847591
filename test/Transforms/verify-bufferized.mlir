// RUN: dsflash-opt %s --dsflash-verify-bufferized=max-alloca-bytes=1024 -split-input-file -verify-diagnostics

func.func @clean(%x: memref<?xf32>, %i: index) -> f32 {
  %0 = memref.alloca() : memref<256xf32>
  %1 = memref.load %x[%i] : memref<?xf32>
  return %1 : f32
}

// -----

// All faults of a module are reported.
func.func @buffers(%x: memref<?xf32>, %n: index) {
  // expected-error @+1 {{'memref.alloc' op allocates; all memory must come from arguments}}
  %0 = memref.alloc(%n) : memref<?xf32>
  // expected-error @+1 {{'memref.copy' op copies a buffer; results must be computed in place}}
  memref.copy %x, %0 : memref<?xf32> to memref<?xf32>
  // expected-error @+1 {{'memref.dealloc' op deallocates; all memory must come from arguments}}
  memref.dealloc %0 : memref<?xf32>
  return
}

// -----

// expected-error @+1 {{'func.func' op works on tensors; expected buffers}}
func.func @tensors(%x: tensor<?xf32>, %layer: index) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'tensor.dim' op is left; expected operations on buffers}}
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  // expected-error @+1 {{'dsflash.probe' op works on tensors; expected buffers}}
  %0 = dsflash.probe "a" %x : tensor<?xf32>
  return
}

// -----

func.func @bufferization(%x: memref<?xf32>) {
  // expected-error @+1 {{'bufferization.clone' op is left; expected operations on buffers}}
  %0 = bufferization.clone %x : memref<?xf32> to memref<?xf32>
  return
}

// -----

func.func @stack(%n: index) {
  // expected-error @+1 {{'memref.alloca' op has a dynamic extent on the stack}}
  %0 = memref.alloca(%n) : memref<?xf32>
  %1 = memref.alloca() : memref<200xf32>
  // expected-error @+1 {{'memref.alloca' op brings the stack of @stack to 1200 bytes, more than 1024}}
  %2 = memref.alloca() : memref<100xf32>
  return
}
