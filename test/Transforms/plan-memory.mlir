// RUN: dsflash-opt %s --dsflash-plan-memory --canonicalize --cse | FileCheck %s

// Two buffers that are in use together lie one behind the other, at multiples of
// 64 bytes a row; a third one takes the place of the first.
// CHECK-LABEL: func @reuse
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x64xf32>, %[[WORKSPACE:[a-z0-9]+]]: memref<?xi8> {dsflash.workspace})
// CHECK-SAME: attributes {dsflash.workspace_fixed_bytes = 0 : i64, dsflash.workspace_row_bytes = 512 : i64}
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: %[[A:.*]] = memref.view %[[WORKSPACE]][%c0][%[[N]]] : memref<?xi8> to memref<?x64xf32>
// CHECK: dsflash.dispatch {{.*}} ins(%[[X]] {{.*}} outs(%[[A]] :
// CHECK: %[[OFFSET:.*]] = arith.muli %[[N]], %c256
// CHECK: %[[B:.*]] = memref.view %[[WORKSPACE]][%[[OFFSET]]][%[[N]]] : memref<?xi8> to memref<?x64xf32>
// CHECK: dsflash.dispatch {{.*}} ins(%[[A]] {{.*}} outs(%[[B]] :
// CHECK: dsflash.dispatch {{.*}} ins(%[[B]] {{.*}} outs(%[[A]] :
// CHECK: dsflash.dispatch {{.*}} ins(%[[A]] {{.*}} outs(%[[X]] :
func.func @reuse(%x: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %a = memref.alloc(%n) {alignment = 64 : i64} : memref<?x64xf32>
  dsflash.dispatch @add grid(%n) ins(%x : memref<?x64xf32>) outs(%a : memref<?x64xf32>)
  %b = memref.alloc(%n) {alignment = 64 : i64} : memref<?x64xf32>
  dsflash.dispatch @add grid(%n) ins(%a : memref<?x64xf32>) outs(%b : memref<?x64xf32>)
  %c = memref.alloc(%n) {alignment = 64 : i64} : memref<?x64xf32>
  dsflash.dispatch @add grid(%n) ins(%b : memref<?x64xf32>) outs(%c : memref<?x64xf32>)
  dsflash.dispatch @add grid(%n) ins(%c : memref<?x64xf32>) outs(%x : memref<?x64xf32>)
  return
}

// n is the largest extent of all arguments. Sizes are rounded up to 64 bytes (a
// row), an extent may be a multiple of n, and buffers of fixed size lie last.
// CHECK-LABEL: func @sizes
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x3xf32>, %[[Y:[a-z0-9]+]]: memref<?xi32>, %[[WORKSPACE:[a-z0-9]+]]: memref<?xi8>
// CHECK-SAME: attributes {dsflash.workspace_fixed_bytes = 64 : i64, dsflash.workspace_row_bytes = 128 : i64}
// CHECK-DAG: %[[XROWS:.*]] = memref.dim %[[X]]
// CHECK-DAG: %[[YROWS:.*]] = memref.dim %[[Y]]
// CHECK-DAG: %[[N:.*]] = arith.maxsi %[[XROWS]], %[[YROWS]]
// CHECK-DAG: %[[SLOTS:.*]] = arith.muli %[[XROWS]], %c6
// CHECK: %[[ROW:.*]] = memref.view %[[WORKSPACE]][%c0][%[[XROWS]]] : memref<?xi8> to memref<?x3xf32>
// CHECK: %[[SECOND:.*]] = arith.muli %[[N]], %c64
// CHECK: %[[SLOT:.*]] = memref.view %[[WORKSPACE]][%[[SECOND]]][%[[SLOTS]]] : memref<?xi8> to memref<?xi32>
// CHECK: %[[THIRD:.*]] = arith.muli %[[N]], %c128
// CHECK: %[[FIXED:.*]] = memref.view %[[WORKSPACE]][%[[THIRD]]][] : memref<?xi8> to memref<5xi32>
// CHECK: dsflash.dispatch @sizes_kernel {{.*}} outs(%[[ROW]], %[[SLOT]], %[[FIXED]]
func.func @sizes(%x: memref<?x3xf32>, %y: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  %slots = arith.muli %n, %c6 : index
  %a = memref.alloc(%n) : memref<?x3xf32>
  %b = memref.alloc(%slots) : memref<?xi32>
  %c = memref.alloc() : memref<5xi32>
  dsflash.dispatch @sizes_kernel grid(%n) outs(%a, %b, %c : memref<?x3xf32>, memref<?xi32>, memref<5xi32>)
  return
}

// An extent of n and a few more takes bytes of each kind.
// CHECK-LABEL: func @few_more
// CHECK-SAME: attributes {dsflash.workspace_fixed_bytes = 768 : i64, dsflash.workspace_row_bytes = 128 : i64}
// CHECK: %[[MORE:.*]] = arith.addi %{{.*}}, %c2
// CHECK: memref.view %{{.*}}[%c0][%[[MORE]]] : memref<?xi8> to memref<?x32xf32>
// CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %c128
// CHECK: %[[BEHIND:.*]] = arith.addi %[[ROWS]], %c256
// CHECK: memref.view %{{.*}}[%[[BEHIND]]][] : memref<?xi8> to memref<128xf32>
func.func @few_more(%x: memref<?x3xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  %more = arith.addi %n, %c2 : index
  %a = memref.alloc(%more) : memref<?x32xf32>
  %b = memref.alloc() : memref<128xf32>
  dsflash.dispatch @few_more_kernel grid(%n) outs(%a, %b : memref<?x32xf32>, memref<128xf32>)
  return
}

// A callee works in the part that is free during its call: beside what the
// caller keeps, in the place of what it does not keep. A layer that gets k * n rows needs k times as much.
// CHECK-LABEL: func @forward
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x64xf32>, %[[WORKSPACE:[a-z0-9]+]]: memref<?xi8>
// CHECK-SAME: attributes {dsflash.workspace_fixed_bytes = 0 : i64, dsflash.workspace_row_bytes = 1536 : i64}
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: %[[NEED:.*]] = arith.muli %[[N]], %c1024
// CHECK: %[[KEPT:.*]] = memref.view %[[WORKSPACE]][%[[NEED]]][%{{.*}}] : memref<?xi8> to memref<?x64xf32>
// CHECK: %[[FREE:.*]] = memref.view %[[WORKSPACE]][%c0][%[[NEED]]] : memref<?xi8> to memref<?xi8>
// CHECK: call @reuse(%[[KEPT]], %[[FREE]])
// CHECK: %[[LESS:.*]] = arith.muli %[[N]], %c512
// CHECK: %[[ALL:.*]] = memref.view %[[WORKSPACE]][%c0][%[[LESS]]] : memref<?xi8> to memref<?xi8>
// CHECK: call @reuse(%[[X]], %[[ALL]])
func.func @forward(%x: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %m = arith.muli %n, %c2 : index
  %a = memref.alloc(%m) : memref<?x64xf32>
  call @reuse(%a) : (memref<?x64xf32>) -> ()
  call @reuse(%x) : (memref<?x64xf32>) -> ()
  return
}

// Kernels have nothing to plan.
// CHECK-LABEL: func private @add(
// CHECK-NOT: workspace
func.func private @add(%begin: index, %end: index, %x: memref<?x64xf32>, %y: memref<?x64xf32>) attributes {dsflash.kernel} {
  return
}
func.func private @sizes_kernel(index, index, memref<?x3xf32>, memref<?xi32>, memref<5xi32>) attributes {dsflash.kernel}
func.func private @few_more_kernel(index, index, memref<?x32xf32>, memref<128xf32>) attributes {dsflash.kernel}
