// RUN: dsflash-opt %s --dsflash-export-function=function=f -split-input-file -verify-diagnostics

// expected-error @+1 {{has no function @f}}
module {
  func.func @g() {
    return
  }
}

// -----

// expected-error @+1 {{@f has no body}}
func.func private @f(tensor<?x64xf32>)

// -----

// expected-error @+1 {{@f is a kernel, which runs on a part of a launch; expected a function that launches it}}
func.func private @f(%begin: index, %end: index, %x: memref<?x64xf32>) attributes {dsflash.kernel} {
  return
}
