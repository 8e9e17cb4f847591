// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

func.func @rope_table_of_other_frequencies(%position: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.rope_table' op (C1) expected the table's frequencies to be 2 but got 3}}
  %table = dsflash.rope_table %position {frequencies = array<f32: 1.0, 0.5>} : (tensor<?xi32>) -> tensor<?x3x2xf32>
  return
}

// -----

func.func @rope_table_without_frequencies(%position: tensor<?xi32>) {
  // expected-error @+1 {{(C1) expected the table's frequencies to be 0 but got 1}}
  %table = dsflash.rope_table %position {frequencies = array<f32>} : (tensor<?xi32>) -> tensor<?x1x2xf32>
  return
}

// -----

func.func @rope_table_without_sines(%position: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.rope_table' op (C1) expected the table's last extent to be 2 but got 1}}
  %table = dsflash.rope_table %position {frequencies = array<f32: 1.0, 0.5>} : (tensor<?xi32>) -> tensor<?x2x1xf32>
  return
}

// -----

func.func @rope_table_of_negative_ratio(%position: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.rope_table' op (C2) expected a positive ratio}}
  %table = dsflash.rope_table %position {frequencies = array<f32: 1.0>, ratio = -2 : i64}
    : (tensor<?xi32>) -> tensor<?x1x2xf32>
  return
}

// -----

func.func @rotate_to_another_type(%x: tensor<?x64xf32>, %table: tensor<?x16x2xf32>) {
  // expected-error @+1 {{'dsflash.rotate' op (C1) expected the result to be 'tensor<?x64xf32>' but got 'tensor<?x32xf32>'}}
  %y = dsflash.rotate %x, %table {head_dim = 64 : i64} : (tensor<?x64xf32>, tensor<?x16x2xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @rotate_part_of_a_head(%x: tensor<?x64xf32>, %table: tensor<?x16x2xf32>) {
  // expected-error @+1 {{'dsflash.rotate' op (C2) expected features to be a multiple of head_dim 48 but got 64}}
  %y = dsflash.rotate %x, %table {head_dim = 48 : i64} : (tensor<?x64xf32>, tensor<?x16x2xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @rotate_heads_of_nothing(%x: tensor<?x64xf32>, %table: tensor<?x16x2xf32>) {
  // expected-error @+1 {{(C2) expected features to be a multiple of head_dim 0 but got 64}}
  %y = dsflash.rotate %x, %table {head_dim = 0 : i64} : (tensor<?x64xf32>, tensor<?x16x2xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @rotate_more_than_a_head(%x: tensor<?x64xf32>, %table: tensor<?x17x2xf32>) {
  // expected-error @+1 {{'dsflash.rotate' op (C3) expected a table of at most head_dim / 2 pairs}}
  %y = dsflash.rotate %x, %table {head_dim = 32 : i64} : (tensor<?x64xf32>, tensor<?x17x2xf32>) -> tensor<?x64xf32>
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
func.func @csa2_of_other_query(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                               %sink: !dsflash.weight<[1, 4], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.csa2' op (C1) expected the query's features to be 4 times 16 but got 32}}
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 4 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 4], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
func.func @csa2_of_huge_heads(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                              %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{(C1) expected the query's features to be 1152921504606846978 times 16 but got 32}}
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 1152921504606846978 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 32, <f32>>
func.func @csa2_of_other_window(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.csa2' op (C2) expected the window's dim to be 16 but got 32}}
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!global = !dsflash.global_kv<rows = 8, dim = 32, ratio = 1, <f32>>
func.func @csa2_of_other_global_kv(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                   %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>,
                                   %global: !global, %selection: tensor<?x4xi32>) {
  // expected-error @+1 {{'dsflash.csa2' op (C2) expected the global KV's dim to be 16 but got 32}}
  %y, %after = dsflash.csa2 <full> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      global %global selection %selection {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !global, tensor<?x4xi32>) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
func.func @csa2_of_other_sink(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                              %sink: !dsflash.weight<[1, 4], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.csa2' op (C3) expected the sink to be [1, 2] of f32 or bf16 but got}}
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 4], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
func.func @csa2_full_without_global_kv(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                       %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.csa2' op (C4) expected global KV and a selection in mode full}}
  %y, %after = dsflash.csa2 <full> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!global = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func @csa2_reuse_without_selection(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                        %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>,
                                        %extents: tensor<?x2xi32>, %global: !global) {
  // expected-error @+1 {{'dsflash.csa2' op (C4) expected global KV and a selection in mode reuse}}
  %y, %after = dsflash.csa2 <reuse> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents) global %global
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !global) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!global = !dsflash.global_kv<rows = 8, dim = 16, ratio = 1, <f32>>
func.func @csa2_window_with_global_kv(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                      %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>,
                                      %global: !global, %selection: tensor<?x4xi32>) {
  // expected-error @+1 {{'dsflash.csa2' op (C4) expected neither global KV nor a selection in mode window}}
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      global %global selection %selection {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, !global, tensor<?x4xi32>) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
func.func @csa2_of_a_small_ring(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.csa2' op (C5) expected a sliding window of 1 to 8 positions but got 9}}
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 9 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
func.func @csa2_of_a_negative_window(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                     %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{(C5) expected a sliding window of 1 to 8 positions but got -8}}
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = -8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x32xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
func.func @csa2_to_another_type(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.csa2' op (C6) expected the result to be 'tensor<?x32xf32>' but got 'tensor<?x16xf32>'}}
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x16xf32>, !window)
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 16, <f32>>
!other = !dsflash.window<layers = 2, slots = 8, dim = 16, <f32>>
func.func @csa2_to_another_window(%q: tensor<?x32xf32>, %kv: tensor<?x16xf32>, %window: !window, %layer: index,
                                  %sink: !dsflash.weight<[1, 2], <f32>>, %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.csa2' op (C6) expected the window after to be '!dsflash.window<layers = 1}}
  %y, %after = dsflash.csa2 <window> %q, %kv window %window[%layer] sink %sink rows(%ids, %ids, %extents)
      {heads = 2 : i64, sliding_window = 8 : i64}
    : (tensor<?x32xf32>, tensor<?x16xf32>, !window, index, !dsflash.weight<[1, 2], <f32>>,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x32xf32>, !other)
  return
}

// -----

!pending = !dsflash.pending<slots = 4, dim = 16>
func.func @compress_of_another_gate(%kv: tensor<?x16xf32>, %gate: tensor<?x8xf32>, %pending: !pending,
                                    %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.compress' op (C1) expected the gate to be 'tensor<?x16xf32>' but got 'tensor<?x8xf32>'}}
  %latent, %after = dsflash.compress %kv, %gate pending %pending rows(%ids, %ids, %extents) {ratio = 2 : i64}
    : (tensor<?x16xf32>, tensor<?x8xf32>, !pending, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x16xf32>, !pending)
  return
}

// -----

!pending = !dsflash.pending<slots = 4, dim = 16>
func.func @compress_to_another_latent(%kv: tensor<?x16xf32>, %pending: !pending,
                                      %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.compress' op (C1) expected the latent to be 'tensor<?x16xf32>' but got 'tensor<?x8xf32>'}}
  %latent, %after = dsflash.compress %kv, %kv pending %pending rows(%ids, %ids, %extents) {ratio = 2 : i64}
    : (tensor<?x16xf32>, tensor<?x16xf32>, !pending, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x8xf32>, !pending)
  return
}

// -----

!pending = !dsflash.pending<slots = 4, dim = 8>
func.func @compress_of_other_pending(%kv: tensor<?x16xf32>, %pending: !pending,
                                     %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.compress' op (C1) expected the pending groups' dim to be 16 but got 8}}
  %latent, %after = dsflash.compress %kv, %kv pending %pending rows(%ids, %ids, %extents) {ratio = 2 : i64}
    : (tensor<?x16xf32>, tensor<?x16xf32>, !pending, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x16xf32>, !pending)
  return
}

// -----

!pending = !dsflash.pending<slots = 4, dim = 16>
func.func @compress_of_ratio_one(%kv: tensor<?x16xf32>, %pending: !pending,
                                 %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.compress' op (C2) expected a ratio of at least 2 and at most 4 slots but got 1}}
  %latent, %after = dsflash.compress %kv, %kv pending %pending rows(%ids, %ids, %extents) {ratio = 1 : i64}
    : (tensor<?x16xf32>, tensor<?x16xf32>, !pending, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x16xf32>, !pending)
  return
}

// -----

!pending = !dsflash.pending<slots = 4, dim = 16>
func.func @compress_of_too_few_slots(%kv: tensor<?x16xf32>, %pending: !pending,
                                     %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.compress' op (C2) expected a ratio of at least 2 and at most 4 slots but got 5}}
  %latent, %after = dsflash.compress %kv, %kv pending %pending rows(%ids, %ids, %extents) {ratio = 5 : i64}
    : (tensor<?x16xf32>, tensor<?x16xf32>, !pending, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x16xf32>, !pending)
  return
}

// -----

!pending = !dsflash.pending<slots = 4, dim = 16>
!other = !dsflash.pending<slots = 5, dim = 16>
func.func @compress_to_other_pending(%kv: tensor<?x16xf32>, %pending: !pending,
                                     %ids: tensor<?xi32>, %extents: tensor<?x2xi32>) {
  // expected-error @+1 {{'dsflash.compress' op (C3) expected the pending groups after to be '!dsflash.pending<slots = 4, dim = 16>'}}
  %latent, %after = dsflash.compress %kv, %kv pending %pending rows(%ids, %ids, %extents) {ratio = 2 : i64}
    : (tensor<?x16xf32>, tensor<?x16xf32>, !pending, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> (tensor<?x16xf32>, !other)
  return
}

// -----

!keys = !dsflash.index_keys<rows = 8, dim = 32, ratio = 1, <f32>>
func.func @append_of_other_features(%x: tensor<?x16xf32>, %keys: !keys, %ids: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.append' op (C1) expected the input's features to be 32 but got 16}}
  %after = dsflash.append %x to %keys rows(%ids, %ids) : (tensor<?x16xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> !keys
  return
}

// -----

!keys = !dsflash.index_keys<rows = 8, dim = 32, ratio = 1, <f32>>
!global = !dsflash.global_kv<rows = 8, dim = 32, ratio = 1, <f32>>
func.func @append_to_another_state(%x: tensor<?x32xf32>, %keys: !keys, %ids: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.append' op (C2) expected the state after to be '!dsflash.index_keys<}}
  %after = dsflash.append %x to %keys rows(%ids, %ids) : (tensor<?x32xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> !global
  return
}

// -----

!window = !dsflash.window<layers = 1, slots = 8, dim = 32, <f32>>
func.func @append_to_a_window(%x: tensor<?x32xf32>, %window: !window, %ids: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.append' op operand #1 must be global KV of one owner or index keys of one owner, but got}}
  %after = dsflash.append %x to %window rows(%ids, %ids) : (tensor<?x32xf32>, !window, tensor<?xi32>, tensor<?xi32>) -> !window
  return
}

// -----

!keys = !dsflash.index_keys<rows = 8, dim = 32, ratio = 1, <f32>>
func.func @load_of_other_features(%keys: !keys, %ids: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.load' op (C1) expected the result's features to be 32 but got 16}}
  %rows = dsflash.load %keys rows(%ids, %ids) : (!keys, tensor<?xi32>, tensor<?xi32>) -> tensor<?x16xf32>
  return
}

// -----

!keys = !dsflash.index_keys<rows = 8, dim = 32, ratio = 1, <f32>>
func.func @indexer_of_other_heads(%q: tensor<?x128xf32>, %weights: tensor<?x3xf32>, %keys: !keys, %ids: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.indexer' op (C1) expected the query's features to be 3 times 32 but got 128}}
  %selection = dsflash.indexer %q, %weights keys %keys rows(%ids, %ids)
    : (tensor<?x128xf32>, tensor<?x3xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> tensor<?x16xi32>
  return
}

// -----

!keys = !dsflash.index_keys<rows = 8, dim = 32, ratio = 1, <f32>>
func.func @indexer_with_candidates_and_kept(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys,
                                            %ids: tensor<?xi32>, %candidates: tensor<?x4xi32>) {
  // expected-error @+1 {{'dsflash.indexer' op (C2) expected candidates or kept blocks, not both}}
  %selection, %kept = dsflash.indexer %q, %weights keys %keys rows(%ids, %ids) candidates %candidates {block_size = 8 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>, tensor<?x4xi32>)
    -> (tensor<?x16xi32>, tensor<?x4xi32>)
  return
}

// -----

!keys = !dsflash.index_keys<rows = 8, dim = 32, ratio = 1, <f32>>
func.func @indexer_without_block_size(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys, %ids: tensor<?xi32>) {
  // expected-error @+1 {{'dsflash.indexer' op (C3) expected a positive block_size exactly with candidates or kept blocks}}
  %selection, %kept = dsflash.indexer %q, %weights keys %keys rows(%ids, %ids)
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x16xi32>, tensor<?x4xi32>)
  return
}

// -----

!keys = !dsflash.index_keys<rows = 8, dim = 32, ratio = 1, <f32>>
func.func @indexer_of_negative_block_size(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys,
                                          %ids: tensor<?xi32>, %candidates: tensor<?x4xi32>) {
  // expected-error @+1 {{(C3) expected a positive block_size exactly with candidates or kept blocks}}
  %selection = dsflash.indexer %q, %weights keys %keys rows(%ids, %ids) candidates %candidates {block_size = -8 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>, tensor<?x4xi32>) -> tensor<?x16xi32>
  return
}

// -----

!keys = !dsflash.index_keys<rows = 8, dim = 32, ratio = 1, <f32>>
func.func @indexer_of_needless_block_size(%q: tensor<?x128xf32>, %weights: tensor<?x4xf32>, %keys: !keys, %ids: tensor<?xi32>) {
  // expected-error @+1 {{(C3) expected a positive block_size exactly with candidates or kept blocks}}
  %selection = dsflash.indexer %q, %weights keys %keys rows(%ids, %ids) {block_size = 8 : i64}
    : (tensor<?x128xf32>, tensor<?x4xf32>, !keys, tensor<?xi32>, tensor<?xi32>) -> tensor<?x16xi32>
  return
}
