// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

func.func @round_without_point(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{'dsflash.round' op (C1) expected a named point}}
  %y = dsflash.round %x {point = ""} : tensor<?x64xf32>
  return
}

// -----

func.func @quantize_to_bf16(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{'dsflash.quantize' op (C1) expected e4m3 or e2m1 with an e8m0 scale for one row}}
  %y = dsflash.quantize %x {format = #dsflash.format<bf16>, point = "x"} : tensor<?x64xf32>
  return
}

// -----

func.func @quantize_with_e4m3_scale(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{(C1) expected e4m3 or e2m1 with an e8m0 scale for one row}}
  %y = dsflash.quantize %x {format = #dsflash.format<e2m1, e4m3, [1, 16]>, point = "x"} : tensor<?x64xf32>
  return
}

// -----

func.func @quantize_blocks_of_rows(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{(C1) expected e4m3 or e2m1 with an e8m0 scale for one row}}
  %y = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [32, 32]>, point = "x"} : tensor<?x64xf32>
  return
}

// -----

func.func @quantize_part_of_a_group(%x: tensor<?x65xf32>) {
  // expected-error @+1 {{'dsflash.quantize' op (C2) expected features to be a multiple of 32 but got 65}}
  %y = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = "x"} : tensor<?x65xf32>
  return
}

// -----

func.func @quantize_without_point(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{'dsflash.quantize' op (C3) expected a named point}}
  %y = dsflash.quantize %x {format = #dsflash.format<e4m3, e8m0, [1, 32]>, point = ""} : tensor<?x64xf32>
  return
}

// -----

func.func @scale_by_infinity(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'dsflash.scale' op (C1) expected a finite factor}}
  %y = dsflash.scale %x {factor = 0x7F800000 : f32} : tensor<?x4xf32>
  return
}

// -----

func.func @rms_norm_of_another_type(%x: tensor<?x64xf32>, %w: !dsflash.weight<[1, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.rms_norm' op (C1) expected the result to be 'tensor<?x64xf32>' but got 'tensor<?x32xf32>'}}
  %y = dsflash.rms_norm %x, %w {eps = 0.0 : f32}
    : (tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @rms_norm_of_other_columns(%x: tensor<?x64xf32>, %w: !dsflash.weight<[1, 32], <bf16>>) {
  // expected-error @+1 {{'dsflash.rms_norm' op (C2) expected the weight to be [1, 64] of f32 or bf16 but got}}
  %y = dsflash.rms_norm %x, %w {eps = 0.0 : f32}
    : (tensor<?x64xf32>, !dsflash.weight<[1, 32], <bf16>>) -> tensor<?x64xf32>
  return
}

// -----

func.func @rms_norm_by_integers(%x: tensor<?x64xf32>, %w: !dsflash.weight<[1, 64], <i32>>) {
  // expected-error @+1 {{(C2) expected the weight to be [1, 64] of f32 or bf16 but got}}
  %y = dsflash.rms_norm %x, %w {eps = 0.0 : f32}
    : (tensor<?x64xf32>, !dsflash.weight<[1, 64], <i32>>) -> tensor<?x64xf32>
  return
}

// -----

func.func @rms_norm_of_negative_eps(%x: tensor<?x64xf32>, %w: !dsflash.weight<[1, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.rms_norm' op (C3) expected eps to be finite and not negative}}
  %y = dsflash.rms_norm %x, %w {eps = -1.0 : f32}
    : (tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>) -> tensor<?x64xf32>
  return
}

// -----

func.func @linear_with_experts(%x: tensor<?x64xf32>, %w: !dsflash.weight<[2, 32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.linear' op (C1) expected a weight of two extents that is not i32}}
  %y = dsflash.linear %x, %w : (tensor<?x64xf32>, !dsflash.weight<[2, 32, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @linear_of_integers(%x: tensor<?x64xf32>, %w: !dsflash.weight<[32, 64], <i32>>) {
  // expected-error @+1 {{'dsflash.linear' op (C1) expected a weight of two extents that is not i32}}
  %y = dsflash.linear %x, %w : (tensor<?x64xf32>, !dsflash.weight<[32, 64], <i32>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @linear_of_other_features(%x: tensor<?x32xf32>, %w: !dsflash.weight<[32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.linear' op (C2) expected the input's features to be 1 times 64 but got 32}}
  %y = dsflash.linear %x, %w : (tensor<?x32xf32>, !dsflash.weight<[32, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @linear_to_other_features(%x: tensor<?x64xf32>, %w: !dsflash.weight<[32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.linear' op (C3) expected the result's features to be 32 but got 64}}
  %y = dsflash.linear %x, %w : (tensor<?x64xf32>, !dsflash.weight<[32, 64], <bf16>>) -> tensor<?x64xf32>
  return
}

// -----

func.func @project_with_experts(%x: tensor<?x64xf32>, %w: !dsflash.weight<[2, 32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.project' op (C1) expected a weight of two extents that is not i32}}
  %y = dsflash.project %x, %w : (tensor<?x64xf32>, !dsflash.weight<[2, 32, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @project_of_other_features(%x: tensor<?x32xf32>, %w: !dsflash.weight<[32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.project' op (C2) expected the input's features to be 1 times 64 but got 32}}
  %y = dsflash.project %x, %w : (tensor<?x32xf32>, !dsflash.weight<[32, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @project_to_other_features(%x: tensor<?x64xf32>, %w: !dsflash.weight<[32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.project' op (C3) expected the result's features to be 32 but got 64}}
  %y = dsflash.project %x, %w : (tensor<?x64xf32>, !dsflash.weight<[32, 64], <bf16>>) -> tensor<?x64xf32>
  return
}

// -----

func.func @grouped_linear_with_experts(%x: tensor<?x128xf32>, %w: !dsflash.weight<[2, 32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.grouped_linear' op (C1) expected a weight of two extents that is not i32}}
  %y = dsflash.grouped_linear %x, %w {groups = 2 : i64}
    : (tensor<?x128xf32>, !dsflash.weight<[2, 32, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @grouped_linear_of_one_group(%x: tensor<?x64xf32>, %w: !dsflash.weight<[32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.grouped_linear' op (C2) expected the input's features to be 2 times 64 but got 64}}
  %y = dsflash.grouped_linear %x, %w {groups = 2 : i64}
    : (tensor<?x64xf32>, !dsflash.weight<[32, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @grouped_linear_to_other_features(%x: tensor<?x128xf32>, %w: !dsflash.weight<[32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.grouped_linear' op (C3) expected the result's features to be 32 but got 64}}
  %y = dsflash.grouped_linear %x, %w {groups = 2 : i64}
    : (tensor<?x128xf32>, !dsflash.weight<[32, 64], <bf16>>) -> tensor<?x64xf32>
  return
}

// -----

func.func @grouped_linear_of_no_group(%x: tensor<?x128xf32>, %w: !dsflash.weight<[32, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.grouped_linear' op (C4) expected positive groups that divide the weight's rows but got 0}}
  %y = dsflash.grouped_linear %x, %w {groups = 0 : i64}
    : (tensor<?x128xf32>, !dsflash.weight<[32, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @grouped_linear_of_negative_groups(%x: tensor<?x128xf32>, %w: !dsflash.weight<[32, 64], <bf16>>) {
  // expected-error @+1 {{(C4) expected positive groups that divide the weight's rows but got -2}}
  %y = dsflash.grouped_linear %x, %w {groups = -2 : i64}
    : (tensor<?x128xf32>, !dsflash.weight<[32, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @grouped_linear_of_too_many_groups(%x: tensor<?x128xf32>, %w: !dsflash.weight<[32, 64], <bf16>>) {
  // expected-error @+1 {{(C4) expected positive groups that divide the weight's rows but got 9223372036854775807}}
  %y = dsflash.grouped_linear %x, %w {groups = 9223372036854775807 : i64}
    : (tensor<?x128xf32>, !dsflash.weight<[32, 64], <bf16>>) -> tensor<?x32xf32>
  return
}
