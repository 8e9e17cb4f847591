// RUN: dsflash-opt %s --dsflash-legalize-numerics=mode=reference -verify-diagnostics

// expected-error @+1 {{reference numerics cannot be made from ideal ones}}
module attributes {dsflash.numerics = "ideal"} {
}
