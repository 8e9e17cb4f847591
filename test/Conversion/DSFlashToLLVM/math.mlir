// RUN: dsflash-opt %s --dsflash-lower-math | FileCheck %s
// RUN: dsflash-opt %s --dsflash-lower-math=look-up-bytes=true | FileCheck %s --check-prefix=BYTES
// RUN: dsflash-opt %s --dsflash-lower-math="look-up-words=true dot-bf16=true" | FileCheck %s --check-prefix=PAIRS
// RUN: dsflash-opt %s --dsflash-lower-math=fuse-multiply-add=false | FileCheck %s --check-prefix=SPLIT

// CHECK-DAG: llvm.func @sinf(f32) -> f32 attributes {passthrough = ["nobuiltin"]}
// CHECK-DAG: llvm.func @cosf(f32) -> f32 attributes {passthrough = ["nobuiltin"]}

// SPLIT-NOT: math.fma

// PAIRS: memref.global "private" constant @dsflash_e2m1_values : memref<256x16xi16>

// CHECK-LABEL: func.func @functions
// CHECK-NOT:   math.exp
// CHECK-NOT:   math.log
// CHECK-NOT:   math.log1p
// CHECK:       return
func.func @functions(%x: f32, %v: vector<16xf32>) -> (f32, f32, f32, vector<16xf32>) {
  %a = math.exp %x : f32
  %b = math.log %x : f32
  %c = math.log1p %x : f32
  %d = math.exp %v : vector<16xf32>
  return %a, %b, %c, %d : f32, f32, f32, vector<16xf32>
}

// CHECK-LABEL: func.func @exp_of_f64
// CHECK-NOT:   math.exp
// CHECK:       arith.shli {{.*}} : vector<4xi64>
// CHECK:       return
func.func @exp_of_f64(%v: vector<4xf64>) -> vector<4xf64> {
  %a = math.exp %v : vector<4xf64>
  return %a : vector<4xf64>
}

// CHECK-LABEL: func.func @decode_e4m3
// CHECK:       arith.shli {{.*}} : vector<64xi32>
// CHECK-NOT:   dsflash.decode_e4m3
// BYTES-LABEL: func.func @decode_e4m3
// BYTES:       vector.shuffle {{.*}} : vector<64xi8>, vector<64xi8>
// BYTES-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.qi.512"
// BYTES:       arith.shli {{.*}} : i32
// BYTES-NOT:   dsflash.decode_e4m3
func.func @decode_e4m3(%codes: vector<64xi8>, %code: i8) -> (vector<64xf32>, f32) {
  %values = dsflash.decode_e4m3 %codes : vector<64xi8> -> vector<64xf32>
  %value = dsflash.decode_e4m3 %code : i8 -> f32
  return %values, %value : vector<64xf32>, f32
}

// CHECK-LABEL: func.func @decode_e4m3_to_bf16
// CHECK-COUNT-2: arith.trunci {{.*}} : vector<32xi32> to vector<32xi16>
// CHECK-NOT:   dsflash.
// BYTES-LABEL: func.func @decode_e4m3_to_bf16
// BYTES-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.qi.512"
// BYTES-NOT:   arith.shli
// BYTES:       return
func.func @decode_e4m3_to_bf16(%codes: vector<64xi8>) -> vector<64xbf16> {
  %values = dsflash.decode_e4m3 %codes : vector<64xi8> -> vector<64xbf16>
  return %values : vector<64xbf16>
}

// The odd product first, then the even one; products are exact, so that a
// processor without fused multiply-add gives the same.
// CHECK-LABEL: func.func @dot_bf16
// CHECK:       %[[ODD:.*]] = math.fma
// CHECK:       %[[NEXT:.*]] = math.fma %{{.*}}, %{{.*}}, %[[ODD]]
// CHECK:       return %[[NEXT]]
// PAIRS-LABEL: func.func @dot_bf16
// PAIRS:       llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// PAIRS:       llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @dot_bf16(%x: vector<32xf32>, %codes: vector<32xi8>, %sum: vector<16xf32>) -> vector<16xf32> {
  %a = dsflash.narrow_bf16 %x : vector<32xf32> -> vector<32xbf16>
  %b = dsflash.decode_e4m3 %codes : vector<32xi8> -> vector<32xbf16>
  %next = dsflash.dot_bf16 %a, %b, %sum : vector<32xbf16>, vector<16xf32>
  return %next : vector<16xf32>
}

// CHECK-LABEL: func.func @decode_e2m1_blocks
// CHECK-NOT:   dsflash.
// CHECK:       return
// PAIRS-LABEL: func.func @decode_e2m1_blocks
// PAIRS-COUNT-4: vector.load {{.*}} : memref<256x16xi16>, vector<16xi16>
// PAIRS-COUNT-4: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.hi.512"
// PAIRS:       return
func.func @decode_e2m1_blocks(%codes: vector<64xi8>, %a: i8, %b: i8, %c: i8, %d: i8) -> vector<128xbf16> {
  %values = dsflash.decode_e2m1_blocks %codes[%a, %b, %c, %d] : vector<64xi8> -> vector<128xbf16>
  return %values : vector<128xbf16>
}

// CHECK-LABEL: func.func @calls
// CHECK:       llvm.call @sinf
// CHECK-COUNT-2: llvm.call @cosf
// CHECK-NOT:   llvm.call
func.func @calls(%x: f32, %v: vector<2xf32>) -> (f32, vector<2xf32>) {
  %a = math.sin %x : f32
  %b = math.cos %v : vector<2xf32>
  return %a, %b : f32, vector<2xf32>
}

// CHECK-LABEL: func.func @multiply_add
// CHECK:       math.fma
// SPLIT-LABEL: func.func @multiply_add
// SPLIT:       arith.mulf
// SPLIT-NEXT:  arith.addf
func.func @multiply_add(%x: f32, %y: f32, %z: f32) -> f32 {
  %a = math.fma %x, %y, %z : f32
  return %a : f32
}

// CHECK-LABEL: func.func @kept
// CHECK:       math.sqrt
// CHECK:       math.log {{.*}} : f64
func.func @kept(%x: f32, %y: f64) -> (f32, f64) {
  %a = math.sqrt %x : f32
  %b = math.log %y : f64
  return %a, %b : f32, f64
}
