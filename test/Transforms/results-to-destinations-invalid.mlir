// RUN: dsflash-opt %s --dsflash-results-to-destinations -split-input-file -verify-diagnostics

func.func @not_in_place() -> tensor<2xf32> {
  // expected-error @+1 {{'arith.constant' op expected result #0 of @not_in_place to be computed in a tensor.empty or an argument}}
  %0 = arith.constant dense<1.0> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @twice(%x: tensor<?xf32>) -> (tensor<?xf32> {dsflash.name = "a"}, tensor<?xf32> {dsflash.name = "b"}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %0 = tensor.empty(%n) : tensor<?xf32>
  %1 = dsflash.dispatch @kernel grid(%n) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
  // expected-error @+1 {{'func.return' op result #1 has the destination of another one}}
  return %1, %1 : tensor<?xf32>, tensor<?xf32>
}
func.func private @kernel(index, index, memref<?xf32>) attributes {dsflash.kernel}

// -----

// expected-error @+1 {{'func.func' op calls itself}}
func.func private @recursive(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @recursive(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// expected-error @+1 {{'func.func' op expected one block}}
func.func @branches(%x: tensor<?xf32>) -> tensor<?xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<?xf32>
}

// -----

func.func @unknown_extent(%x: tensor<?xi32>) {
  // expected-error @+1 {{'func.call' op cannot tell the extents of a result from the operands}}
  %0 = call @count(%x) : (tensor<?xi32>) -> tensor<?xi32>
  return
}
func.func private @count(%x: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %0 = tensor.extract %x[%c0] : tensor<?xi32>
  %n = arith.index_cast %0 : i32 to index
  %1 = tensor.empty(%n) : tensor<?xi32>
  %2 = dsflash.dispatch @kernel grid(%n) outs(%1 : tensor<?xi32>) -> tensor<?xi32>
  return %2 : tensor<?xi32>
}
func.func private @kernel(index, index, memref<?xi32>) attributes {dsflash.kernel}
