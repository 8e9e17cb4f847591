// RUN: dsflash-opt %s --dsflash-thread-call --dsflash-lower-math --dsflash-lower-vector --expand-strided-metadata --lower-affine --convert-scf-to-cf --convert-dsflash-to-llvm --dsflash-verify-llvm | FileCheck %s

// What kernels may use of the vector dialect has a lowering, and reductions
// keep their order.

// CHECK-LABEL: llvm.func internal @transfers
func.func private @transfers(%m: memref<?x64xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = vector.transfer_read %m[%i, %c0], %zero {in_bounds = [true, true]} : memref<?x64xf32>, vector<4x16xf32>
  %b = vector.transpose %a, [1, 0] : vector<4x16xf32> to vector<16x4xf32>
  %c = vector.shape_cast %b : vector<16x4xf32> to vector<4x16xf32>
  vector.transfer_write %c, %m[%i, %c0] {in_bounds = [true, true]} : vector<4x16xf32>, memref<?x64xf32>
  return
}

// CHECK-LABEL: llvm.func internal @reductions
// CHECK-NOT:   reassoc
// CHECK:       llvm.intr.vector.reduce.fadd
func.func private @reductions(%m: memref<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = arith.constant dense<0.0> : vector<8xf32>
  %a = vector.transfer_read %m[%c0, %c0], %zero {in_bounds = [true, true]} : memref<8x16xf32>, vector<8x16xf32>
  %b = vector.multi_reduction <add>, %a, %acc [1] : vector<8x16xf32> to vector<8xf32>
  %c = vector.reduction <add>, %b : vector<8xf32> into f32
  %d = vector.reduction <maximumf>, %b : vector<8xf32> into f32
  %e = arith.addf %c, %d : f32
  memref.store %e, %m[%c0, %c0] : memref<8x16xf32>
  return
}

// CHECK-LABEL: llvm.func internal @lanes
func.func private @lanes(%bytes: memref<64xi8>, %m: memref<64xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %a = vector.load %bytes[%c0] : memref<64xi8>, vector<16xi8>
  %x, %y = vector.deinterleave %a : vector<16xi8> -> vector<8xi8>
  %b = vector.interleave %x, %y : vector<8xi8> -> vector<16xi8>
  %c = vector.bitcast %b : vector<16xi8> to vector<4xf32>
  %d = vector.extract %c[1] : f32 from vector<4xf32>
  %e = vector.insert %d, %c [%i] : f32 into vector<4xf32>
  %f = vector.broadcast %d : f32 to vector<4xf32>
  %g = vector.fma %e, %f, %c : vector<4xf32>
  %h = vector.shuffle %g, %e [0, 5, 2, 7] : vector<4xf32>, vector<4xf32>
  %s = vector.extract_strided_slice %h {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  %t = vector.insert_strided_slice %s, %h {offsets = [0], strides = [1]} : vector<2xf32> into vector<4xf32>
  %step = vector.step : vector<4xindex>
  %mask = vector.create_mask %i : vector<4xi1>
  %pass = arith.constant dense<0.0> : vector<4xf32>
  %z = vector.gather %m[%c0] [%step], %mask, %pass : memref<64xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  %w = arith.maxnumf %z, %t : vector<4xf32>
  vector.maskedstore %m[%i], %mask, %w : memref<64xf32>, vector<4xi1>, vector<4xf32>
  return
}

// CHECK-LABEL: llvm.func internal @bf16
// CHECK-NOT:   fptrunc
// CHECK:       llvm.trunc {{.*}} : vector<8xi32> to vector<8xi16>
func.func private @bf16(%m: memref<8xf32>, %n: memref<8xbf16>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %m[%c0] : memref<8xf32>, vector<8xf32>
  %b = arith.truncf %a : vector<8xf32> to vector<8xbf16>
  vector.store %b, %n[%c0] : memref<8xbf16>, vector<8xbf16>
  return
}

// CHECK-LABEL: llvm.func internal @views
func.func private @views(%w: memref<?xi8>, %n: index, %i: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %a = memref.view %w[%c0][%n] : memref<?xi8> to memref<?x8xf32>
  %b = memref.subview %a[%i, 0] [1, 8] [1, 1] : memref<?x8xf32> to memref<8xf32, strided<[1], offset: ?>>
  memref.store %one, %b[%c0] : memref<8xf32, strided<[1], offset: ?>>
  return
}
