// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'dsflash.param' op (C1) expected ascending layers exactly when the names hold {l}}}
dsflash.param @layers_without_name "w" layers [0, 1] : !dsflash.weight<[1, 8], <f32>>

// -----

// expected-error @+1 {{(C1) expected ascending layers exactly when the names hold {l}}}
dsflash.param @name_without_layers "{l}.w" : !dsflash.weight<[1, 8], <f32>>

// -----

// expected-error @+1 {{(C1) expected ascending layers exactly when the names hold {l}}}
dsflash.param @one_scale_for_all_layers "{l}.w" scale "s" layers [0, 1] : !dsflash.weight<[8, 8], <e4m3, e8m0, [8, 8]>>

// -----

// expected-error @+1 {{(C1) expected ascending layers exactly when the names hold {l}}}
dsflash.param @descending_layers "{l}.w" layers [1, 0] : !dsflash.weight<[1, 8], <f32>>

// -----

// expected-error @+1 {{(C1) expected ascending layers exactly when the names hold {l}}}
dsflash.param @repeated_layers "{l}.w" layers [1, 1] : !dsflash.weight<[1, 8], <f32>>

// -----

// expected-error @+1 {{(C1) expected ascending layers exactly when the names hold {l}}}
dsflash.param @negative_layers "{l}.w" layers [-1, 0] : !dsflash.weight<[1, 8], <f32>>

// -----

// expected-error @+1 {{(C1) expected ascending layers exactly when the names hold {l}}}
dsflash.param @no_layers "{l}.w" layers [] : !dsflash.weight<[1, 8], <f32>>

// -----

// expected-error @+1 {{'dsflash.param' op (C2) expected {e} in the names exactly when the type has experts}}
dsflash.param @experts_without_name "w" : !dsflash.weight<[4, 8, 8], <bf16>>

// -----

// expected-error @+1 {{'dsflash.param' op (C2) expected {e} in the names exactly when the type has experts}}
dsflash.param @name_without_experts "{e}.w" : !dsflash.weight<[8, 8], <bf16>>

// -----

// expected-error @+1 {{'dsflash.param' op (C3) expected a scale name exactly when the format has a scale}}
dsflash.param @format_without_scale_name "w" : !dsflash.weight<[8, 8], <e4m3, e8m0, [8, 8]>>

// -----

// expected-error @+1 {{'dsflash.param' op (C3) expected a scale name exactly when the format has a scale}}
dsflash.param @scale_name_without_format "w" scale "s" : !dsflash.weight<[8, 8], <bf16>>

// -----

// expected-error @+1 {{'dsflash.param' op (C4) expected at most 16777216 slots but got 2147483648}}
dsflash.param @huge_layers "{l}.w" layers [2147483647] : !dsflash.weight<[1, 8], <f32>>

// -----

// expected-error @+1 {{'dsflash.param' op (C4) expected at most 16777216 slots but got 9223372032559808512}}
dsflash.param @huge_experts "{l}.{e}.w" scale "{l}.{e}.s" layers [2147483647] : !dsflash.weight<[2147483647, 1, 8], <e4m3, e8m0, [1, 8]>>

// -----

func.func @param_ref_of_nothing() {
  // expected-error @+1 {{'dsflash.param_ref' op (C1) expected a parameter named nothing}}
  %w = dsflash.param_ref @nothing : <[1, 8], <f32>>
  return
}

// -----

func.func @param_ref_of_a_function() {
  // expected-error @+1 {{(C1) expected a parameter named param_ref_of_a_function}}
  %w = dsflash.param_ref @param_ref_of_a_function : <[1, 8], <f32>>
  return
}

// -----

dsflash.param @w "w" : !dsflash.weight<[1, 8], <f32>>
func.func @param_ref_of_another_type() {
  // expected-error @+1 {{'dsflash.param_ref' op (C1) expected the type to be '!dsflash.weight<[1, 8], <f32>>' but got '!dsflash.weight<[1, 8], <bf16>>'}}
  %w = dsflash.param_ref @w : <[1, 8], <bf16>>
  return
}

// -----

dsflash.param @w "{l}.w" layers [0] : !dsflash.weight<[1, 8], <f32>>
func.func @param_ref_without_layer() {
  // expected-error @+1 {{'dsflash.param_ref' op (C2) expected a layer exactly when the parameter has layers}}
  %w = dsflash.param_ref @w : <[1, 8], <f32>>
  return
}

// -----

dsflash.param @w "w" : !dsflash.weight<[1, 8], <f32>>
func.func @param_ref_of_no_layer(%layer: index) {
  // expected-error @+1 {{'dsflash.param_ref' op (C2) expected a layer exactly when the parameter has layers}}
  %w = dsflash.param_ref @w[%layer] : <[1, 8], <f32>>
  return
}

// -----

func.func @encoder_of_another_type(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.encoder' op (C1) expected the body to yield the results}}
  %y = dsflash.encoder : tensor<?x4xf32> {
    dsflash.yield %x : tensor<?x8xf32>
  }
  return
}

// -----

func.func @encoder_without_yield() {
  // expected-error @+1 {{'dsflash.encoder' op (C1) expected the body to yield the results}}
  %y = dsflash.encoder : tensor<?x4xf32> {
  }
  return
}

// -----

func.func @decoder_of_fewer_results(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.decoder' op (C1) expected the body to yield the results}}
  %y:2 = dsflash.decoder : tensor<?x8xf32>, tensor<?x8xf32> {
    dsflash.yield %x : tensor<?x8xf32>
  }
  return
}

// -----

func.func @yield_outside_of_a_stack(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.yield' op expects parent op to be one of 'dsflash.encoder, dsflash.decoder'}}
  dsflash.yield %x : tensor<?x8xf32>
}

// -----

func.func @probe_without_layer(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.probe' op (C1) expected {l} in the name exactly when there is a layer}}
  %y = dsflash.probe "layers.{l}.x" %x : tensor<?x8xf32>
  return
}

// -----

func.func @probe_of_no_layer(%x: tensor<?x8xf32>, %layer: index) {
  // expected-error @+1 {{'dsflash.probe' op (C1) expected {l} in the name exactly when there is a layer}}
  %y = dsflash.probe "x"[%layer] %x : tensor<?x8xf32>
  return
}

// -----

func.func @probe_of_bf16(%x: tensor<?x8xbf16>) {
  // expected-error @+1 {{'dsflash.probe' op (C2) expected f32, i32 or i64 of rank 1 to 3, a tensor's extents after the first being static}}
  %y = dsflash.probe "x" %x : tensor<?x8xbf16>
  return
}

// -----

func.func @probe_of_a_scalar(%x: memref<f32>) {
  // expected-error @+1 {{(C2) expected f32, i32 or i64 of rank 1 to 3, a tensor's extents after the first being static}}
  dsflash.probe "x" %x : memref<f32>
  return
}

// -----

func.func @probe_of_dynamic_features(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{(C2) expected f32, i32 or i64 of rank 1 to 3, a tensor's extents after the first being static}}
  %y = dsflash.probe "x" %x : tensor<?x?xf32>
  return
}

// -----

func.func @probe_of_negative_positions(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.probe' op (C3) expected positive positions_per_row}}
  %y = dsflash.probe "x" %x {positions_per_row = -2 : i64} : tensor<?x8xf32>
  return
}

// -----

func.func @probe_without_result(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.probe' op (C4) expected a result of its type for a tensor and none for a buffer}}
  "dsflash.probe"(%x) <{name = "x"}> : (tensor<?x8xf32>) -> ()
  return
}

// -----

func.func @probe_to_another_type(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'dsflash.probe' op (C4) expected a result of its type for a tensor and none for a buffer}}
  %y = "dsflash.probe"(%x) <{name = "x"}> : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @probe_of_a_buffer_with_result(%x: memref<?x8xf32>) {
  // expected-error @+1 {{'dsflash.probe' op (C4) expected a result of its type for a tensor and none for a buffer}}
  %y = "dsflash.probe"(%x) <{name = "x"}> : (memref<?x8xf32>) -> tensor<?x8xf32>
  return
}
