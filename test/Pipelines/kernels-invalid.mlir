// RUN: dsflash-opt %s --dsflash-kernels-pipeline -verify-diagnostics

// A value that is needed after it was overwritten would cost a copy.
func.func @old_value(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  // expected-error @+1 {{'memref.copy' op copies a buffer; results must be computed in place}}
  %0 = dsflash.dispatch @add grid(%n) ins(%y : tensor<?x64xf32>) outs(%x : tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = dsflash.dispatch @add grid(%n) ins(%0 : tensor<?x64xf32>) outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = dsflash.dispatch @add grid(%n) ins(%x : tensor<?x64xf32>) outs(%1 : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

func.func private @add(index, index, memref<?x64xf32>, memref<?x64xf32>) attributes {dsflash.kernel}
