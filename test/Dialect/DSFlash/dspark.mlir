// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

!window = !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>

// CHECK-LABEL: func.func @insert_feature(
// CHECK: dsflash.insert_feature %{{.*}} into %{{.*}} {slot = 1 : i64} : (tensor<?x64xf32>, tensor<?x192xf32>) -> tensor<?x192xf32>
func.func @insert_feature(%x: tensor<?x64xf32>, %features: tensor<?x192xf32>) -> tensor<?x192xf32> {
  %all = dsflash.insert_feature %x into %features {slot = 1 : i64}
    : (tensor<?x64xf32>, tensor<?x192xf32>) -> tensor<?x192xf32>
  return %all : tensor<?x192xf32>
}

// CHECK-LABEL: func.func @draft_tokens(
// CHECK: dsflash.draft_tokens %{{.*}} rows(%{{.*}}, %{{.*}}) {noise = 511 : i64} : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?xi32>
func.func @draft_tokens(%last: tensor<?xi32>, %sequence: tensor<?xi32>, %extents: tensor<?x2xi32>) -> tensor<?xi32> {
  %ids = dsflash.draft_tokens %last rows(%sequence, %extents) {noise = 511 : i64}
    : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> tensor<?xi32>
  return %ids : tensor<?xi32>
}

// CHECK-LABEL: func.func @draft_attention(
// CHECK: dsflash.draft_attention %{{.*}}, %{{.*}} window %{{.*}}[%{{.*}}] sink %{{.*}} rows(%{{.*}}, %{{.*}}, %{{.*}}) {block_rows = 5 : i64, heads = 8 : i64, sliding_window = 8 : i64} :
func.func @draft_attention(%q: tensor<?x512xf32>, %kv: tensor<?x64xf32>, %window: !window, %layer: index,
                           %sink: !dsflash.weight<[1, 8], <f32>>, %sequence: tensor<?xi32>,
                           %position: tensor<?xi32>, %extents: tensor<?x2xi32>) -> tensor<?x512xf32> {
  %y = dsflash.draft_attention %q, %kv window %window[%layer] sink %sink
      rows(%sequence, %position, %extents) {heads = 8 : i64, sliding_window = 8 : i64, block_rows = 5 : i64}
    : (tensor<?x512xf32>, tensor<?x64xf32>, !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>, index,
       !dsflash.weight<[1, 8], <f32>>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}

// CHECK-LABEL: func.func @append_window(
// CHECK: dsflash.append_window %{{.*}} to %{{.*}}[%{{.*}}] rows(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?x64xf32>, !dsflash.window<{{.*}}>, index, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> !dsflash.window
func.func @append_window(%kv: tensor<?x64xf32>, %window: !window, %layer: index, %sequence: tensor<?xi32>,
                         %position: tensor<?xi32>, %extents: tensor<?x2xi32>) -> !window {
  %after = dsflash.append_window %kv to %window[%layer] rows(%sequence, %position, %extents)
    : (tensor<?x64xf32>, !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>, index,
       tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
    -> !dsflash.window<layers = 10, slots = 13, dim = 64, <e4m3, e8m0, [1, 32]>>
  return %after : !window
}

// CHECK-LABEL: func.func @confidence(
// CHECK: dsflash.confidence %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x64xf32>, tensor<?x16xf32>, !dsflash.weight<[1, 80], <bf16>>, tensor<?xi32>) -> tensor<?xf32>
func.func @confidence(%hidden: tensor<?x64xf32>, %embed: tensor<?x16xf32>,
                      %w: !dsflash.weight<[1, 80], <bf16>>, %rows: tensor<?xi32>) -> tensor<?xf32> {
  %confidence = dsflash.confidence %hidden, %embed, %w, %rows
    : (tensor<?x64xf32>, tensor<?x16xf32>, !dsflash.weight<[1, 80], <bf16>>, tensor<?xi32>) -> tensor<?xf32>
  return %confidence : tensor<?xf32>
}
