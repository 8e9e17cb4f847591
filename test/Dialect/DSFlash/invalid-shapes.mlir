// RUN: dsflash-opt %s -split-input-file -verify-diagnostics

// Rows are dynamic and nothing else is: one operation stands for all of them.

func.func @static_rows(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{operand #0 must be 2D/3D tensor of 32-bit float values with dynamic rows and other extents static, but got 'tensor<4x64xf32>'}}
  %y = dsflash.round %x {point = "x"} : tensor<4x64xf32>
  return
}

// -----

func.func @dynamic_features(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{operand #0 must be 2D/3D tensor of 32-bit float values with dynamic rows and other extents static}}
  %y = dsflash.round %x {point = "x"} : tensor<?x?xf32>
  return
}

// -----

func.func @dynamic_streams(%x: tensor<?x?x64xf32>) {
  // expected-error @+1 {{operand #0 must be 3D tensor of 32-bit float values with dynamic rows and other extents static}}
  %y = dsflash.stream_mean %x : (tensor<?x?x64xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @no_features(%x: tensor<?x0xf32>, %features: tensor<?x64xf32>) {
  // expected-error @+1 {{operand #0 must be 2D tensor of 32-bit float values with dynamic rows and other extents static}}
  %y = dsflash.insert_feature %x into %features {slot = 0 : i64}
    : (tensor<?x0xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @huge_features(%x: tensor<?x9223372036854775807xf32>) {
  // expected-error @+1 {{operand #0 must be 2D/3D tensor of 32-bit float values with dynamic rows and other extents static}}
  %y = dsflash.round %x {point = "x"} : tensor<?x9223372036854775807xf32>
  return
}

// -----

func.func @wrong_rank(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be 2D/3D tensor of 32-bit float values}}
  %y = dsflash.round %x {point = "x"} : tensor<?xf32>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{invalid kind of type specified}}
  %y = dsflash.round %x {point = "x"} : tensor<*xf32>
  return
}

// -----

func.func @wrong_element(%x: tensor<?x64xbf16>) {
  // expected-error @+1 {{operand #0 must be 2D/3D tensor of 32-bit float values}}
  %y = dsflash.round %x {point = "x"} : tensor<?x64xbf16>
  return
}

// -----

func.func @encoded(%x: tensor<?x64xf32, "packed">) {
  // expected-error @+1 {{operand #0 must be 2D/3D tensor of 32-bit float values}}
  %y = dsflash.round %x {point = "x"} : tensor<?x64xf32, "packed">
  return
}

// -----

func.func @extents_of_three(%last: tensor<?xi32>, %sequence: tensor<?xi32>, %extents: tensor<?x3xi32>) {
  // expected-error @+1 {{operand #2 must be 2D tensor of 32-bit signless integer values with the extents [?, 2], but got 'tensor<?x3xi32>'}}
  %ids = dsflash.draft_tokens %last rows(%sequence, %extents) {noise = 1 : i64}
    : (tensor<?xi32>, tensor<?xi32>, tensor<?x3xi32>) -> tensor<?xi32>
  return
}
