// RUN: dsflash-opt %s -convert-dsflash-to-kernels -verify-diagnostics

// Everything that is left is named, not just the first.
func.func @forward(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // expected-error @below {{'dsflash.encoder' op has no lowering to kernels}}
  %0 = dsflash.encoder : tensor<?x16xf32> {
    %1 = dsflash.round %x {point = "x"} : tensor<?x16xf32>
    // expected-error @below {{'dsflash.yield' op has no lowering to kernels}}
    dsflash.yield %1 : tensor<?x16xf32>
  }
  // expected-error @below {{'dsflash.decoder' op has no lowering to kernels}}
  %2 = dsflash.decoder : tensor<?x16xf32> {
    // expected-error @below {{'dsflash.yield' op has no lowering to kernels}}
    dsflash.yield %0 : tensor<?x16xf32>
  }
  return %2 : tensor<?x16xf32>
}
