// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

func.func @layer_of_no_function(%layer: index, %x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.layer' op (C1) expected a function @nothing of the operand and result types}}
  %y = dsflash.layer <window> @nothing(%layer, %x) : (index, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func private @window_layer(index, tensor<?x8xf32>) -> tensor<?x8xf32>
func.func @layer_of_other_operands(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.layer' op (C1) expected a function @window_layer of the operand and result types}}
  %y = dsflash.layer <window> @window_layer(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func private @window_layer(index, tensor<?x8xf32>) -> tensor<?x8xf32>
func.func @layer_of_other_results(%layer: index, %x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.layer' op (C1) expected a function @window_layer of the operand and result types}}
  %y = dsflash.layer <window> @window_layer(%layer, %x) : (index, tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @layer(!kv)
func.func @window_with_global_kv(%kv: !kv) {
  // expected-error @+1 {{'dsflash.layer' op (C2) expected global KV unless window, a selection only to reuse, in mode window}}
  dsflash.layer <window> @layer() global_kv %kv : (!kv) -> ()
  return
}

// -----

func.func private @layer()
func.func @full_without_global_kv() {
  // expected-error @+1 {{'dsflash.layer' op (C2) expected global KV unless window, a selection only to reuse, in mode full}}
  dsflash.layer <full> @layer() : () -> ()
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @layer(!kv, tensor<?x4xi32>)
func.func @full_with_selection(%kv: !kv, %selection: tensor<?x4xi32>) {
  // expected-error @+1 {{'dsflash.layer' op (C2) expected global KV unless window, a selection only to reuse, in mode full}}
  dsflash.layer <full> @layer() global_kv %kv selection %selection : (!kv, tensor<?x4xi32>) -> ()
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @layer(!kv, tensor<?x4xi32>)
func.func @reindex_with_selection(%kv: !kv, %selection: tensor<?x4xi32>) {
  // expected-error @+1 {{'dsflash.layer' op (C2) expected global KV unless window, a selection only to reuse, in mode reindex}}
  dsflash.layer <reindex> @layer() global_kv %kv selection %selection : (!kv, tensor<?x4xi32>) -> ()
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @layer(!kv)
func.func @reuse_without_selection(%kv: !kv) {
  // expected-error @+1 {{'dsflash.layer' op (C2) expected global KV unless window, a selection only to reuse, in mode reuse}}
  dsflash.layer <reuse> @layer() global_kv %kv : (!kv) -> ()
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @window_layer() -> !kv
func.func private @reindex_layer(!kv) -> tensor<?x4xi32>
func.func @reindex_over_kv_of_a_window_layer() {
  %kv = dsflash.layer <window> @window_layer() : () -> !kv
  // expected-error @+1 {{'dsflash.layer' op (C3) expected global KV from a full layer}}
  %selection = dsflash.layer <reindex> @reindex_layer() global_kv %kv : (!kv) -> tensor<?x4xi32>
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @owner() -> !kv
func.func private @reuse_layer(!kv, tensor<?x4xi32>)
func.func @reuse_of_kv_of_no_layer(%selection: tensor<?x4xi32>) {
  %kv = func.call @owner() : () -> !kv
  // expected-error @+1 {{'dsflash.layer' op (C3) expected global KV from a full layer}}
  dsflash.layer <reuse> @reuse_layer() global_kv %kv selection %selection : (!kv, tensor<?x4xi32>) -> ()
  return
}

// -----

// Global KV that an encoder passes on is still that of the layer inside.
!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @window_layer() -> !kv
func.func private @reuse_layer(!kv, tensor<?x4xi32>)
func.func @reuse_of_passed_on_kv_of_a_window_layer(%selection: tensor<?x4xi32>) {
  %encoded = dsflash.encoder : !kv {
    %kv = dsflash.layer <window> @window_layer() : () -> !kv
    dsflash.yield %kv : !kv
  }
  // expected-error @+1 {{'dsflash.layer' op (C3) expected global KV from a full layer}}
  dsflash.layer <reuse> @reuse_layer() global_kv %encoded selection %selection : (!kv, tensor<?x4xi32>) -> ()
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @full_layer(!kv) -> (!kv, tensor<?x4xi32>)
func.func private @reuse_layer(!kv, tensor<?x4xi32>) -> tensor<?x4xi32>
func.func @reuse_of_a_selection_of_a_reuse_layer(%kv: !kv) {
  %full:2 = dsflash.layer <full> @full_layer() global_kv %kv : (!kv) -> (!kv, tensor<?x4xi32>)
  %passed = dsflash.layer <reuse> @reuse_layer() global_kv %full#0 selection %full#1
    : (!kv, tensor<?x4xi32>) -> tensor<?x4xi32>
  // expected-error @+1 {{'dsflash.layer' op (C4) expected a selection from a full or reindex layer over the same global KV}}
  %y = dsflash.layer <reuse> @reuse_layer() global_kv %full#0 selection %passed
    : (!kv, tensor<?x4xi32>) -> tensor<?x4xi32>
  return
}

// -----

// Two owners of one type: types fit, values do not.
!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @full_layer(!kv) -> (!kv, tensor<?x4xi32>)
func.func private @reuse_layer(!kv, tensor<?x4xi32>)
func.func @reuse_of_a_selection_over_other_kv(%kv0: !kv, %kv1: !kv) {
  %first:2 = dsflash.layer <full> @full_layer() global_kv %kv0 : (!kv) -> (!kv, tensor<?x4xi32>)
  %second:2 = dsflash.layer <full> @full_layer() global_kv %kv1 : (!kv) -> (!kv, tensor<?x4xi32>)
  // expected-error @+1 {{'dsflash.layer' op (C4) expected a selection from a full or reindex layer over the same global KV}}
  dsflash.layer <reuse> @reuse_layer() global_kv %second#0 selection %first#1 : (!kv, tensor<?x4xi32>) -> ()
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @full_layer(!kv) -> (!kv, tensor<?x4xi32>)
func.func private @reuse_layer(!kv, tensor<?x4xi32>)
func.func @reuse_of_the_kv_before_the_append(%kv: !kv) {
  %full:2 = dsflash.layer <full> @full_layer() global_kv %kv : (!kv) -> (!kv, tensor<?x4xi32>)
  // expected-error @+1 {{'dsflash.layer' op (C4) expected a selection from a full or reindex layer over the same global KV}}
  dsflash.layer <reuse> @reuse_layer() global_kv %kv selection %full#1 : (!kv, tensor<?x4xi32>) -> ()
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @full_layer(!kv) -> (!kv, tensor<?x4xi32>)
func.func private @reuse_layer(!kv, tensor<?x4xi32>)
func.func @reuse_of_a_passed_on_selection_over_other_kv(%kv0: !kv, %kv1: !kv) {
  %encoded = dsflash.encoder : tensor<?x4xi32> {
    %full:2 = dsflash.layer <full> @full_layer() global_kv %kv0 : (!kv) -> (!kv, tensor<?x4xi32>)
    dsflash.yield %full#1 : tensor<?x4xi32>
  }
  dsflash.decoder {
    %full:2 = dsflash.layer <full> @full_layer() global_kv %kv1 : (!kv) -> (!kv, tensor<?x4xi32>)
    // expected-error @+1 {{'dsflash.layer' op (C4) expected a selection from a full or reindex layer over the same global KV}}
    dsflash.layer <reuse> @reuse_layer() global_kv %full#0 selection %encoded : (!kv, tensor<?x4xi32>) -> ()
  }
  return
}

// -----

func.func private @layer(tensor<?x4xi32>)
func.func @window_with_candidates(%blocks: tensor<?x4xi32>) {
  // expected-error @+1 {{'dsflash.layer' op (C5) expected candidates in modes full and reindex only}}
  dsflash.layer <window> @layer() candidates %blocks : (tensor<?x4xi32>) -> ()
  return
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @window_layer() -> tensor<?x4xi32>
func.func private @reindex_layer(!kv, tensor<?x4xi32>)
func.func @candidates_of_a_window_layer(%kv: !kv) {
  %blocks = dsflash.layer <window> @window_layer() : () -> tensor<?x4xi32>
  // expected-error @+1 {{'dsflash.layer' op (C5) expected candidates from a full or reindex layer over global KV of the same type}}
  dsflash.layer <reindex> @reindex_layer() global_kv %kv candidates %blocks : (!kv, tensor<?x4xi32>) -> ()
  return
}

// -----

!kv1 = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
!kv2 = !dsflash.global_kv<rows = 4, dim = 16, ratio = 2, <f32>>
func.func private @full_layer(!kv2) -> (!kv2, tensor<?x4xi32>)
func.func private @reindex_layer(!kv1, tensor<?x4xi32>)
func.func @candidates_over_other_kv(%kv1: !kv1, %kv2: !kv2) {
  %full:2 = dsflash.layer <full> @full_layer() global_kv %kv2 : (!kv2) -> (!kv2, tensor<?x4xi32>)
  // expected-error @+1 {{'dsflash.layer' op (C5) expected candidates from a full or reindex layer over global KV of the same type}}
  dsflash.layer <reindex> @reindex_layer() global_kv %kv1 candidates %full#1 : (!kv1, tensor<?x4xi32>) -> ()
  return
}

// -----

// An encoder that passes on its own result is refused before any layer looks for its source.
!kv = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func private @reindex_layer(!kv)
func.func @circular_sharing() {
  // expected-note @+1 {{operand defined here (op in a parent region)}}
  %kv = dsflash.encoder : !kv {
    // expected-error @+1 {{operand #0 does not dominate this use}}
    dsflash.layer <reindex> @reindex_layer() global_kv %kv : (!kv) -> ()
    dsflash.yield %kv : !kv
  }
  return
}
