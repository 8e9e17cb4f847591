// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

func.func @nan_layer_without_name(%layer: index, %x: tensor<?x64xf32>) {
  // expected-error @+1 {{'dsflash.check_nan' op (C1) expected {l} in the name exactly when there is a layer}}
  dsflash.check_nan "head"[%layer] %x : (tensor<?x64xf32>, index) -> ()
  return
}

// -----

func.func @nan_outputs_without_positions(%x: tensor<?x64xf32>, %outputs: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.check_nan' op (C2) expected outputs only with positions}}
  dsflash.check_nan "head" %x of %outputs : (tensor<?x64xf32>, tensor<?xi32>) -> ()
  return
}

// -----

func.func @ids_name_without_layer(%ids: tensor<?xi32>, %n: index) -> tensor<?xi32> {
  // expected-error @+1 {{'dsflash.check_ids' op (C1) expected {l} in the name exactly when there is a layer}}
  %0 = dsflash.check_ids <row> "layers.{l}.x" %ids below %n : (tensor<?xi32>, index) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

func.func @ids_of_another_kind(%ids: tensor<?xi32>, %n: index) -> tensor<?xi32> {
  // expected-error @+1 {{'dsflash.check_ids' op (C2) expected the kind expert or row}}
  %0 = dsflash.check_ids <slot> "x" %ids below %n : (tensor<?xi32>, index) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

func.func @ids_ratio_without_positions(%ids: tensor<?xi32>, %n: index) -> tensor<?xi32> {
  // expected-error @+1 {{'dsflash.check_ids' op (C3) expected positions_per_row of 0, or with positions 1 to 2147483647}}
  %0 = dsflash.check_ids <row> "x" %ids below %n {positions_per_row = 2 : i64} : (tensor<?xi32>, index) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

func.func @ids_negative_ratio(%ids: tensor<?xi32>, %n: index) -> tensor<?xi32> {
  // expected-error @+1 {{'dsflash.check_ids' op (C3) expected positions_per_row of 0, or with positions 1 to 2147483647}}
  %0 = dsflash.check_ids <row> "x" %ids below %n at %ids {positions_per_row = -1 : i64} : (tensor<?xi32>, index, tensor<?xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

!window = !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>>
func.func @window_without_positions(%i: index, %window: !window, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) -> !window {
  // expected-error @+1 {{'dsflash.check_window' op (C2) expected a window that keeps positions}}
  %0 = dsflash.check_window "x" %window[%i] rows(%ids, %ids, %extents) {count = 7 : i64}
    : (!window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !window
  return %0 : !window
}

// -----

!window = !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>, positions>
!other = !dsflash.window<layers = 2, slots = 9, dim = 64, <f32>, positions>
func.func @window_of_another_type(%i: index, %window: !window, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) -> !other {
  // expected-error @+1 {{'dsflash.check_window' op (C2) expected the result to be}}
  %0 = dsflash.check_window "x" %window[%i] rows(%ids, %ids, %extents) {count = 7 : i64}
    : (!window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !other
  return %0 : !other
}

// -----

!window = !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>, positions>
func.func @window_name_without_layer(%i: index, %window: !window, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) -> !window {
  // expected-error @+1 {{'dsflash.check_window' op (C1) expected {l} in the name exactly when there is a layer}}
  %0 = dsflash.check_window "{l}" %window[%i] rows(%ids, %ids, %extents) {count = 7 : i64}
    : (!window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !window
  return %0 : !window
}

// -----

!window = !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>, positions>
func.func @window_of_too_many(%i: index, %window: !window, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) -> !window {
  // expected-error @+1 {{'dsflash.check_window' op (C3) expected a count of 0 to 8}}
  %0 = dsflash.check_window "x" %window[%i] rows(%ids, %ids, %extents) {count = 9 : i64}
    : (!window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !window
  return %0 : !window
}

// -----

func.func @report_layer_without_name(%i: index) {
  // expected-error @+1 {{'dsflash.report' op (C1) expected {l} in the name exactly when there is a layer}}
  dsflash.report <nan> "head"[%i] position %i found %i expected %i slot %i
  return
}

// -----

func.func @positions_of_a_window_without(%i: index, %window: !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>>) {
  // expected-error @+1 {{'dsflash.state_data' op (C1) expected a state that keeps positions}}
  %0 = dsflash.state_data position %window[%i] : !dsflash.window<layers = 2, slots = 8, dim = 64, <f32>> -> memref<16xi32>
  return
}

// -----

func.func @positions_of_a_weight(%w: !dsflash.weight<[8, 8], <bf16>>) {
  // expected-error @+1 {{'dsflash.weight_data' op (C2) expected payload or scale of a weight}}
  %0 = dsflash.weight_data position %w : !dsflash.weight<[8, 8], <bf16>> -> memref<8xi32>
  return
}

// -----

// expected-error @+1 {{expected 'positions'}}
func.func private @window_keeps_something_else(!dsflash.window<layers = 2, slots = 8, dim = 64, <f32>, places>)
