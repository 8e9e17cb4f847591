// RUN: dsflash-opt %s --dsflash-align-vectors | FileCheck %s

// An address is as aligned as its row, its column and its buffer are.
// CHECK-LABEL: func.func private @rows(
func.func private @rows(%begin: index, %end: index, %x: memref<?x64xf32>, %y: memref<?x6xf32>, %z: memref<?x64xi8>) attributes {dsflash.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %row = %begin to %end step %c1 {
    scf.for %f = %c0 to %c64 step %c4 {
      // CHECK: vector.load %{{.*}} {alignment = 16 : i64} : memref<?x64xf32>, vector<4xf32>
      %a = vector.load %x[%row, %f] : memref<?x64xf32>, vector<4xf32>
      // A row of 24 bytes.
      // CHECK: vector.store %{{.*}} {alignment = 8 : i64} : memref<?x6xf32>, vector<4xf32>
      vector.store %a, %y[%row, %c0] : memref<?x6xf32>, vector<4xf32>
      // CHECK: vector.load %{{.*}} {alignment = 4 : i64} : memref<?x64xi8>, vector<8xi8>
      %b = vector.load %z[%row, %f] : memref<?x64xi8>, vector<8xi8>
      // CHECK: vector.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x64xf32>, vector<4xf32>
      %next = arith.addi %f, %c1 : index
      %c = vector.load %x[%row, %next] : memref<?x64xf32>, vector<4xf32>
      vector.store %c, %x[%row, %f] {alignment = 4 : i64} : memref<?x64xf32>, vector<4xf32>
    }
  }
  return
}

// A view keeps what its offset leaves; an index that was loaded counts rows.
// CHECK-LABEL: func.func private @views(
func.func private @views(%begin: index, %end: index, %x: memref<?x64xf32>, %ids: memref<?xi32>) attributes {dsflash.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %id = memref.load %ids[%begin] : memref<?xi32>
  %row = arith.index_cast %id : i32 to index
  // CHECK: vector.load %{{.*}} {alignment = 16 : i64}
  %a = vector.load %x[%row, %c0] : memref<?x64xf32>, vector<4xf32>
  %v = memref.subview %x[%row, %c2] [1, 32] [1, 1] : memref<?x64xf32> to memref<32xf32, strided<[1], offset: ?>>
  // CHECK: vector.store %{{.*}} {alignment = 8 : i64}
  vector.store %a, %v[%c0] : memref<32xf32, strided<[1], offset: ?>>, vector<4xf32>
  return
}

// The host's functions are left alone.
// CHECK-LABEL: func.func @host(
// CHECK-NOT:   alignment
func.func @host(%x: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0, %c0] : memref<?x64xf32>, vector<4xf32>
  vector.store %a, %x[%c0, %c0] : memref<?x64xf32>, vector<4xf32>
  return
}
