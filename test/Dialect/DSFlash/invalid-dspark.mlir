// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

func.func @insert_feature_to_another_type(%x: tensor<?x8xf32>, %features: tensor<?x24xf32>) {
  // expected-error @+1 {{'dsflash.insert_feature' op (C1) expected the result to be 'tensor<?x24xf32>' but got 'tensor<?x8xf32>'}}
  %all = dsflash.insert_feature %x into %features {slot = 0 : i64} : (tensor<?x8xf32>, tensor<?x24xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @insert_feature_after_the_last(%x: tensor<?x8xf32>, %features: tensor<?x24xf32>) {
  // expected-error @+1 {{'dsflash.insert_feature' op (C2) expected a slot of 0 to 2 but got 3}}
  %all = dsflash.insert_feature %x into %features {slot = 3 : i64} : (tensor<?x8xf32>, tensor<?x24xf32>) -> tensor<?x24xf32>
  return
}

// -----

func.func @insert_feature_before_the_first(%x: tensor<?x8xf32>, %features: tensor<?x24xf32>) {
  // expected-error @+1 {{'dsflash.insert_feature' op (C2) expected a slot of 0 to 2 but got -1}}
  %all = dsflash.insert_feature %x into %features {slot = -1 : i64} : (tensor<?x8xf32>, tensor<?x24xf32>) -> tensor<?x24xf32>
  return
}

// -----

func.func @draft_tokens_of_negative_noise(%last: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.draft_tokens' op (C1) expected a noise token of 0 to 2147483647}}
  %ids = dsflash.draft_tokens %last rows(%last, %extents) {noise = -1 : i64}
    : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?xi32>
  return
}

// -----

func.func @draft_tokens_of_huge_noise(%last: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.draft_tokens' op (C1) expected a noise token of 0 to 2147483647}}
  %ids = dsflash.draft_tokens %last rows(%last, %extents) {noise = 2147483648 : i64}
    : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?xi32>
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!sink = !dsflash.weight<[1, 2], <f32>>
func.func @draft_attention_of_other_query(%q: tensor<?x16xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                          %sink: !sink, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.draft_attention' op (C1) expected the query's features to be 2 times 16 but got 16}}
  %y = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x16xf32>, tensor<?x16xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x16xf32>
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 8, <f32>>
!sink = !dsflash.weight<[1, 2], <f32>>
func.func @draft_attention_of_other_window(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                           %sink: !sink, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.draft_attention' op (C2) expected the window's dim to be 16 but got 8}}
  %y = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x32xf32>
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!sink = !dsflash.weight<[1, 2], <f32>>
func.func @draft_attention_of_empty_blocks(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                           %sink: !sink, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.draft_attention' op (C6) expected block_rows of 1 to 2147483647}}
  %y = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64, block_rows = 0 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x32xf32>
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!sink = !dsflash.weight<[2, 1], <f32>>
func.func @draft_attention_of_other_sink(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                         %sink: !sink, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.draft_attention' op (C3) expected the sink to be [1, 2] of f32 or bf16 but got}}
  %y = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x32xf32>
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!sink = !dsflash.weight<[1, 2], <f32>>
func.func @draft_attention_to_another_type(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                           %sink: !sink, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.draft_attention' op (C4) expected the result to be 'tensor<?x32xf32>' but got 'tensor<?x16xf32>'}}
  %y = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x16xf32>
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!sink = !dsflash.weight<[1, 2], <f32>>
func.func @draft_attention_of_a_small_ring(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                           %sink: !sink, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.draft_attention' op (C5) expected a sliding window of 1 to 8 positions but got 9}}
  %y = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 9 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !sink, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x32xf32>
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
func.func @append_window_of_other_features(%kv: tensor<?x32xf32>, %window: !window, %layer: index,
                                           %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.append_window' op (C1) expected the window's dim to be 32 but got 16}}
  %after = dsflash.append_window %kv to %window[%layer] rows(%ids, %ids, %extents)
    : (tensor<?x32xf32>, !window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !window
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!other = !dsflash.window<layers = 1, slots = 9, dim = 16, <f32>>
func.func @append_window_to_another_type(%kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                         %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.append_window' op (C2) expected the window after to be '!dsflash.window<layers = 1, slots = 8}}
  %after = dsflash.append_window %kv to %window[%layer] rows(%ids, %ids, %extents)
    : (tensor<?x16xf32>, !window, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !other
  return
}

// -----

func.func @confidence_of_other_columns(%hidden: tensor<?x64xf32>, %embed: tensor<?x16xf32>,
                                       %w: !dsflash.weight<[1, 64], <bf16>>, %rows: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.confidence' op (C1) expected the weight to be [1, 80] of f32 or bf16 but got}}
  %confidence = dsflash.confidence %hidden, %embed, %w, %rows
    : (tensor<?x64xf32>, tensor<?x16xf32>, !dsflash.weight<[1, 64], <bf16>>, tensor<?xi32>) -> tensor<?xf32>
  return
}
