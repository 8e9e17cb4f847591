func.func @forward(%x: tensor<?x64xf32> {dsflash.name = "x", dsflash.dim = "rows"},
    %y: tensor<?x64xf32> {dsflash.name = "y", dsflash.dim = "rows"})
    -> (tensor<?x64xf32> {dsflash.name = "z", dsflash.dim = "rows"}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %0 = dsflash.dispatch @add grid(%n) ins(%y : tensor<?x64xf32>) outs(%x : tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = dsflash.dispatch @add grid(%n) ins(%0 : tensor<?x64xf32>) outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = dsflash.dispatch @add grid(%n) ins(%x : tensor<?x64xf32>) outs(%1 : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

func.func private @add(index, index, memref<?x64xf32>, memref<?x64xf32>) attributes {dsflash.kernel}
