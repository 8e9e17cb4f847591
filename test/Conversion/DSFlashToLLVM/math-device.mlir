// RUN: dsflash-opt %s --dsflash-lower-math=libm=false | FileCheck %s

// CHECK-LABEL: func.func @angles
// CHECK-NOT:   llvm.call
// CHECK-NOT:   math.sin
// CHECK-NOT:   math.cos
// CHECK:       arith.extf %{{.*}} : f32 to f64
// CHECK:       math.fma {{.*}} : f64
// CHECK:       arith.truncf %{{.*}} : f64 to f32
// CHECK:       arith.extf %{{.*}} : vector<2xf32> to vector<2xf64>
func.func @angles(%x: f32, %v: vector<2xf32>) -> (f32, vector<2xf32>) {
  %a = math.sin %x : f32
  %b = math.cos %v : vector<2xf32>
  return %a, %b : f32, vector<2xf32>
}

// Up to 24 bits f32 holds an integer as it is.
// CHECK-LABEL: func.func @small
// CHECK:       arith.sitofp %{{.*}} : i8 to f32
// CHECK:       arith.sitofp %{{.*}} : i16 to f32
// CHECK:       arith.uitofp %{{.*}} : i1 to f32
// CHECK:       arith.sitofp %{{.*}} : i1 to f32
// CHECK-NOT:   itofp
func.func @small(%a: i8, %b: i16, %c: i1) -> (bf16, bf16, bf16, bf16) {
  %0 = arith.sitofp %a : i8 to bf16
  %1 = arith.sitofp %b : i16 to bf16
  %2 = arith.uitofp %c : i1 to bf16
  %3 = arith.sitofp %c : i1 to bf16
  return %0, %1, %2, %3 : bf16, bf16, bf16, bf16
}

// The nine bits that do not fit become one.
// CHECK-LABEL: func.func @large
// CHECK-SAME:  %[[X:.*]]: i32
// CHECK-DAG:   %[[MASK:.*]] = arith.constant 511 : i32
// CHECK-DAG:   %[[HIGH:.*]] = arith.constant -512 : i32
// CHECK-DAG:   %[[LOW:.*]] = arith.andi %[[X]], %[[MASK]]
// CHECK-DAG:   %[[ANY:.*]] = arith.cmpi ne, %[[LOW]]
// CHECK-DAG:   %[[REST:.*]] = arith.andi %[[X]], %[[HIGH]]
// CHECK-DAG:   %[[STICKY:.*]] = arith.select %[[ANY]]
// CHECK:       %[[FOLDED:.*]] = arith.ori %[[REST]], %[[STICKY]]
// CHECK:       arith.select %{{.*}}, %[[X]], %[[FOLDED]]
// CHECK:       arith.sitofp %{{.*}} : i32 to f32
func.func @large(%x: i32) -> bf16 {
  %0 = arith.sitofp %x : i32 to bf16
  return %0 : bf16
}

// Numbers near 2^32 are large, not small and negative.
// CHECK-LABEL: func.func @unsigned
// CHECK-SAME:  %[[X:.*]]: i32
// CHECK:       %[[BOUND:.*]] = arith.constant 16777216 : i32
// CHECK:       arith.cmpi ult, %[[X]], %[[BOUND]]
func.func @unsigned(%x: i32) -> bf16 {
  %0 = arith.uitofp %x : i32 to bf16
  return %0 : bf16
}
