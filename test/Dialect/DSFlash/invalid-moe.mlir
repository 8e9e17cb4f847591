// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

func.func @router_of_other_bias(%logits: tensor<?x16xf32>, %bias: !dsflash.weight<[1, 8], <f32>>) {
  // expected-error @+1 {{'dsflash.router' op (C1) expected the bias to be [1, 16] of f32 or bf16 but got}}
  %e, %w = dsflash.router %logits, %bias {scaling = 1.0 : f32, temperature = 1.0 : f32}
    : (tensor<?x16xf32>, !dsflash.weight<[1, 8], <f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @router_of_other_weights(%logits: tensor<?x16xf32>, %bias: !dsflash.weight<[1, 16], <f32>>) {
  // expected-error @+1 {{'dsflash.router' op (C2) expected the weights' extent to be 2 but got 3}}
  %e, %w = dsflash.router %logits, %bias {scaling = 1.0 : f32, temperature = 1.0 : f32}
    : (tensor<?x16xf32>, !dsflash.weight<[1, 16], <f32>>) -> (tensor<?x2xi32>, tensor<?x3xf32>)
  return
}

// -----

func.func @router_of_too_many_experts(%logits: tensor<?x16xf32>, %bias: !dsflash.weight<[1, 16], <f32>>) {
  // expected-error @+1 {{'dsflash.router' op (C2) expected 1 to 16 chosen experts but got 17}}
  %e, %w = dsflash.router %logits, %bias {scaling = 1.0 : f32, temperature = 1.0 : f32}
    : (tensor<?x16xf32>, !dsflash.weight<[1, 16], <f32>>) -> (tensor<?x17xi32>, tensor<?x17xf32>)
  return
}

// -----

func.func @router_of_temperature_zero(%logits: tensor<?x16xf32>, %bias: !dsflash.weight<[1, 16], <f32>>) {
  // expected-error @+1 {{'dsflash.router' op (C3) expected a finite positive temperature and a finite scaling}}
  %e, %w = dsflash.router %logits, %bias {scaling = 1.0 : f32, temperature = 0.0 : f32}
    : (tensor<?x16xf32>, !dsflash.weight<[1, 16], <f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @router_of_infinite_scaling(%logits: tensor<?x16xf32>, %bias: !dsflash.weight<[1, 16], <f32>>) {
  // expected-error @+1 {{'dsflash.router' op (C3) expected a finite positive temperature and a finite scaling}}
  %e, %w = dsflash.router %logits, %bias {scaling = 0x7F800000 : f32, temperature = 1.0 : f32}
    : (tensor<?x16xf32>, !dsflash.weight<[1, 16], <f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @group_by_expert_to_another_order(%experts: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.group_by_expert' op (C1) expected the order to be 'tensor<?x2xi32>' but got 'tensor<?x3xi32>'}}
  %order, %offsets = dsflash.group_by_expert %experts : (tensor<?x2xi32>) -> (tensor<?x3xi32>, tensor<17xi32>)
  return
}

// -----

func.func @group_by_no_expert(%experts: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.group_by_expert' op (C2) expected a static extent of at least 2 offsets}}
  %order, %offsets = dsflash.group_by_expert %experts : (tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<1xi32>)
  return
}

// -----

func.func @group_by_dynamic_experts(%experts: tensor<?x2xi32>) {
  // expected-error @+1 {{(C2) expected a static extent of at least 2 offsets}}
  %order, %offsets = dsflash.group_by_expert %experts : (tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<?xi32>)
  return
}

// -----

func.func @expert_linear_without_experts(%x: tensor<?x64xf32>, %w: !dsflash.weight<[32, 64], <bf16>>,
                                         %order: tensor<?x2xi32>, %offsets: tensor<17xi32>) {
  // expected-error @+1 {{'dsflash.expert_linear' op (C1) expected a weight of three extents that is not i32}}
  %y = dsflash.expert_linear %x, %w order %order, %offsets
    : (tensor<?x64xf32>, !dsflash.weight<[32, 64], <bf16>>, tensor<?x2xi32>, tensor<17xi32>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_of_other_experts(%x: tensor<?x64xf32>, %w: !dsflash.weight<[16, 32, 64], <bf16>>,
                                          %order: tensor<?x2xi32>, %offsets: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.expert_linear' op (C1) expected the offsets' extent to be 17 but got}}
  %y = dsflash.expert_linear %x, %w order %order, %offsets
    : (tensor<?x64xf32>, !dsflash.weight<[16, 32, 64], <bf16>>, tensor<?x2xi32>, tensor<?xi32>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_of_other_features(%x: tensor<?x32xf32>, %w: !dsflash.weight<[16, 32, 64], <bf16>>,
                                           %order: tensor<?x2xi32>, %offsets: tensor<17xi32>) {
  // expected-error @+1 {{'dsflash.expert_linear' op (C2) expected the input's features to be 64 but got 32}}
  %y = dsflash.expert_linear %x, %w order %order, %offsets
    : (tensor<?x32xf32>, !dsflash.weight<[16, 32, 64], <bf16>>, tensor<?x2xi32>, tensor<17xi32>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_of_other_choices(%x: tensor<?x3x64xf32>, %w: !dsflash.weight<[16, 32, 64], <bf16>>,
                                          %order: tensor<?x2xi32>, %offsets: tensor<17xi32>) {
  // expected-error @+1 {{'dsflash.expert_linear' op (C2) expected the input's choices to be 2 but got 3}}
  %y = dsflash.expert_linear %x, %w order %order, %offsets
    : (tensor<?x3x64xf32>, !dsflash.weight<[16, 32, 64], <bf16>>, tensor<?x2xi32>, tensor<17xi32>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_to_other_choices(%x: tensor<?x64xf32>, %w: !dsflash.weight<[16, 32, 64], <bf16>>,
                                          %order: tensor<?x2xi32>, %offsets: tensor<17xi32>) {
  // expected-error @+1 {{'dsflash.expert_linear' op (C3) expected the result's choices to be 2 but got 3}}
  %y = dsflash.expert_linear %x, %w order %order, %offsets
    : (tensor<?x64xf32>, !dsflash.weight<[16, 32, 64], <bf16>>, tensor<?x2xi32>, tensor<17xi32>) -> tensor<?x3x32xf32>
  return
}

// -----

func.func @expert_linear_to_other_features(%x: tensor<?x64xf32>, %w: !dsflash.weight<[16, 32, 64], <bf16>>,
                                           %order: tensor<?x2xi32>, %offsets: tensor<17xi32>) {
  // expected-error @+1 {{'dsflash.expert_linear' op (C3) expected the result's features to be 32 but got 64}}
  %y = dsflash.expert_linear %x, %w order %order, %offsets
    : (tensor<?x64xf32>, !dsflash.weight<[16, 32, 64], <bf16>>, tensor<?x2xi32>, tensor<17xi32>) -> tensor<?x2x64xf32>
  return
}

// -----

func.func @swiglu_of_other_up(%gate: tensor<?x32xf32>, %up: tensor<?x16xf32>) {
  // expected-error @+1 {{'dsflash.swiglu' op (C1) expected up to be 'tensor<?x32xf32>' but got 'tensor<?x16xf32>'}}
  %y = dsflash.swiglu %gate, %up {limit = 0.0 : f32} : (tensor<?x32xf32>, tensor<?x16xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @swiglu_to_another_type(%gate: tensor<?x32xf32>) {
  // expected-error @+1 {{'dsflash.swiglu' op (C1) expected the result to be 'tensor<?x32xf32>' but got 'tensor<?x16xf32>'}}
  %y = dsflash.swiglu %gate, %gate {limit = 0.0 : f32} : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @swiglu_of_other_route(%gate: tensor<?x2x32xf32>, %route: tensor<?x3xf32>) {
  // expected-error @+1 {{'dsflash.swiglu' op (C2) expected route weights with the leading extents of the gate}}
  %y = dsflash.swiglu %gate, %gate route %route {limit = 0.0 : f32}
    : (tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x3xf32>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @swiglu_routed_without_choices(%gate: tensor<?x32xf32>, %route: tensor<?x2xf32>) {
  // expected-error @+1 {{(C2) expected route weights with the leading extents of the gate}}
  %y = dsflash.swiglu %gate, %gate route %route {limit = 0.0 : f32}
    : (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x2xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @combine_to_another_type(%routed: tensor<?x2x64xf32>, %shared: tensor<?x64xf32>) {
  // expected-error @+1 {{'dsflash.combine' op (C1) expected the result to be 'tensor<?x64xf32>' but got 'tensor<?x32xf32>'}}
  %y = dsflash.combine %routed, %shared : (tensor<?x2x64xf32>, tensor<?x64xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @combine_of_other_features(%routed: tensor<?x2x32xf32>, %shared: tensor<?x64xf32>) {
  // expected-error @+1 {{'dsflash.combine' op (C1) expected the shared expert's features to be 32 but got 64}}
  %y = dsflash.combine %routed, %shared : (tensor<?x2x32xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  return
}
