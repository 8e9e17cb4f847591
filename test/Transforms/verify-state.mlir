// RUN: dsflash-opt %s --dsflash-verify-state -split-input-file -verify-diagnostics

!kv = !dsflash.global_kv<rows = 8, dim = 32, ratio = 1, <f32>>

// Readers of the value after are as many as they like.
func.func @in_order(%x: tensor<?x32xf32>, %kv: !kv, %s: tensor<?xi32>, %p: tensor<?xi32>) -> !kv {
  %after = dsflash.append %x to %kv rows(%s, %p) : (tensor<?x32xf32>, !kv, tensor<?xi32>, tensor<?xi32>) -> !kv
  %0 = dsflash.load %after rows(%s, %p) : (!kv, tensor<?xi32>, tensor<?xi32>) -> tensor<?x32xf32>
  %1 = dsflash.load %after rows(%s, %p) : (!kv, tensor<?xi32>, tensor<?xi32>) -> tensor<?x32xf32>
  return %after : !kv
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 32, ratio = 1, <f32>>

func.func @read_of_the_value_before(%x: tensor<?x32xf32>, %kv: !kv, %s: tensor<?xi32>, %p: tensor<?xi32>) -> !kv {
  // expected-note @+1 {{appended to here}}
  %after = dsflash.append %x to %kv rows(%s, %p) : (tensor<?x32xf32>, !kv, tensor<?xi32>, tensor<?xi32>) -> !kv
  // expected-error @+1 {{uses a state that is appended to elsewhere; expected the value after}}
  %0 = dsflash.load %kv rows(%s, %p) : (!kv, tensor<?xi32>, tensor<?xi32>) -> tensor<?x32xf32>
  return %after : !kv
}

// -----

!kv = !dsflash.global_kv<rows = 8, dim = 32, ratio = 1, <f32>>

func.func private @append(%x: tensor<?x32xf32>, %kv: !kv, %s: tensor<?xi32>, %p: tensor<?xi32>) -> !kv {
  %after = dsflash.append %x to %kv rows(%s, %p) : (tensor<?x32xf32>, !kv, tensor<?xi32>, tensor<?xi32>) -> !kv
  return %after : !kv
}

// A call of a function that appends is an append.
func.func @append_through_a_call(%x: tensor<?x32xf32>, %kv: !kv, %s: tensor<?xi32>, %p: tensor<?xi32>) -> !kv {
  // expected-note @+1 {{appended to here}}
  %after = call @append(%x, %kv, %s, %p) : (tensor<?x32xf32>, !kv, tensor<?xi32>, tensor<?xi32>) -> !kv
  // expected-error @+1 {{uses a state that is appended to elsewhere; expected the value after}}
  %0 = dsflash.load %kv rows(%s, %p) : (!kv, tensor<?xi32>, tensor<?xi32>) -> tensor<?x32xf32>
  return %after : !kv
}
