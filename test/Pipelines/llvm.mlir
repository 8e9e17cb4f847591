// RUN: dsflash-opt %s --dsflash-llvm-pipeline="compiler=test triple=x86_64-unknown-linux-gnu features=avx2,fma" | FileCheck %s

// CHECK-DAG: "test\00"
// CHECK-DAG: "x86_64-unknown-linux-gnu\00"
// CHECK-DAG: "avx2,fma\00"
// CHECK-DAG: llvm.func @dsf_module_query() -> !llvm.ptr
module attributes {dsflash.numerics = "reference"} {
  func.func @forward(%x: memref<?xf32> {dsflash.name = "x", dsflash.dim = "rows"}, %workspace: memref<?xi8> {dsflash.workspace})
      attributes {dsflash.workspace_fixed_bytes = 0 : i64, dsflash.workspace_row_bytes = 0 : i64} {
    return
  }
}
