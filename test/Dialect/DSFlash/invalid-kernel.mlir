// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

func.func @dispatch_of_no_kernel(%n: index, %x: memref<?xf32>) {
  // expected-error @+1 {{'dsflash.dispatch' op (C1) expected a kernel function named nothing}}
  dsflash.dispatch @nothing grid(%n) outs(%x : memref<?xf32>)
  return
}

// -----

func.func private @kernel(index, index, memref<?x8xf32>)
func.func @dispatch_of_another_buffer(%n: index, %x: memref<?xf32>) {
  // expected-error @+1 {{'dsflash.dispatch' op (C1) expected @kernel to take two indices and buffers of the operands' shapes}}
  dsflash.dispatch @kernel grid(%n) outs(%x : memref<?xf32>)
  return
}

// -----

func.func private @kernel(memref<?xf32>)
func.func @dispatch_without_range(%n: index, %x: memref<?xf32>) {
  // expected-error @+1 {{(C1) expected @kernel to take two indices and buffers of the operands' shapes}}
  dsflash.dispatch @kernel grid(%n) outs(%x : memref<?xf32>)
  return
}

// -----

func.func private @kernel(index, index, memref<?xf32>) -> index
func.func @dispatch_of_a_function(%n: index, %x: memref<?xf32>) {
  // expected-error @+1 {{(C1) expected @kernel to take two indices and buffers of the operands' shapes}}
  dsflash.dispatch @kernel grid(%n) outs(%x : memref<?xf32>)
  return
}

// -----

module @nested {
  func.func private @kernel(index, index, memref<?xf32>)
}
func.func @dispatch_of_a_nested_kernel(%n: index, %x: memref<?xf32>) {
  // expected-error @+1 {{(C1) expected a kernel function named kernel}}
  dsflash.dispatch @kernel grid(%n) outs(%x : memref<?xf32>)
  return
}

// -----

func.func private @kernel(index, index, memref<?xf32>)
func.func @dispatch_without_result(%n: index, %x: tensor<?xf32>) {
  // expected-error @+1 {{'dsflash.dispatch' op (C2) expected one result of its type for each tensor of the outs}}
  dsflash.dispatch @kernel grid(%n) outs(%x : tensor<?xf32>)
  return
}

// -----

func.func private @kernel(index, index, memref<?xf32>)
func.func @dispatch_to_another_type(%n: index, %x: tensor<?xf32>) {
  // expected-error @+1 {{'dsflash.dispatch' op (C2) expected one result of its type for each tensor of the outs}}
  %y = dsflash.dispatch @kernel grid(%n) outs(%x : tensor<?xf32>) -> tensor<?xi32>
  return
}

// -----

func.func @weight_data_without_expert(%w: !dsflash.weight<[4, 8, 32], <bf16>>) {
  // expected-error @+1 {{'dsflash.weight_data' op (C1) expected an expert exactly when the weight has experts}}
  %rows = dsflash.weight_data payload %w : <[4, 8, 32], <bf16>> -> memref<8x32xbf16>
  return
}

// -----

func.func @weight_data_of_no_expert(%w: !dsflash.weight<[8, 32], <bf16>>, %expert: index) {
  // expected-error @+1 {{(C1) expected an expert exactly when the weight has experts}}
  %rows = dsflash.weight_data payload %w[%expert] : <[8, 32], <bf16>> -> memref<8x32xbf16>
  return
}

// -----

func.func @weight_data_without_scale(%w: !dsflash.weight<[8, 32], <bf16>>) {
  // expected-error @+1 {{'dsflash.weight_data' op (C2) expected a format with a scale plane}}
  %rows = dsflash.weight_data scale %w : <[8, 32], <bf16>> -> memref<8x1xi8>
  return
}

// -----

func.func @weight_data_unpacked(%w: !dsflash.weight<[8, 32], <e2m1, e8m0, [1, 32]>>) {
  // expected-error @+1 {{'dsflash.weight_data' op (C2) expected the buffer to be 'memref<8x16xi8>' but got 'memref<8x32xf32>'}}
  %rows = dsflash.weight_data payload %w : <[8, 32], <e2m1, e8m0, [1, 32]>> -> memref<8x32xf32>
  return
}

// -----

func.func @weight_data_of_dynamic_rows(%w: !dsflash.weight<[8, 32], <bf16>>) {
  // expected-error @+1 {{(C2) expected the buffer to be 'memref<8x32xbf16>' but got 'memref<?x32xbf16>'}}
  %rows = dsflash.weight_data payload %w : <[8, 32], <bf16>> -> memref<?x32xbf16>
  return
}

// -----

func.func @state_data_without_scale(%pending: !dsflash.pending<slots = 8, dim = 16>, %sequence: index) {
  // expected-error @+1 {{'dsflash.state_data' op (C1) expected a format with a scale plane}}
  %rows = dsflash.state_data scale %pending[%sequence] : !dsflash.pending<slots = 8, dim = 16> -> memref<8x1xi8>
  return
}

// -----

func.func @state_data_of_half_a_row(%pending: !dsflash.pending<slots = 8, dim = 16>, %sequence: index) {
  // expected-error @+1 {{'dsflash.state_data' op (C1) expected the buffer to be 'memref<8x32xf32>' but got 'memref<8x16xf32>'}}
  %rows = dsflash.state_data payload %pending[%sequence] : !dsflash.pending<slots = 8, dim = 16> -> memref<8x16xf32>
  return
}

// -----

func.func @decode_e2m1_to_another_shape(%codes: vector<16xi32>, %scale: f32) {
  // expected-error @+1 {{'dsflash.decode_e2m1' op (C1) expected the result to be 'vector<16xf32>' but got 'vector<8xf32>'}}
  %values = dsflash.decode_e2m1 %codes, %scale : vector<16xi32> -> vector<8xf32>
  return
}

// -----

func.func @decode_e2m1_blocks_to_another_shape(%codes: vector<32xi8>, %scale: i8) {
  // expected-error @+1 {{'dsflash.decode_e2m1_blocks' op (C1) expected the result to be 64 but got 32}}
  %values = dsflash.decode_e2m1_blocks %codes[%scale] : vector<32xi8> -> vector<32xbf16>
  return
}

// -----

func.func @decode_e2m1_blocks_of_unequal_shares(%codes: vector<32xi8>, %scale: i8) {
  // expected-error @+1 {{'dsflash.decode_e2m1_blocks' op (C2) expected words of two bytes for each scale}}
  %values = dsflash.decode_e2m1_blocks %codes[%scale, %scale, %scale] : vector<32xi8> -> vector<64xbf16>
  return
}

// -----

func.func @dot_bf16_of_other_lanes(%a: vector<16xbf16>, %sum: vector<16xf32>) {
  // expected-error @+1 {{'dsflash.dot_bf16' op (C1) expected the values to be 32 but got 16}}
  %next = dsflash.dot_bf16 %a, %a, %sum : vector<16xbf16>, vector<16xf32>
  return
}

// -----

func.func @decode_e4m3_to_another_shape(%codes: vector<16xi8>) {
  // expected-error @+1 {{'dsflash.decode_e4m3' op (C1) expected the result to be 'vector<16xf32>' but got 'f32'}}
  %values = dsflash.decode_e4m3 %codes : vector<16xi8> -> f32
  return
}
