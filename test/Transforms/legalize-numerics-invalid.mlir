// RUN: dsflash-opt %s --dsflash-legalize-numerics=mode=exact -split-input-file -verify-diagnostics

// expected-error @+1 {{expected the numerics 'reference' or 'ideal' but got 'exact'}}
module {
}
