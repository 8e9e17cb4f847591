// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

!global = !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>>

func.func private @rms_norm(index, index, memref<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>, memref<?x64xf32>)
func.func private @append(index, index, memref<?x64xf32>, !global)
func.func private @with_call(!llvm.ptr, index, index, memref<?xf32>)

// CHECK-LABEL: func.func @dispatch_on_tensors(
// CHECK: dsflash.dispatch @rms_norm grid(%{{.*}}) ins(%{{.*}}, %{{.*}} : tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>) outs(%{{.*}} : tensor<?x64xf32>) -> tensor<?x64xf32>
func.func @dispatch_on_tensors(%n: index, %x: tensor<?x64xf32>, %w: !dsflash.weight<[1, 64], <bf16>>,
                               %init: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = dsflash.dispatch @rms_norm grid(%n) ins(%x, %w : tensor<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>)
    outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @dispatch_on_buffers(
// CHECK: dsflash.dispatch @rms_norm grid(%{{.*}}) ins({{.*}}) outs(%{{.*}} : memref<?x64xf32>){{$}}
func.func @dispatch_on_buffers(%n: index, %x: memref<?x64xf32>, %w: !dsflash.weight<[1, 64], <bf16>>,
                               %y: memref<?x64xf32>) {
  dsflash.dispatch @rms_norm grid(%n) ins(%x, %w : memref<?x64xf32>, !dsflash.weight<[1, 64], <bf16>>)
    outs(%y : memref<?x64xf32>)
  return
}

// CHECK-LABEL: func.func @dispatch_writes_state(
// CHECK: dsflash.dispatch @append grid(%{{.*}}) ins(%{{.*}}, %{{.*}} : {{.*}}) {writes_state}
func.func @dispatch_writes_state(%n: index, %x: memref<?x64xf32>, %global: !global) {
  dsflash.dispatch @append grid(%n) ins(%x, %global : memref<?x64xf32>, !global) {writes_state}
  return
}

// CHECK-LABEL: func.func @dispatch_with_call(
// CHECK: dsflash.dispatch @with_call call(%{{.*}}) grid(%{{.*}}) outs(%{{.*}} : memref<?xf32>)
func.func @dispatch_with_call(%call: !llvm.ptr, %n: index, %y: memref<?xf32>) {
  dsflash.dispatch @with_call call(%call) grid(%n) outs(%y : memref<?xf32>)
  return
}

// CHECK-LABEL: func.func @weight_data(
// CHECK: dsflash.weight_data payload %{{.*}} : <[3, 64], <bf16>> -> memref<3x64xbf16>
// CHECK: dsflash.weight_data payload %{{.*}}[%{{.*}}] : <[16, 32, 64], <e2m1, e8m0, [1, 32]>> -> memref<32x32xi8>
// CHECK: dsflash.weight_data scale %{{.*}}[%{{.*}}] : <[16, 32, 64], <e2m1, e8m0, [1, 32]>> -> memref<32x2xi8>
func.func @weight_data(%vectors: !dsflash.weight<[3, 64], <bf16>>,
                       %w: !dsflash.weight<[16, 32, 64], <e2m1, e8m0, [1, 32]>>, %expert: index)
    -> (memref<3x64xbf16>, memref<32x32xi8>, memref<32x2xi8>) {
  %rows = dsflash.weight_data payload %vectors : <[3, 64], <bf16>> -> memref<3x64xbf16>
  %codes = dsflash.weight_data payload %w[%expert] : <[16, 32, 64], <e2m1, e8m0, [1, 32]>> -> memref<32x32xi8>
  %scale = dsflash.weight_data scale %w[%expert]
    : <[16, 32, 64], <e2m1, e8m0, [1, 32]>> -> memref<32x2xi8>
  return %rows, %codes, %scale : memref<3x64xbf16>, memref<32x32xi8>, memref<32x2xi8>
}

// A block of 32 x 32 has one scale: ceil(33 / 32) = 2 rows of ceil(65 / 32) = 3.
// CHECK-LABEL: func.func @weight_data_of_blocks(
// CHECK: dsflash.weight_data scale %{{.*}} call(%{{.*}}) : <[33, 65], <e4m3, e8m0, [32, 32]>> -> memref<2x3xi8>
func.func @weight_data_of_blocks(%call: !llvm.ptr, %w: !dsflash.weight<[33, 65], <e4m3, e8m0, [32, 32]>>)
    -> memref<2x3xi8> {
  %scale = dsflash.weight_data scale %w call(%call) : <[33, 65], <e4m3, e8m0, [32, 32]>> -> memref<2x3xi8>
  return %scale : memref<2x3xi8>
}

// CHECK-LABEL: func.func @state_data(
// CHECK: dsflash.state_data payload %{{.*}}[%{{.*}}] : !dsflash.global_kv<{{.*}}> -> memref<2048x32xi8>
// CHECK: dsflash.state_data scale %{{.*}}[%{{.*}}] call(%{{.*}}) : !dsflash.global_kv<{{.*}}> -> memref<2048x4xi8>
func.func @state_data(%call: !llvm.ptr, %global: !global, %sequence: index)
    -> (memref<2048x32xi8>, memref<2048x4xi8>) {
  %rows = dsflash.state_data payload %global[%sequence]
    : !dsflash.global_kv<rows = 2048, dim = 64, ratio = 2, <e2m1, e4m3, [1, 16]>> -> memref<2048x32xi8>
  %scales = dsflash.state_data scale %global[%sequence] call(%call) : !global -> memref<2048x4xi8>
  return %rows, %scales : memref<2048x32xi8>, memref<2048x4xi8>
}

// A pending row is kv, then gate; a window has the rows of all its layers.
// CHECK-LABEL: func.func @state_data_of_f32(
// CHECK: -> memref<8x128xf32>
// CHECK: -> memref<130x64xf32>
func.func @state_data_of_f32(%pending: !dsflash.pending<slots = 8, dim = 64>,
                             %window: !dsflash.window<layers = 10, slots = 13, dim = 64, <f32>>, %sequence: index)
    -> (memref<8x128xf32>, memref<130x64xf32>) {
  %rows = dsflash.state_data payload %pending[%sequence]
    : !dsflash.pending<slots = 8, dim = 64> -> memref<8x128xf32>
  %ring = dsflash.state_data payload %window[%sequence]
    : !dsflash.window<layers = 10, slots = 13, dim = 64, <f32>> -> memref<130x64xf32>
  return %rows, %ring : memref<8x128xf32>, memref<130x64xf32>
}

// CHECK-LABEL: func.func @decode_e2m1(
// CHECK: dsflash.decode_e2m1 %{{.*}}, %{{.*}} : vector<16xi32> -> vector<16xf32>
// CHECK: dsflash.decode_e2m1 %{{.*}}, %{{.*}} : i32 -> f32
func.func @decode_e2m1(%codes: vector<16xi32>, %code: i32, %scale: f32) -> (vector<16xf32>, f32) {
  %values = dsflash.decode_e2m1 %codes, %scale : vector<16xi32> -> vector<16xf32>
  %value = dsflash.decode_e2m1 %code, %scale : i32 -> f32
  return %values, %value : vector<16xf32>, f32
}

// CHECK-LABEL: func.func @decode_e2m1_blocks(
// CHECK: dsflash.decode_e2m1_blocks %{{.*}}[%{{.*}}, %{{.*}}] : vector<32xi8> -> vector<64xbf16>
func.func @decode_e2m1_blocks(%codes: vector<32xi8>, %low: i8, %high: i8) -> vector<64xbf16> {
  %values = dsflash.decode_e2m1_blocks %codes[%low, %high] : vector<32xi8> -> vector<64xbf16>
  return %values : vector<64xbf16>
}

// CHECK-LABEL: func.func @dot_bf16(
// CHECK: dsflash.narrow_bf16 %{{.*}} : vector<32xf32> -> vector<32xbf16>
// CHECK: dsflash.decode_e4m3 %{{.*}} : vector<32xi8> -> vector<32xbf16>
// CHECK: dsflash.dot_bf16 %{{.*}}, %{{.*}}, %{{.*}} : vector<32xbf16>, vector<16xf32>
func.func @dot_bf16(%x: vector<32xf32>, %codes: vector<32xi8>, %sum: vector<16xf32>) -> vector<16xf32> {
  %a = dsflash.narrow_bf16 %x : vector<32xf32> -> vector<32xbf16>
  %b = dsflash.decode_e4m3 %codes : vector<32xi8> -> vector<32xbf16>
  %next = dsflash.dot_bf16 %a, %b, %sum : vector<32xbf16>, vector<16xf32>
  return %next : vector<16xf32>
}

// CHECK-LABEL: func.func @decode_e4m3(
// CHECK: dsflash.decode_e4m3 %{{.*}} : vector<64xi8> -> vector<64xf32>
// CHECK: dsflash.decode_e4m3 %{{.*}} : i8 -> f32
func.func @decode_e4m3(%codes: vector<64xi8>, %code: i8) -> (vector<64xf32>, f32) {
  %values = dsflash.decode_e4m3 %codes : vector<64xi8> -> vector<64xf32>
  %value = dsflash.decode_e4m3 %code : i8 -> f32
  return %values, %value : vector<64xf32>, f32
}
