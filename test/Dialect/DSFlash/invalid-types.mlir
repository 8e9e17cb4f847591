// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{(C1) expected a payload of f32, bf16, e4m3, e2m1 or i32 but got e8m0}}
func.func private @format_of_scales() attributes {dsflash.format = #dsflash.format<e8m0>}

// -----

// expected-error @+1 {{(C1) expected a payload of f32, bf16, e4m3, e2m1 or i32 but got none}}
func.func private @format_of_nothing() attributes {dsflash.format = #dsflash.format<none>}

// -----

// expected-error @+1 {{(C2) expected a scale of e8m0 or e4m3 but got f32}}
func.func private @format_with_f32_scale() attributes {dsflash.format = #dsflash.format<e4m3, f32, [1, 32]>}

// -----

// expected-error @+1 {{(C2) expected a scale exactly for e4m3 and e2m1}}
func.func private @format_without_scale() attributes {dsflash.format = #dsflash.format<e2m1>}

// -----

// expected-error @+1 {{(C2) expected a scale exactly for e4m3 and e2m1}}
func.func private @format_with_needless_scale() attributes {dsflash.format = #dsflash.format<bf16, e8m0, [1, 32]>}

// -----

// expected-error @+1 {{(C3) expected a positive block exactly with a scale but got [0, 32]}}
func.func private @format_of_no_block() attributes {dsflash.format = #dsflash.format<e4m3, e8m0, [0, 32]>}

// -----

// expected-error @+1 {{(C3) expected a positive block exactly with a scale but got [1, -32]}}
func.func private @format_of_negative_block() attributes {dsflash.format = #dsflash.format<e4m3, e8m0, [1, -32]>}

// -----

// expected-error @+1 {{(C3) expected a positive block exactly with a scale but got [1, 9223372036854775807]}}
func.func private @format_of_huge_block() attributes {dsflash.format = #dsflash.format<e4m3, e8m0, [1, 9223372036854775807]>}

// -----

// expected-error @+1 {{(C3) expected a positive block exactly with a scale but got [1, 32]}}
func.func private @format_of_needless_block() attributes {dsflash.format = #dsflash.format<bf16, none, [1, 32]>}

// -----

// expected-error @+1 {{(C1) expected 2 or 3 extents but got 1}}
func.func private @weight_of_one_extent(!dsflash.weight<[64], <bf16>>)

// -----

// expected-error @+1 {{(C1) expected 2 or 3 extents but got 4}}
func.func private @weight_of_four_extents(!dsflash.weight<[2, 2, 2, 2], <bf16>>)

// -----

// expected-error @+1 {{(C1) expected extents of 1 to 2147483647 but got 0}}
func.func private @weight_of_no_rows(!dsflash.weight<[0, 64], <bf16>>)

// -----

// expected-error @+1 {{(C1) expected extents of 1 to 2147483647 but got -64}}
func.func private @weight_of_negative_columns(!dsflash.weight<[1, -64], <bf16>>)

// -----

// expected-error @+1 {{(C1) expected extents of 1 to 2147483647 but got 2147483648}}
func.func private @weight_of_huge_columns(!dsflash.weight<[1, 2147483648], <bf16>>)

// -----

// expected-error @+1 {{(C1) expected at most 2^48 elements}}
func.func private @weight_of_huge_extents(!dsflash.weight<[2147483647, 2147483647, 2147483647], <bf16>>)

// -----

// expected-error @+1 {{(C2) expected an even number of columns but got 3}}
func.func private @weight_of_half_a_byte(!dsflash.weight<[2, 3], <e2m1, e8m0, [1, 32]>>)

// -----

// expected-error @+1 {{(C1) expected extents of 1 to 2147483647 but got 0}}
func.func private @window_without_layers(!dsflash.window<layers = 0, slots = 8, dim = 64, <f32>>)

// -----

// expected-error @+1 {{(C1) expected extents of 1 to 2147483647 but got -8}}
func.func private @window_of_negative_slots(!dsflash.window<layers = 1, slots = -8, dim = 64, <f32>>)

// -----

// expected-error @+1 {{(C1) expected at most 2^48 elements}}
func.func private @window_of_huge_extents(!dsflash.window<layers = 2147483647, slots = 2147483647, dim = 64, <f32>>)

// -----

// expected-error @+1 {{(C2) expected a format of f32, or of e4m3 or e2m1 with blocks of one row, but got}}
func.func private @window_of_bf16(!dsflash.window<layers = 1, slots = 8, dim = 64, <bf16>>)

// -----

// expected-error @+1 {{(C2) expected a format of f32, or of e4m3 or e2m1 with blocks of one row, but got}}
func.func private @window_of_blocks_of_rows(!dsflash.window<layers = 1, slots = 8, dim = 64, <e4m3, e8m0, [32, 32]>>)

// -----

// expected-error @+1 {{(C2) expected dim to be a multiple of 32 but got 48}}
func.func private @window_of_part_of_a_block(!dsflash.window<layers = 1, slots = 8, dim = 48, <e4m3, e8m0, [1, 32]>>)

// -----

// expected-error @+1 {{(C1) expected extents of 1 to 2147483647 but got 0}}
func.func private @global_kv_of_ratio_zero(!dsflash.global_kv<rows = 8, dim = 64, ratio = 0, <f32>>)

// -----

// expected-error @+1 {{(C2) expected dim to be a multiple of 16 but got 40}}
func.func private @global_kv_of_part_of_a_block(!dsflash.global_kv<rows = 8, dim = 40, ratio = 1, <e2m1, e4m3, [1, 16]>>)

// -----

// expected-error @+1 {{(C2) expected an even dim but got 3}}
func.func private @global_kv_of_half_a_byte(!dsflash.global_kv<rows = 8, dim = 3, ratio = 1, <e2m1, e4m3, [1, 3]>>)

// -----

// expected-error @+1 {{(C1) expected extents of 1 to 2147483647 but got -1}}
func.func private @index_keys_of_negative_rows(!dsflash.index_keys<rows = -1, dim = 32, ratio = 1, <f32>>)

// -----

// expected-error @+1 {{(C2) expected dim to be a multiple of 32 but got 48}}
func.func private @index_keys_of_part_of_a_block(!dsflash.index_keys<rows = 8, dim = 48, ratio = 1, <e2m1, e8m0, [1, 32]>>)

// -----

// expected-error @+1 {{(C1) expected extents of 1 to 2147483647 but got 0}}
func.func private @pending_without_slots(!dsflash.pending<slots = 0, dim = 64>)
