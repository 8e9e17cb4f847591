// A stream that layers update in place, coefficients and a selection that they
// hand on, and a state: nothing is copied, and everything that lives in a call only is in the workspace.
// RUN: dsflash-opt %s --dsflash-kernels-pipeline | FileCheck %s --implicit-check-not=memref.alloc --implicit-check-not=memref.copy

!window = !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>

// CHECK-LABEL: func @forward
// CHECK-SAME: %[[TOKENS:[a-z0-9]+]]: memref<?xi32> {dsflash.dim = "rows", dsflash.name = "tokens"}
// CHECK-SAME: %[[WINDOW:[a-z0-9]+]]: !dsflash.window<{{[^{]*}}>> {dsflash.name = "window"}
// CHECK-SAME: %[[LOGITS:[a-z0-9]+]]: memref<?x100xf32> {dsflash.dim = "outputs", dsflash.name = "logits"}
// CHECK-SAME: %[[WORKSPACE:[a-z0-9]+]]: memref<?xi8> {dsflash.workspace})
// CHECK-SAME: attributes {dsflash.workspace_fixed_bytes = 0 : i64, dsflash.workspace_row_bytes = 1792 : i64}
// CHECK: %[[H:.*]] = memref.view %[[WORKSPACE]]
// CHECK: dsflash.dispatch @init {{.*}} outs(%[[H]] :
// CHECK-NEXT: dsflash.probe "embed" %[[H]]
// CHECK: %[[PRE:.*]] = memref.view
// CHECK: dsflash.dispatch @pre {{.*}} outs(%[[PRE]] :
// CHECK: %[[PRE1:.*]] = memref.view
// CHECK: %[[SELECTION:.*]] = memref.view
// CHECK: call @layer(%c0, %[[H]], %[[PRE]], %[[TOKENS]], %[[WINDOW]], %[[PRE1]], %[[SELECTION]], %{{.*}})
// CHECK: call @layer(%c1, %[[H]], %[[PRE1]], %[[TOKENS]], %[[WINDOW]], %[[PRE]], %{{.*}}, %{{.*}})
// CHECK: call @reuse(%c2, %[[H]], %[[PRE]], %[[SELECTION]], %[[WINDOW]], %[[PRE1]], %{{.*}})
// CHECK: dsflash.dispatch @head {{.*}} ins(%[[H]], {{.*}} outs(%[[LOGITS]] :
// CHECK-NEXT: return
func.func @forward(%tokens: tensor<?xi32> {dsflash.name = "tokens", dsflash.dim = "rows"},
    %outputs: tensor<?xi32> {dsflash.name = "outputs", dsflash.dim = "outputs"}, %w: !window {dsflash.name = "window"})
    -> (tensor<?x100xf32> {dsflash.name = "logits", dsflash.dim = "outputs"}, !window {dsflash.name = "window"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %tokens, %c0 : tensor<?xi32>
  %0 = tensor.empty(%n) : tensor<?x4x64xf32>
  %1 = dsflash.dispatch @init grid(%n) ins(%tokens : tensor<?xi32>) outs(%0 : tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
  %h0 = dsflash.probe "embed" %1 : tensor<?x4x64xf32>
  %2 = tensor.empty(%n) : tensor<?x4xf32>
  %p0 = dsflash.dispatch @pre grid(%n) ins(%h0 : tensor<?x4x64xf32>) outs(%2 : tensor<?x4xf32>) -> tensor<?x4xf32>
  %h1, %p1, %s1, %w1 = call @layer(%c0, %h0, %p0, %tokens, %w)
    : (index, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?xi32>, !window) -> (tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x8xi32>, !window)
  %h2, %p2, %s2, %w2 = call @layer(%c1, %h1, %p1, %tokens, %w1)
    : (index, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?xi32>, !window) -> (tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x8xi32>, !window)
  %h3, %p3, %w3 = call @reuse(%c2, %h2, %p2, %s1, %w2)
    : (index, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x8xi32>, !window) -> (tensor<?x4x64xf32>, tensor<?x4xf32>, !window)
  %m = tensor.dim %outputs, %c0 : tensor<?xi32>
  %3 = tensor.empty(%m) : tensor<?x100xf32>
  %logits = dsflash.dispatch @head grid(%m) ins(%h3, %outputs : tensor<?x4x64xf32>, tensor<?xi32>) outs(%3 : tensor<?x100xf32>) -> tensor<?x100xf32>
  return %logits, %w3 : tensor<?x100xf32>, !window
}

// CHECK-LABEL: func private @layer
// CHECK-SAME: %{{[a-z0-9]+}}: index, %[[H:[a-z0-9]+]]: memref<?x4x64xf32>, %[[PRE:[a-z0-9]+]]: memref<?x4xf32>, %{{[a-z0-9]+}}: memref<?xi32>
// CHECK-SAME: %[[NEXT:[a-z0-9]+]]: memref<?x4xf32>, %[[SELECTION:[a-z0-9]+]]: memref<?x8xi32>, %[[WORKSPACE:[a-z0-9]+]]: memref<?xi8>
// CHECK-SAME: attributes {dsflash.workspace_fixed_bytes = 0 : i64, dsflash.workspace_row_bytes = 512 : i64}
// CHECK: dsflash.dispatch @collapse {{.*}} ins(%[[H]], %[[PRE]] {{.*}} outs(%[[X:.*]] :
// CHECK: dsflash.dispatch @select {{.*}} ins(%[[X]] {{.*}} outs(%[[SELECTION]] :
// CHECK: dsflash.dispatch @attend {{.*}} ins(%[[X]], %[[SELECTION]], {{.*}} outs(%[[Y:.*]] :
// CHECK: dsflash.dispatch @pre {{.*}} ins(%[[H]] {{.*}} outs(%[[NEXT]] :
// CHECK: dsflash.dispatch @expand {{.*}} ins(%[[Y]] {{.*}} outs(%[[H]] :
// CHECK-NEXT: return
func.func private @layer(%layer: index, %h: tensor<?x4x64xf32>, %p: tensor<?x4xf32>, %tokens: tensor<?xi32>, %w: !window)
    -> (tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x8xi32>, !window) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %tokens, %c0 : tensor<?xi32>
  %0 = tensor.empty(%n) : tensor<?x64xf32>
  %x = dsflash.dispatch @collapse grid(%n) ins(%h, %p : tensor<?x4x64xf32>, tensor<?x4xf32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = tensor.empty(%n) : tensor<?x8xi32>
  %s = dsflash.dispatch @select grid(%n) ins(%x : tensor<?x64xf32>) outs(%1 : tensor<?x8xi32>) -> tensor<?x8xi32>
  %2 = tensor.empty(%n) : tensor<?x64xf32>
  %y = dsflash.dispatch @attend grid(%n) ins(%x, %s, %w : tensor<?x64xf32>, tensor<?x8xi32>, !window) outs(%2 : tensor<?x64xf32>) {writes_state} -> tensor<?x64xf32>
  %3 = tensor.empty(%n) : tensor<?x4xf32>
  %next = dsflash.dispatch @pre grid(%n) ins(%h : tensor<?x4x64xf32>) outs(%3 : tensor<?x4xf32>) -> tensor<?x4xf32>
  %h1 = dsflash.dispatch @expand grid(%n) ins(%y : tensor<?x64xf32>) outs(%h : tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
  return %h1, %next, %s, %w : tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x8xi32>, !window
}

func.func private @reuse(%layer: index, %h: tensor<?x4x64xf32>, %p: tensor<?x4xf32>, %s: tensor<?x8xi32>, %w: !window)
    -> (tensor<?x4x64xf32>, tensor<?x4xf32>, !window) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %h, %c0 : tensor<?x4x64xf32>
  %0 = tensor.empty(%n) : tensor<?x64xf32>
  %x = dsflash.dispatch @collapse grid(%n) ins(%h, %p : tensor<?x4x64xf32>, tensor<?x4xf32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = tensor.empty(%n) : tensor<?x64xf32>
  %y = dsflash.dispatch @attend grid(%n) ins(%x, %s, %w : tensor<?x64xf32>, tensor<?x8xi32>, !window) outs(%1 : tensor<?x64xf32>) {writes_state} -> tensor<?x64xf32>
  %2 = tensor.empty(%n) : tensor<?x4xf32>
  %next = dsflash.dispatch @pre grid(%n) ins(%h : tensor<?x4x64xf32>) outs(%2 : tensor<?x4xf32>) -> tensor<?x4xf32>
  %h1 = dsflash.dispatch @expand grid(%n) ins(%y : tensor<?x64xf32>) outs(%h : tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
  return %h1, %next, %w : tensor<?x4x64xf32>, tensor<?x4xf32>, !window
}

// CSE merges the two tensor.empty; still each value has its buffer and nothing is copied when a callee writes into it.
// CHECK-LABEL: func @merged_empty
// CHECK: dsflash.dispatch @rows {{.*}} outs(%[[A:.*]] :
// CHECK: dsflash.dispatch @rows {{.*}} outs(%[[B:.*]] :
// CHECK: call @watch(%[[A]], %{{.*}})
// CHECK: call @watch(%[[B]], %{{.*}})
func.func @merged_empty(%x: tensor<?xi32>, %y: tensor<?xi32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xi32>
  %0 = tensor.empty(%n) : tensor<?x6xi64>
  %1 = tensor.empty(%n) : tensor<?x6xi64>
  %2 = dsflash.dispatch @rows grid(%n) ins(%x : tensor<?xi32>) outs(%0 : tensor<?x6xi64>) -> tensor<?x6xi64>
  %3 = dsflash.dispatch @rows grid(%n) ins(%y : tensor<?xi32>) outs(%1 : tensor<?x6xi64>) -> tensor<?x6xi64>
  call @watch(%2) : (tensor<?x6xi64>) -> ()
  call @watch(%3) : (tensor<?x6xi64>) -> ()
  return
}
func.func private @watch(%x: tensor<?x6xi64>) {
  %0 = dsflash.probe "rows" %x : tensor<?x6xi64>
  return
}
func.func private @rows(%begin: index, %end: index, %x: memref<?xi32>, %y: memref<?x6xi64>) attributes {dsflash.kernel} {
  return
}

func.func private @init(%begin: index, %end: index, %x: memref<?xi32>, %y: memref<?x4x64xf32>) attributes {dsflash.kernel} {
  return
}
func.func private @pre(%begin: index, %end: index, %x: memref<?x4x64xf32>, %y: memref<?x4xf32>) attributes {dsflash.kernel} {
  return
}
func.func private @head(%begin: index, %end: index, %x: memref<?x4x64xf32>, %o: memref<?xi32>, %y: memref<?x100xf32>) attributes {dsflash.kernel} {
  return
}
func.func private @collapse(%begin: index, %end: index, %x: memref<?x4x64xf32>, %p: memref<?x4xf32>, %y: memref<?x64xf32>) attributes {dsflash.kernel} {
  return
}
func.func private @select(%begin: index, %end: index, %x: memref<?x64xf32>, %y: memref<?x8xi32>) attributes {dsflash.kernel} {
  return
}
func.func private @attend(%begin: index, %end: index, %x: memref<?x64xf32>, %s: memref<?x8xi32>, %w: !window, %y: memref<?x64xf32>) attributes {dsflash.kernel} {
  return
}
func.func private @expand(%begin: index, %end: index, %x: memref<?x64xf32>, %y: memref<?x4x64xf32>) attributes {dsflash.kernel} {
  return
}
