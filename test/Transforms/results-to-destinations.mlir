// RUN: dsflash-opt %s --dsflash-results-to-destinations --canonicalize | FileCheck %s

!window = !dsflash.window<layers = 2, slots = 13, dim = 64, <f32>>

// The attributes of a result go with it. A destination that a call filled is
// one of the entry's own; its extent is that of the operand that the layer's extent comes from.
// CHECK-LABEL: func @forward
// CHECK-SAME: %[[TOKENS:[a-z0-9]+]]: tensor<?xi32> {dsflash.name = "tokens"}
// CHECK-SAME: %[[STREAM:[a-z0-9]+]]: tensor<?x64xf32> {bufferization.writable = true, dsflash.dim = "rows", dsflash.name = "stream"}
// CHECK-SAME: %[[SELECTED:[a-z0-9]+]]: tensor<?x8xi32> {bufferization.writable = true, dsflash.dim = "rows", dsflash.name = "selected"}
// CHECK-SAME: -> (tensor<?x64xf32>, tensor<?x8xi32>, !dsflash.window
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[TOKENS]]
// CHECK: %[[H0:.*]] = dsflash.dispatch @embed grid(%[[N]]) ins(%[[TOKENS]] {{.*}} outs(%[[STREAM]]
// CHECK: %[[H1:.*]] = dsflash.probe "embed" %[[H0]]
// CHECK-DAG: %[[TEMPORARY:.*]] = tensor.empty(%[[N]]) : tensor<?x8xi32>
// CHECK: %[[L1:.*]]:3 = call @layer(%[[H1]], %{{.*}}, %[[TEMPORARY]])
// CHECK: %[[L2:.*]]:3 = call @layer(%[[L1]]#0, %[[L1]]#2, %[[SELECTED]])
// CHECK: return %[[L2]]#0, %[[L2]]#1, %[[L2]]#2
func.func @forward(%tokens: tensor<?xi32> {dsflash.name = "tokens"}, %w: !window)
    -> (tensor<?x64xf32> {dsflash.name = "stream", dsflash.dim = "rows"},
        tensor<?x8xi32> {dsflash.name = "selected", dsflash.dim = "rows"}, !window) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %tokens, %c0 : tensor<?xi32>
  %0 = tensor.empty(%n) : tensor<?x64xf32>
  %1 = dsflash.dispatch @embed grid(%n) ins(%tokens : tensor<?xi32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = dsflash.probe "embed" %1 : tensor<?x64xf32>
  %3:3 = call @layer(%2, %w) : (tensor<?x64xf32>, !window) -> (tensor<?x64xf32>, tensor<?x8xi32>, !window)
  %4:3 = call @layer(%3#0, %3#2) : (tensor<?x64xf32>, !window) -> (tensor<?x64xf32>, tensor<?x8xi32>, !window)
  return %4#0, %4#1, %4#2 : tensor<?x64xf32>, tensor<?x8xi32>, !window
}

// The stream is computed in its argument, the selection where the caller says.
// CHECK-LABEL: func private @layer
// CHECK-SAME: %[[H:[a-z0-9]+]]: tensor<?x64xf32>, %[[W:[a-z0-9]+]]: !dsflash.window{{.*}}, %[[OUT:[a-z0-9]+]]: tensor<?x8xi32> {bufferization.writable = true}
// CHECK: %[[S:.*]] = dsflash.dispatch @select {{.*}} outs(%[[OUT]]
// CHECK: %[[H1:.*]] = dsflash.dispatch @add {{.*}} outs(%[[H]]
// CHECK: return %[[H1]], %[[S]], %[[W]]
func.func private @layer(%h: tensor<?x64xf32>, %w: !window) -> (tensor<?x64xf32>, tensor<?x8xi32>, !window) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %h, %c0 : tensor<?x64xf32>
  %0 = tensor.empty(%n) : tensor<?x8xi32>
  %1 = dsflash.dispatch @select grid(%n) ins(%h, %w : tensor<?x64xf32>, !window) outs(%0 : tensor<?x8xi32>) {writes_state} -> tensor<?x8xi32>
  %2 = dsflash.dispatch @add grid(%n) ins(%1 : tensor<?x8xi32>) outs(%h : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %2, %1, %w : tensor<?x64xf32>, tensor<?x8xi32>, !window
}

// One tensor.empty for two results becomes two destinations, and others have one each.
// CHECK-LABEL: func @shared_empty
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<?x64xf32> {bufferization.writable = true, dsflash.name = "a"}
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<?x64xf32> {bufferization.writable = true, dsflash.name = "b"}
// CHECK-DAG: %[[C:.*]] = tensor.empty
// CHECK-DAG: %[[D:.*]] = tensor.empty
// CHECK: outs(%[[A]]
// CHECK: outs(%{{[0-9]+}} :
// CHECK: outs(%{{[0-9]+}} :
// CHECK: outs(%[[B]]
func.func @shared_empty(%tokens: tensor<?xi32>) -> (tensor<?x64xf32> {dsflash.name = "a"}, tensor<?x64xf32> {dsflash.name = "b"}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %tokens, %c0 : tensor<?xi32>
  %0 = tensor.empty(%n) : tensor<?x64xf32>
  %1 = dsflash.dispatch @embed grid(%n) ins(%tokens : tensor<?xi32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = dsflash.dispatch @embed grid(%n) ins(%tokens : tensor<?xi32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  %3 = dsflash.dispatch @combine grid(%n) ins(%2 : tensor<?x64xf32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  %4 = dsflash.dispatch @combine grid(%n) ins(%3 : tensor<?x64xf32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %1, %4 : tensor<?x64xf32>, tensor<?x64xf32>
}

// Extents are computed anew from the operands of the call.
// CHECK-LABEL: func @computed_extent
// CHECK: %[[N:.*]] = tensor.dim
// CHECK: %[[M:.*]] = arith.muli %[[N]], %c6
// CHECK: %[[EMPTY:.*]] = tensor.empty(%[[M]]) : tensor<?xi32>
// CHECK: call @slots(%{{.*}}, %[[EMPTY]])
func.func @computed_extent(%tokens: tensor<?xi32>) {
  %0 = call @slots(%tokens) : (tensor<?xi32>) -> tensor<?xi32>
  return
}
func.func private @slots(%tokens: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %n = tensor.dim %tokens, %c0 : tensor<?xi32>
  %m = arith.muli %n, %c6 : index
  %0 = tensor.empty(%m) : tensor<?xi32>
  %1 = dsflash.dispatch @copy grid(%n) ins(%tokens : tensor<?xi32>) outs(%0 : tensor<?xi32>) -> tensor<?xi32>
  return %1 : tensor<?xi32>
}

func.func private @embed(index, index, memref<?xi32>, memref<?x64xf32>) attributes {dsflash.kernel}
func.func private @combine(index, index, memref<?x64xf32>, memref<?x64xf32>) attributes {dsflash.kernel}
func.func private @select(index, index, memref<?x64xf32>, !window, memref<?x8xi32>) attributes {dsflash.kernel}
func.func private @add(index, index, memref<?x8xi32>, memref<?x64xf32>) attributes {dsflash.kernel}
func.func private @copy(index, index, memref<?xi32>, memref<?xi32>) attributes {dsflash.kernel}
