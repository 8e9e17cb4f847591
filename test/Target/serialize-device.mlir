// RUN: dsflash-opt %s --dsflash-serialize-device=device=nvptx:sm_80 | FileCheck %s
// RUN: dsflash-opt %s --dsflash-serialize-device=device=nvptx:sm_90a | FileCheck %s --check-prefix=HOPPER
// RUN: not dsflash-opt %s --dsflash-serialize-device=device=junk 2>&1 | FileCheck %s --check-prefix=JUNK
// RUN: not dsflash-opt %s --dsflash-serialize-device=device= 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not dsflash-opt %s --dsflash-serialize-device=device=nvptx:%%x 2>&1 | FileCheck %s --check-prefix=PERCENT

// RUN: dsflash-opt %s --dsflash-serialize-device="device=nvptx:sm_80,nvptx:sm_90a ptxas=%S/Inputs/copies" | FileCheck %s --check-prefix=BOTH
// RUN: not dsflash-opt %s --dsflash-serialize-device=device=nvptx:sm_80,nvptx:sm_80 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not dsflash-opt %s --dsflash-serialize-device="ptxas=%S/Inputs/refuses" 2>&1 | FileCheck %s --check-prefix=PTXAS

// CHECK:      llvm.mlir.global internal constant @dsf.target.sm_80("nvptx:sm_80\00")
// CHECK:      llvm.mlir.global internal constant @dsf.ptx.sm_80("
// CHECK-SAME: .version 8.0\0A.target sm_80\0A.address_size 64
// CHECK-SAME: .visible .entry k(
// Sums, products, quotients and roots round on their own, to nearest; only fma
// is fused.
// CHECK-SAME: mul.rn.f32
// CHECK-SAME: add.rn.f32
// CHECK-SAME: div.rn.f32
// CHECK-SAME: sqrt.rn.f32
// CHECK-SAME: fma.rn.f32
// CHECK-SAME: \00")
// CHECK-NOT:  gpu.module
// CHECK:      llvm.mlir.global internal constant @dsf.device_codes() {{.*}} : !llvm.array<1 x struct<(ptr, ptr, ptr, i64)>>

// HOPPER: .target sm_90a

// Two architectures and, by a program that copies the PTX, a cubin of each.
// BOTH:      @dsf.ptx.sm_80({{.*}}.target sm_80
// BOTH:      @dsf.cubin.sm_80({{.*}}.target sm_80{{.*}}alignment = 64 : i64
// BOTH:      @dsf.ptx.sm_90a({{.*}}.target sm_90a
// BOTH:      @dsf.cubin.sm_90a({{.*}}.target sm_90a
// BOTH:      @dsf.device_codes() {{.*}} : !llvm.array<2 x struct<(ptr, ptr, ptr, i64)>>

// TWICE: error: target 'nvptx:sm_80' is given twice
// PTXAS: error: {{.*}}refuses: ptxas PTX for sm_80, line 7; fatal : no such instruction

// JUNK:    error: unknown target 'junk'; known: nvptx:sm_80, nvptx:sm_90a, nvptx:sm_100a, nvptx:sm_120a
// EMPTY:   error: unknown target ''; known: nvptx:sm_80
// PERCENT: error: unknown target 'nvptx:%x'; known: nvptx:sm_80
llvm.mlir.global external constant @dsf.device_codes() {addr_space = 0 : i32} : i8
gpu.module @device_code {
  llvm.func @k(%x: !llvm.ptr) attributes {nvvm.kernel} {
    %a = llvm.load %x : !llvm.ptr -> f32
    %b = llvm.fmul %a, %a : f32
    %c = llvm.fadd %b, %a : f32
    %d = llvm.fdiv %c, %b : f32
    %e = llvm.intr.sqrt(%d) : (f32) -> f32
    %f = llvm.intr.fma(%e, %d, %c) : (f32, f32, f32) -> f32
    llvm.store %f, %x : f32, !llvm.ptr
    llvm.return
  }
}
