// RUN: dsflash-opt %s --split-input-file --verify-diagnostics --dsflash-thread-call --convert-dsflash-to-llvm --dsflash-verify-llvm

// Every operation without a lowering is reported, not only the first.
func.func private @left(%m: memref<4x4xf32>, %x: f32, %i: index) {
  // expected-error @+1 {{no lowering to LLVM for 'math.erf'}}
  %a = math.erf %x : f32
  // expected-error @+1 {{no lowering to LLVM for 'vector.transfer_read'}}
  %b = vector.transfer_read %m[%i, %i], %x : memref<4x4xf32>, vector<4x4xf32>
  // expected-error @+1 {{no lowering to LLVM for 'tensor.empty'}}
  %t = tensor.empty(%i) : tensor<?x4xf32>
  // expected-error @+1 {{no lowering to LLVM for 'dsflash.round'}}
  %c = dsflash.round %t {point = "kv"} : tensor<?x4xf32>
  return
}

// -----

// expected-error @below {{generated code may not call external 'erff'}}
func.func private @erff(f32) -> f32
func.func private @calls(%x: f32) -> f32 {
  // expected-error @+1 {{'llvm.intr.exp' would become a library call}}
  %a = math.exp %x : f32
  // expected-error @+1 {{'llvm.frem' would become a library call}}
  %b = arith.remf %a, %x : f32
  %c = call @erff(%b) : (f32) -> f32
  return %c : f32
}

// -----

// expected-error @-2 {{generated code may not call external 'malloc'}}
func.func private @allocates() -> memref<4xf32> {
  %a = memref.alloc() : memref<4xf32>
  return %a : memref<4xf32>
}

// -----

// A launch of a kernel that is not there does not reach the translation.
func.func private @launches(%n: index) {
  // expected-error @+1 {{(C1) expected a kernel function named nowhere}}
  dsflash.dispatch @nowhere grid(%n)
  return
}
