//===- ValueTest.cpp - Values of instructions -----------------------------===//
//
// Expected values follow from the PTX ISA's description of each instruction,
// section 9.7, by hand; none is an output of this device.
//
//===----------------------------------------------------------------------===//

#include "SimtTest.h"

#include <cmath>

using namespace dsflash;
using namespace dsflash::simt;

namespace {

/// Code that leaves a 64-bit result in %rd1 and what that must be.
struct Case {
  const char *code;
  uint64_t expected;
};

// All cases as one kernel each of one module, with and without checks.
void expectValues(const std::vector<Case> &cases) {
  std::string text;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string kernel =
        kernelText(std::string("mov.b64 %rd1, 0;\n") + cases[i].code +
                   "\nst.global.b64 [%rd0], %rd1;");
    kernel.replace(kernel.find(" k("), 3, " k" + std::to_string(i) + "(");
    text += kernel;
  }
  for (bool checks : {false, true}) {
    Options options;
    options.checks = checks;
    Device device(options);
    Result<Module> module = loadText(device, text);
    ASSERT_TRUE(module.ok());
    Result<uint64_t> out = device.allocate(8, "out");
    ASSERT_TRUE(out.ok());
    for (size_t i = 0; i < cases.size(); ++i) {
      const void *arguments[] = {&*out};
      Status status =
          module->launch("k" + std::to_string(i), {1}, {1}, 0, arguments);
      EXPECT_TRUE(status.ok()) << cases[i].code << "\n" << status.str();
      uint64_t value = 0;
      ASSERT_TRUE(device.read(*out, &value, 8).ok());
      EXPECT_EQ(value, cases[i].expected)
          << cases[i].code << std::hex << "\n is " << value << ", must be "
          << cases[i].expected;
    }
  }
}

uint64_t bits(float value) {
  uint32_t result;
  std::memcpy(&result, &value, 4);
  return result;
}

uint64_t bits(double value) {
  uint64_t result;
  std::memcpy(&result, &value, 8);
  return result;
}

#define TO64 "\ncvt.u64.u32 %rd1, %r1;"
#define F64(value) bits(double(value))

TEST(SimtValues, IntegerArithmetic) {
  expectValues({
      {"add.u32 %r1, 4294967295, 2;" TO64, 1},
      {"add.sat.s32 %r1, 2147483647, 1;" TO64, 0x7fffffff},
      {"sub.sat.s32 %r1, -2147483648, 1;" TO64, 0x80000000},
      {"add.cc.u32 %r2, 4294967295, 1; addc.u32 %r1, 5, 6;" TO64, 12},
      {"sub.cc.u32 %r2, 0, 1; subc.u32 %r1, 9, 2;" TO64, 6},
      {"mul.lo.u32 %r1, 65537, 65537;" TO64, 0x20001},
      {"mul.hi.u32 %r1, 4294967295, 4294967295;" TO64, 0xfffffffe},
      {"mul.hi.s32 %r1, -1, 2;" TO64, 0xffffffff},
      {"mul.wide.s32 %rd1, -3, 5;", uint64_t(-15)},
      {"mul.wide.u32 %rd1, -3, 5;", 0x4fffffff1},
      {"mad.wide.s32 %rd1, -3, 5, 20;", 5},
      {"mad.lo.s32 %r1, 3, 4, 5;" TO64, 17},
      {"mad.hi.u32 %r1, 2147483648, 4, 5;" TO64, 7},
      {"mad.lo.cc.u32 %r2, 4294967295, 1, 1; madc.hi.u32 %r1, 4294967295, 1, "
       "0;" TO64,
       1},
      {"div.s32 %r1, -7, 2;" TO64, 0xfffffffd},
      {"rem.s32 %r1, -7, 2;" TO64, 0xffffffff},
      {"div.u64 %rd1, -1, 16;", 0x0fffffffffffffff},
      {"div.s32 %r1, -2147483648, -1;" TO64, 0x80000000},
      {"sad.s32 %r1, -3, 4, 10;" TO64, 17},
      {"sad.u32 %r1, 3, 4, 10;" TO64, 11},
      {"dp4a.s32.u32 %r1, 0xff02ff01, 0x01020304, 10;" TO64, 14 - 3 + 4 - 1},
      {"abs.s32 %r1, -5;" TO64, 5},
      {"neg.s32 %r1, 5;" TO64, 0xfffffffb},
      {"min.s32 %r1, -1, 1;" TO64, 0xffffffff},
      {"min.u32 %r1, -1, 1;" TO64, 1},
      {"max.u16x2 %r1, 0x00010005, 0x00040002;" TO64, 0x00040005},
      {"add.u16x2 %r1, 0x0001ffff, 0x00040002;" TO64, 0x00050001},
  });
}

TEST(SimtValues, BitsAndFields) {
  expectValues({
      {"not.b32 %r1, 1;" TO64, 0xfffffffe},
      {"cnot.b32 %r1, 0;" TO64, 1},
      {"lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0xe8;" TO64, 0xe8},
      {"lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0x80;" TO64, 0x80},
      {"shl.b32 %r1, 1, 32;" TO64, 0},
      {"shr.u32 %r1, 0x80000000, 40;" TO64, 0},
      {"shr.s32 %r1, 0x80000000, 40;" TO64, 0xffffffff},
      {"shf.l.wrap.b32 %r1, 0x80000001, 0x12345678, 4;" TO64, 0x23456788},
      {"shf.r.wrap.b32 %r1, 0x80000001, 0x12345678, 36;" TO64, 0x88000000},
      {"shf.r.clamp.b32 %r1, 0x80000001, 0x12345678, 36;" TO64, 0x12345678},
      {"shf.l.clamp.b32 %r1, 0x80000001, 0x12345678, 32;" TO64, 0x80000001},
      {"popc.b64 %r1, -1;" TO64, 64},
      {"clz.b32 %r1, 0;" TO64, 32},
      {"clz.b64 %r1, 1;" TO64, 63},
      {"brev.b32 %r1, 1;" TO64, 0x80000000},
      {"bfind.u32 %r1, 0x00400000;" TO64, 22},
      {"bfind.s32 %r1, -1;" TO64, 0xffffffff},
      {"bfind.shiftamt.u32 %r1, 0x00400000;" TO64, 9},
      {"bfe.u32 %r1, 0xabcd1234, 8, 12;" TO64, 0xd12},
      {"bfe.s32 %r1, 0xabcd1234, 16, 16;" TO64, 0xffffabcd},
      {"bfe.s32 %r1, 0x00000800, 8, 4;" TO64, 0xfffffff8},
      // Above the top bit everything is the sign.
      {"bfe.s32 %r1, 0x80000000, 28, 8;" TO64, 0xfffffff8},
      {"bfe.u32 %r1, 0x80000000, 28, 8;" TO64, 8},
      {"bfe.s32 %r1, 0xffffffff, 4, 0;" TO64, 0},
      {"bfi.b32 %r1, 0xff, 0, 4, 4;" TO64, 0xf0},
      {"bfi.b32 %r1, 0, -1, 28, 8;" TO64, 0x0fffffff},
      {"prmt.b32 %r1, 0x33221100, 0x77665544, 0x7410;" TO64, 0x77441100},
      {"prmt.b32 %r1, 0x000080ff, 0, 0x89ab;" TO64, 0xffff0000},
      {"prmt.b32.f4e %r1, 0x33221100, 0x77665544, 1;" TO64, 0x44332211},
      {"prmt.b32.b4e %r1, 0x33221100, 0x77665544, 0;" TO64, 0x55667700},
      {"prmt.b32.rc16 %r1, 0x33221100, 0x77665544, 1;" TO64, 0x33223322},
      {"szext.clamp.s32 %r1, 0x80, 8;" TO64, 0xffffff80},
      {"bmsk.clamp.b32 %r1, 4, 8;" TO64, 0xff0},
      {"mov.b32 %r1, {0x1234, 0x5678};" TO64, 0x56781234},
      {"mov.b64 {%r2, %r1}, 0x1122334455667788;" TO64, 0x11223344},
  });
}
#define FRESULT "\nmov.b32 %r1, %f1;" TO64
#define DRESULT "\nmov.b64 %rd1, %fd1;"
#define HRESULT "\ncvt.u64.u16 %rd1, %rs1;"

TEST(SimtValues, FloatArithmetic) {
  expectValues({
      {"add.rn.f32 %f1, 0f3F800000, 0f33800000;" FRESULT, bits(1.0f)},
      {"add.rp.f32 %f1, 0f3F800000, 0f33800000;" FRESULT, 0x3f800001},
      {"add.rz.f32 %f1, 0fBF800000, 0fB3C00000;" FRESULT, 0xbf800000},
      {"add.rm.f32 %f1, 0fBF800000, 0fB3800000;" FRESULT, 0xbf800001},
      {"add.rn.ftz.f32 %f1, 0f00000001, 0f80000000;" FRESULT, 0},
      {"add.rn.sat.f32 %f1, 0f3F800000, 0f3F800000;" FRESULT, bits(1.0f)},
      {"mul.rn.f32 %f1, 0f40400000, 0fC0A00000;" FRESULT, bits(-15.0f)},
      // (1 + 2^-23)^2 - 1 keeps its last bit only in one rounding.
      {"fma.rn.f32 %f1, 0f3F800001, 0f3F800001, 0fBF800000;" FRESULT,
       bits(0x1.000001p-22f)},
      {"fma.rn.f64 %fd1, 0d4008000000000000, 0d4014000000000000, "
       "0d3FF0000000000000;" DRESULT,
       F64(16)},
      {"div.rn.f32 %f1, 0f3F800000, 0f40400000;" FRESULT, bits(1.0f / 3)},
      {"div.rz.f32 %f1, 0f3F800000, 0f40400000;" FRESULT, 0x3eaaaaaa},
      {"rcp.rn.f32 %f1, 0f40800000;" FRESULT, bits(0.25f)},
      {"sqrt.rn.f32 %f1, 0f40000000;" FRESULT, 0x3fb504f3},
      {"sqrt.rp.f32 %f1, 0f40000000;" FRESULT, 0x3fb504f4},
      {"rsqrt.approx.f32 %f1, 0f40800000;" FRESULT, bits(0.5f)},
      {"ex2.approx.f32 %f1, 0f40400000;" FRESULT, bits(8.0f)},
      {"ex2.approx.ftz.f32 %f1, 0fFF800000;" FRESULT, 0},
      {"lg2.approx.f32 %f1, 0f41000000;" FRESULT, bits(3.0f)},
      {"lg2.approx.f32 %f1, 0f00000000;" FRESULT, 0xff800000},
      {"sin.approx.f32 %f1, 0f00000000;" FRESULT, 0},
      {"cos.approx.f32 %f1, 0f00000000;" FRESULT, bits(1.0f)},
      {"min.f32 %f1, 0f7FC00000, 0f40000000;" FRESULT, bits(2.0f)},
      {"min.NaN.f32 %f1, 0f7FC00000, 0f40000000;" FRESULT, 0x7fffffff},
      {"max.f32 %f1, 0f80000000, 0f00000000;" FRESULT, 0},
      {"min.f32 %f1, 0f80000000, 0f00000000;" FRESULT, 0x80000000},
      {"max.f32 %f1, 0f7FC00000, 0fFFC00000;" FRESULT, 0x7fffffff},
      {"abs.f32 %f1, 0fC0000000;" FRESULT, bits(2.0f)},
      {"neg.f32 %f1, 0f00000000;" FRESULT, 0x80000000},
      {"copysign.f32 %f1, 0fBF800000, 0f40000000;" FRESULT, bits(-2.0f)},
      // bf16: 1 + 2^-8 is a tie, to even; 2 * 3 + 1.
      {"fma.rn.bf16 %rs1, 0x4000, 0x4040, 0x3f80;" HRESULT, 0x40e0},
      {"add.rn.bf16 %rs1, 0x3f80, 0x3b80;" HRESULT, 0x3f80},
      {"fma.rn.bf16x2 %r1, 0x40003f80, 0x40403f80, 0x3f800000;" TO64,
       0x40e03f80},
      {"max.bf16x2 %r1, 0x3f80c000, 0xbf804000;" TO64, 0x3f804000},
      {"add.f16 %rs1, 0x3c00, 0x3c00;" HRESULT, 0x4000},
      // A tie in the product, decided by a tiny addend: one rounding only.
      {"fma.rn.bf16 %rs1, 0x3f81, 0x3fc0, 0x2000;" HRESULT, 0x3fc2},
  });
}

TEST(SimtValues, Comparisons) {
#define PRESULT "\nselp.u32 %r1, 1, 0, %p1;" TO64
  expectValues({
      {"setp.lt.s32 %p1, -1, 0;" PRESULT, 1},
      {"setp.lt.u32 %p1, -1, 0;" PRESULT, 0},
      {"setp.lo.u32 %p1, 0, 1;" PRESULT, 1},
      {"setp.lt.f32 %p1, 0f7FC00000, 0f00000000;" PRESULT, 0},
      {"setp.ltu.f32 %p1, 0f7FC00000, 0f00000000;" PRESULT, 1},
      {"setp.ne.f32 %p1, 0f7FC00000, 0f7FC00000;" PRESULT, 0},
      {"setp.neu.f32 %p1, 0f7FC00000, 0f7FC00000;" PRESULT, 1},
      {"setp.nan.f32 %p1, 0f7FC00000, 0f00000000;" PRESULT, 1},
      {"setp.num.f32 %p1, 0f3F800000, 0f00000000;" PRESULT, 1},
      {"setp.eq.u32 %p2|%p1, 1, 2;" PRESULT, 1},
      {"setp.eq.u32 %p2, 1, 1; setp.and.lt.u32 %p1, 1, 2, !%p2;" PRESULT, 0},
      {"setp.lt.bf16 %p1, 0xbf80, 0x0000;" PRESULT, 1},
      {"set.lt.u32.s32 %r1, -1, 0;" TO64, 0xffffffff},
      {"set.lt.f32.s32 %f1, -1, 0;" FRESULT, bits(1.0f)},
      {"slct.u32.s32 %r1, 7, 8, -1;" TO64, 8},
      {"slct.u32.f32 %r1, 7, 8, 0f80000000;" TO64, 7},
      {"testp.subnormal.f32 %p1, 0f00000001;" PRESULT, 1},
      {"testp.normal.f32 %p1, 0f00000000;" PRESULT, 1},
  });
}

TEST(SimtValues, Conversions) {
  expectValues({
      {"cvt.s64.s32 %rd1, -5;", uint64_t(-5)},
      {"cvt.u64.u32 %rd1, -5;", 0xfffffffb},
      {"cvt.s32.s8 %r1, 0x80;" TO64, 0xffffff80},
      {"cvt.u32.u8 %r1, 0x180;" TO64, 0x80},
      {"cvt.sat.u8.s32 %r1, -5;" TO64, 0},
      {"cvt.sat.s8.s32 %r1, 1000;" TO64, 127},
      {"cvt.rn.f32.s32 %f1, -3;" FRESULT, bits(-3.0f)},
      {"cvt.rn.f32.u32 %f1, 0xffffffff;" FRESULT, bits(4294967296.0f)},
      {"cvt.rz.f32.u32 %f1, 0xffffffff;" FRESULT, 0x4f7fffff},
      {"cvt.rni.s32.f32 %r1, 0f40200000;" TO64, 2},
      {"cvt.rzi.s32.f32 %r1, 0fC0200000;" TO64, 0xfffffffe},
      {"cvt.rmi.s32.f32 %r1, 0fC0200000;" TO64, 0xfffffffd},
      {"cvt.rpi.s32.f32 %r1, 0f40200000;" TO64, 3},
      {"cvt.rzi.s32.f32 %r1, 0f7F800000;" TO64, 0x7fffffff},
      {"cvt.rzi.u32.f32 %r1, 0fBF800000;" TO64, 0},
      {"cvt.rzi.s32.f32 %r1, 0f7FC00000;" TO64, 0},
      {"cvt.rzi.s64.f32 %rd1, 0f7FC00000;", uint64_t(1) << 63},
      {"cvt.rni.f32.f32 %f1, 0f40600000;" FRESULT, bits(4.0f)},
      {"cvt.f64.f32 %fd1, 0f3FC00000;" DRESULT, F64(1.5)},
      {"cvt.rn.f32.f64 %f1, 0d3FF0000010000000;" FRESULT, bits(1.0f)},
      {"cvt.rp.f32.f64 %f1, 0d3FF0000000000001;" FRESULT, 0x3f800001},
      {"cvt.sat.f32.f32 %f1, 0f40000000;" FRESULT, bits(1.0f)},
      // bf16 has 8 bits: 1 + 2^-8 is a tie (to even), 1 + 3 2^-8 too.
      {"cvt.rn.bf16.f32 %rs1, 0f3F808000;" HRESULT, 0x3f80},
      {"cvt.rn.bf16.f32 %rs1, 0f3F818000;" HRESULT, 0x3f82},
      {"cvt.rz.bf16.f32 %rs1, 0f3F81FFFF;" HRESULT, 0x3f81},
      {"cvt.rn.bf16.f32 %rs1, 0f00008001;" HRESULT, 0x0001},
      {"cvt.rn.bf16.f32 %rs1, 0f7FFFFFFF;" HRESULT, 0x7fff},
      {"cvt.rn.relu.bf16.f32 %rs1, 0fBF800000;" HRESULT, 0},
      {"cvt.f32.bf16 %f1, 0x3fc0;" FRESULT, bits(1.5f)},
      {"cvt.rn.f16.f32 %rs1, 0f477FF000;" HRESULT, 0x7c00},
      {"cvt.rz.f16.f32 %rs1, 0f477FF000;" HRESULT, 0x7bff},
      {"cvt.f32.f16 %f1, 0x0001;" FRESULT, bits(0x1p-24f)},
      {"cvt.rn.bf16.s32 %rs1, -257;" HRESULT, 0xc380},
      {"cvt.rn.f16.u32 %rs1, 2049;" HRESULT, 0x6800},
      // The first source goes to the upper half.
      {"cvt.rn.bf16x2.f32 %r1, 0f3F800000, 0f40000000;" TO64, 0x3f804000},
      // Zeros of both signs in every format.
      {"cvt.rn.bf16x2.f32 %r1, 0f80000000, 0f00000000;" TO64, 0x80000000},
      {"cvt.rn.f16x2.f32 %r1, 0f80000000, 0f00000000;" TO64, 0x80000000},
      {"cvt.rn.satfinite.e4m3x2.f32 %rs1, 0f80000000, 0f00000000;" HRESULT,
       0x8000},
      {"cvt.rn.satfinite.e5m2x2.f32 %rs1, 0f80000000, 0f00000000;" HRESULT,
       0x8000},
      {"cvt.rn.satfinite.e4m3x2.f32 %rs1, 0f3F800000, 0fC0000000;" HRESULT,
       0x38c0},
      // e4m3: 448 is the largest; 1.0625 is a tie to 1; 2^-9 the least.
      {"cvt.rn.satfinite.e4m3x2.f32 %rs1, 0f44FA0000, 0f3F880000;" HRESULT,
       0x7e38},
      {"cvt.rn.satfinite.e4m3x2.f32 %rs1, 0f3B000000, 0f7FC00000;" HRESULT,
       0x017f},
      {"cvt.rn.satfinite.e5m2x2.f32 %rs1, 0f3F800000, 0f48000000;" HRESULT,
       0x3c7b},
      {"cvt.rn.f16x2.e4m3x2 %r1, 0x38c0;" TO64, 0x3c00c000},
      {"cvt.rna.tf32.f32 %f1, 0f3F801000;" FRESULT, 0x3f802000},
  });
}

TEST(SimtValues, AtomicsReturnTheOldValue) {
#define ATOMIC(op) "st.global.u32 [%rd0], 5;\n" op " %r1, [%rd0], "
#define THEN "\nld.global.u32 %r2, [%rd0]; mov.b64 %rd1, {%r1, %r2};"
  auto both = [](uint64_t old, uint64_t now) { return old | now << 32; };
  expectValues({
      {ATOMIC("atom.global.add.u32") "3;" THEN, both(5, 8)},
      {ATOMIC("atom.global.min.s32") "-1;" THEN, both(5, 0xffffffff)},
      {ATOMIC("atom.global.max.u32") "-1;" THEN, both(5, 0xffffffff)},
      {ATOMIC("atom.global.exch.b32") "9;" THEN, both(5, 9)},
      {ATOMIC("atom.global.cas.b32") "5, 7;" THEN, both(5, 7)},
      {ATOMIC("atom.global.cas.b32") "4, 7;" THEN, both(5, 5)},
      {ATOMIC("atom.global.inc.u32") "5;" THEN, both(5, 0)},
      {ATOMIC("atom.global.dec.u32") "4;" THEN, both(5, 4)},
      {ATOMIC("atom.relaxed.gpu.global.xor.b32") "1;" THEN, both(5, 4)},
      {"st.global.f32 [%rd0], 0f3F800000;\nred.global.add.f32 [%rd0], "
       "0f40000000;\nld.global.u32 %r1, [%rd0];" TO64,
       bits(3.0f)},
  });
}

} // namespace
