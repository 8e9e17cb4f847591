// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

func.func @embed_packed_table(%ids: tensor<?xi32>, %table: !dsflash.weight<[512, 64], <e4m3, e8m0, [32, 32]>>) {
  // expected-error @+1 {{'dsflash.embed' op (C1) expected a table of two extents of f32 or bf16}}
  %x = dsflash.embed %ids, %table
    : (tensor<?xi32>, !dsflash.weight<[512, 64], <e4m3, e8m0, [32, 32]>>) -> tensor<?x64xf32>
  return
}

// -----

func.func @embed_experts(%ids: tensor<?xi32>, %table: !dsflash.weight<[2, 512, 64], <bf16>>) {
  // expected-error @+1 {{(C1) expected a table of two extents of f32 or bf16}}
  %x = dsflash.embed %ids, %table : (tensor<?xi32>, !dsflash.weight<[2, 512, 64], <bf16>>) -> tensor<?x64xf32>
  return
}

// -----

func.func @embed_to_other_features(%ids: tensor<?xi32>, %table: !dsflash.weight<[512, 64], <bf16>>) {
  // expected-error @+1 {{'dsflash.embed' op (C2) expected the result's features to be 64 but got 32}}
  %x = dsflash.embed %ids, %table : (tensor<?xi32>, !dsflash.weight<[512, 64], <bf16>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @hc_init_of_other_features(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{'dsflash.hc_init' op (C1) expected stream features to be 64 but got 32}}
  %stream, %pre = dsflash.hc_init %x : (tensor<?x64xf32>) -> (tensor<?x4x32xf32>, tensor<?x4xf32>)
  return
}

// -----

func.func @hc_init_of_other_streams(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{'dsflash.hc_init' op (C2) expected collapse weights to be 4 but got 3}}
  %stream, %pre = dsflash.hc_init %x : (tensor<?x64xf32>) -> (tensor<?x4x64xf32>, tensor<?x3xf32>)
  return
}

// -----

func.func @hc_mix_of_other_fn(%stream: tensor<?x2x8xf32>, %fn: !dsflash.weight<[8, 8], <f32>>,
                              %base: !dsflash.weight<[1, 8], <f32>>, %scale: !dsflash.weight<[1, 3], <f32>>) {
  // expected-error @+1 {{'dsflash.hc_mix' op (C1) expected fn to be [8, 16] of f32 or bf16 but got}}
  %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale
      {eps = 0.0 : f32, iterations = 1 : i64, norm_eps = 0.0 : f32}
    : (tensor<?x2x8xf32>, !dsflash.weight<[8, 8], <f32>>, !dsflash.weight<[1, 8], <f32>>, !dsflash.weight<[1, 3], <f32>>)
    -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2x2xf32>)
  return
}

// -----

func.func @hc_mix_of_other_base(%stream: tensor<?x2x8xf32>, %fn: !dsflash.weight<[8, 16], <f32>>,
                                %base: !dsflash.weight<[1, 4], <f32>>, %scale: !dsflash.weight<[1, 3], <f32>>) {
  // expected-error @+1 {{'dsflash.hc_mix' op (C2) expected base to be [1, 8] of f32 or bf16 but got}}
  %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale
      {eps = 0.0 : f32, iterations = 1 : i64, norm_eps = 0.0 : f32}
    : (tensor<?x2x8xf32>, !dsflash.weight<[8, 16], <f32>>, !dsflash.weight<[1, 4], <f32>>, !dsflash.weight<[1, 3], <f32>>)
    -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2x2xf32>)
  return
}

// -----

func.func @hc_mix_of_other_scale(%stream: tensor<?x2x8xf32>, %fn: !dsflash.weight<[8, 16], <f32>>,
                                 %base: !dsflash.weight<[1, 8], <f32>>, %scale: !dsflash.weight<[1, 2], <f32>>) {
  // expected-error @+1 {{'dsflash.hc_mix' op (C2) expected scale to be [1, 3] of f32 or bf16 but got}}
  %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale
      {eps = 0.0 : f32, iterations = 1 : i64, norm_eps = 0.0 : f32}
    : (tensor<?x2x8xf32>, !dsflash.weight<[8, 16], <f32>>, !dsflash.weight<[1, 8], <f32>>, !dsflash.weight<[1, 2], <f32>>)
    -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2x2xf32>)
  return
}

// -----

func.func @hc_mix_to_other_pre(%stream: tensor<?x2x8xf32>, %fn: !dsflash.weight<[8, 16], <f32>>,
                               %base: !dsflash.weight<[1, 8], <f32>>, %scale: !dsflash.weight<[1, 3], <f32>>) {
  // expected-error @+1 {{'dsflash.hc_mix' op (C3) expected pre's extent to be 2 but got 3}}
  %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale
      {eps = 0.0 : f32, iterations = 1 : i64, norm_eps = 0.0 : f32}
    : (tensor<?x2x8xf32>, !dsflash.weight<[8, 16], <f32>>, !dsflash.weight<[1, 8], <f32>>, !dsflash.weight<[1, 3], <f32>>)
    -> (tensor<?x3xf32>, tensor<?x2xf32>, tensor<?x2x2xf32>)
  return
}

// -----

func.func @hc_mix_to_other_comb(%stream: tensor<?x2x8xf32>, %fn: !dsflash.weight<[8, 16], <f32>>,
                                %base: !dsflash.weight<[1, 8], <f32>>, %scale: !dsflash.weight<[1, 3], <f32>>) {
  // expected-error @+1 {{'dsflash.hc_mix' op (C3) expected comb's destinations to be 2 but got 3}}
  %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale
      {eps = 0.0 : f32, iterations = 1 : i64, norm_eps = 0.0 : f32}
    : (tensor<?x2x8xf32>, !dsflash.weight<[8, 16], <f32>>, !dsflash.weight<[1, 8], <f32>>, !dsflash.weight<[1, 3], <f32>>)
    -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2x3xf32>)
  return
}

// -----

func.func @hc_mix_without_iterations(%stream: tensor<?x2x8xf32>, %fn: !dsflash.weight<[8, 16], <f32>>,
                                     %base: !dsflash.weight<[1, 8], <f32>>, %scale: !dsflash.weight<[1, 3], <f32>>) {
  // expected-error @+1 {{'dsflash.hc_mix' op (C4) expected positive iterations and every eps to be finite and not negative}}
  %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale
      {eps = 0.0 : f32, iterations = -1 : i64, norm_eps = 0.0 : f32}
    : (tensor<?x2x8xf32>, !dsflash.weight<[8, 16], <f32>>, !dsflash.weight<[1, 8], <f32>>, !dsflash.weight<[1, 3], <f32>>)
    -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2x2xf32>)
  return
}

// -----

func.func @hc_mix_of_nan_eps(%stream: tensor<?x2x8xf32>, %fn: !dsflash.weight<[8, 16], <f32>>,
                             %base: !dsflash.weight<[1, 8], <f32>>, %scale: !dsflash.weight<[1, 3], <f32>>) {
  // expected-error @+1 {{'dsflash.hc_mix' op (C4) expected positive iterations and every eps to be finite and not negative}}
  %pre, %post, %comb = dsflash.hc_mix %stream, %fn, %base, %scale
      {eps = 0.0 : f32, iterations = 1 : i64, norm_eps = 0x7FC00000 : f32}
    : (tensor<?x2x8xf32>, !dsflash.weight<[8, 16], <f32>>, !dsflash.weight<[1, 8], <f32>>, !dsflash.weight<[1, 3], <f32>>)
    -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2x2xf32>)
  return
}

// -----

func.func @hc_collapse_of_other_streams(%stream: tensor<?x4x64xf32>, %pre: tensor<?x3xf32>) {
  // expected-error @+1 {{'dsflash.hc_collapse' op (C1) expected collapse weights to be 4 but got 3}}
  %x = dsflash.hc_collapse %stream, %pre : (tensor<?x4x64xf32>, tensor<?x3xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @hc_collapse_to_other_features(%stream: tensor<?x4x64xf32>, %pre: tensor<?x4xf32>) {
  // expected-error @+1 {{'dsflash.hc_collapse' op (C2) expected the result's features to be 64 but got 32}}
  %x = dsflash.hc_collapse %stream, %pre : (tensor<?x4x64xf32>, tensor<?x4xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @hc_expand_to_other_streams(%x: tensor<?x64xf32>, %stream: tensor<?x4x64xf32>,
                                      %post: tensor<?x4xf32>, %comb: tensor<?x4x4xf32>) {
  // expected-error @+1 {{'dsflash.hc_expand' op (C1) expected the result to be 'tensor<?x4x64xf32>' but got 'tensor<?x3x64xf32>'}}
  %next = dsflash.hc_expand %x, %stream, %post, %comb
    : (tensor<?x64xf32>, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>) -> tensor<?x3x64xf32>
  return
}

// -----

func.func @hc_expand_of_other_features(%x: tensor<?x32xf32>, %stream: tensor<?x4x64xf32>,
                                       %post: tensor<?x4xf32>, %comb: tensor<?x4x4xf32>) {
  // expected-error @+1 {{'dsflash.hc_expand' op (C2) expected the input's features to be 64 but got 32}}
  %next = dsflash.hc_expand %x, %stream, %post, %comb
    : (tensor<?x32xf32>, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x4xf32>) -> tensor<?x4x64xf32>
  return
}

// -----

func.func @hc_expand_of_other_post(%x: tensor<?x64xf32>, %stream: tensor<?x4x64xf32>,
                                   %post: tensor<?x3xf32>, %comb: tensor<?x4x4xf32>) {
  // expected-error @+1 {{'dsflash.hc_expand' op (C3) expected post's extent to be 4 but got 3}}
  %next = dsflash.hc_expand %x, %stream, %post, %comb
    : (tensor<?x64xf32>, tensor<?x4x64xf32>, tensor<?x3xf32>, tensor<?x4x4xf32>) -> tensor<?x4x64xf32>
  return
}

// -----

func.func @hc_expand_of_other_comb(%x: tensor<?x64xf32>, %stream: tensor<?x4x64xf32>,
                                   %post: tensor<?x4xf32>, %comb: tensor<?x3x4xf32>) {
  // expected-error @+1 {{'dsflash.hc_expand' op (C3) expected comb's sources to be 4 but got 3}}
  %next = dsflash.hc_expand %x, %stream, %post, %comb
    : (tensor<?x64xf32>, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x3x4xf32>) -> tensor<?x4x64xf32>
  return
}

// -----

func.func @stream_mean_to_other_features(%stream: tensor<?x4x64xf32>) {
  // expected-error @+1 {{'dsflash.stream_mean' op (C1) expected the result's features to be 64 but got 4}}
  %mean = dsflash.stream_mean %stream : (tensor<?x4x64xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @gather_rows_to_other_features(%x: tensor<?x64xf32>, %rows: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.gather_rows' op (C1) expected the result to be 'tensor<?x64xf32>' but got 'tensor<?x32xf32>'}}
  %y = dsflash.gather_rows %x, %rows : (tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @add_rows_to_another_type(%x: tensor<?x32xf32>, %into: tensor<?x64xf32>, %rows: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.add_rows' op (C1) expected the result to be 'tensor<?x64xf32>' but got 'tensor<?x32xf32>'}}
  %y = dsflash.add_rows %x, %into, %rows : (tensor<?x32xf32>, tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @add_rows_of_other_features(%x: tensor<?x32xf32>, %into: tensor<?x64xf32>, %rows: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.add_rows' op (C2) expected the input's features to be 64 but got 32}}
  %y = dsflash.add_rows %x, %into, %rows : (tensor<?x32xf32>, tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @last_rows_of_none(%s: tensor<?xi32>, %p: tensor<?xi32>, %e: tensor<?x2xi32>, %w: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.last_rows' op (C1) expected a count of 1 to 2^31 - 1}}
  %0:4 = dsflash.last_rows %s, %p, %e wanted %w {count = 0 : i64} : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
  return
}

// -----

func.func @last_rows_but_for_all(%s: tensor<?xi32>, %p: tensor<?xi32>, %e: tensor<?x2xi32>, %w: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.last_rows' op (C1) expected a skip of 0 to count - 1}}
  %0:4 = dsflash.last_rows %s, %p, %e wanted %w {count = 8 : i64, skip = 8 : i64} : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
  return
}
