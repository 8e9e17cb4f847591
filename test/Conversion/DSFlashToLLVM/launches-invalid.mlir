// RUN: dsflash-opt %s --split-input-file --verify-diagnostics --dsflash-verify-llvm

// Launches that nothing here lowers must not vanish: with an async token, of a
// kernel that is not there, of a kernel in a nested module.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  llvm.func @forward(%one: i64) {
    // expected-error @below {{no lowering to LLVM for 'gpu.wait'}}
    %token = gpu.wait async
    // expected-error @below {{no lowering to LLVM for 'gpu.launch_func'}}
    %done = gpu.launch_func async [%token] @kernels::@k blocks in (%one, %one, %one) threads in (%one, %one, %one) : i64
    llvm.return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
  }
  llvm.func @forward(%one: i64) {
    // expected-error @below {{'gpu.launch_func' op kernel function '@kernels::@missing' is undefined}}
    gpu.launch_func @kernels::@missing blocks in (%one, %one, %one) threads in (%one, %one, %one) : i64
    llvm.return
  }
}

// -----

// expected-error @below {{no lowering to LLVM for 'builtin.module'}}
module @nested {
  llvm.func @k() {
    llvm.return
  }
}
llvm.func @forward() {
  llvm.return
}
