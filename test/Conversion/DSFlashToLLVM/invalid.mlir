// RUN: dsflash-opt %s --split-input-file --verify-diagnostics --dsflash-thread-call --convert-dsflash-to-llvm

// expected-error @+1 {{argument 0, a state, has no dsflash.name}}
func.func @forward(%s: !dsflash.pending<slots = 2, dim = 4>) {
  return
}

// -----

// expected-error @+1 {{argument 0 of an entry must be a state, the workspace or a buffer of rows with dsflash.name and dsflash.dim, but is 'memref<?x4xf32>'}}
func.func @forward(%x: memref<?x4xf32> {dsflash.name = "x"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 of an entry must be}}
func.func @forward(%x: memref<4x?xf32> {dsflash.name = "x", dsflash.dim = "rows"}) {
  return
}

// -----

// expected-error @+1 {{an entry has no results}}
func.func @forward(%x: memref<?x4xf32> {dsflash.name = "x", dsflash.dim = "rows"}) -> memref<?x4xf32> {
  return %x : memref<?x4xf32>
}

// -----

func.func @forward(%s: !dsflash.pending<slots = 2, dim = 4> {dsflash.name = "pending.0"}) {
  return
}
// expected-error @+1 {{state "pending.0" is '!dsflash.pending<slots = 4, dim = 4>' here and '!dsflash.pending<slots = 2, dim = 4>' in another entry}}
func.func @draft(%s: !dsflash.pending<slots = 4, dim = 4> {dsflash.name = "pending.0"}) {
  return
}

// -----

// expected-error @+1 {{a kernel takes buffers of identity layout, not}}
func.func private @kernel(%begin: index, %end: index, %y: memref<?x4xf32, strided<[8, 1]>>) {
  return
}
func.func private @layer(%n: index, %y: memref<?x4xf32, strided<[8, 1]>>) {
  dsflash.dispatch @kernel grid(%n) outs(%y : memref<?x4xf32, strided<[8, 1]>>)
  return
}
