//===- Convert.cpp - cvt (PTX ISA 9.7.9.21) -------------------------------===//

#include "../Runtime/Arithmetic.h"
#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;

namespace {

/// Formats of which two elements are packed, by their names in opcodes.
struct PackedFormat {
  Format format;
  unsigned bits; ///< of one element where it is packed
};

const std::map<std::string_view, PackedFormat> &packedFormats() {
  static const std::map<std::string_view, PackedFormat> table = {
      {"f16x2", {Format::F16, 16}},  {"bf16x2", {Format::BF16, 16}},
      {"e4m3x2", {Format::E4M3, 8}}, {"e5m2x2", {Format::E5M2, 8}},
      {"e2m3x2", {Format::E2M3, 8}}, {"e3m2x2", {Format::E3M2, 8}},
      {"e2m1x2", {Format::E2M1, 4}}};
  return table;
}

/// Rounding of a conversion; `integral` for rni, rzi, rmi, rpi.
uint32_t takeConvertRounding(Modifiers &modifiers, bool &integral) {
  static constexpr std::string_view plain[] = {"rn", "rz", "rm", "rp", "rna"};
  static constexpr std::string_view toInteger[] = {"rni", "rzi", "rmi", "rpi"};
  for (uint32_t i = 0; i < 4; ++i)
    if (modifiers.take(toInteger[i])) {
      integral = true;
      return i;
    }
  for (uint32_t i = 0; i < 5; ++i)
    if (modifiers.take(plain[i]))
      return i;
  return 0;
}

} // namespace

// cvt{.rnd}{.satfinite}{.relu} with a packed format on either side.
bool Translator::convertPacked(const Instruction &instruction,
                               Modifiers &modifiers) {
  bool integral = false;
  uint32_t rounding = takeConvertRounding(modifiers, integral);
  uint32_t flags = (modifiers.take("satfinite") ? kSatFinite : 0) |
                   (modifiers.take("relu") ? kRelu : 0);
  std::string_view to = modifiers.takeAny(), from = modifiers.takeAny();
  auto target = packedFormats().find(to), origin = packedFormats().find(from);
  bool toScale = to == "ue8m0x2", fromScale = from == "ue8m0x2";
  if (integral || (!toScale && target == packedFormats().end()))
    return false;

  // The two numbers, the lower one first.
  Value *numbers[2];
  if (from == "f32" && instruction.operands.size() == 3) {
    numbers[0] = useFloat(instruction.operands[2], 32);
    numbers[1] = useFloat(instruction.operands[1], 32);
  } else if (instruction.operands.size() == 2 &&
             (fromScale || origin != packedFormats().end())) {
    unsigned bits = fromScale ? 8 : origin->second.bits;
    Value *codes = use(instruction.operands[1], 2 * bits);
    for (unsigned i = 0; i < 2; ++i) {
      Value *code = b.CreateZExt(
          b.CreateTrunc(b.CreateLShr(codes, uint64_t(i) * bits), intType(bits)),
          intType(32));
      if (fromScale) {
        // 2^(code - 127); 2^-127 is subnormal, 255 NaN.
        Value *power = b.CreateBitCast(b.CreateSelect(b.CreateIsNull(code),
                                                      b.getInt32(0x00400000),
                                                      b.CreateShl(code, 23)),
                                       b.getFloatTy());
        numbers[i] = b.CreateSelect(b.CreateICmpEQ(code, b.getInt32(255)),
                                    ConstantFP::getNaN(b.getFloatTy()), power);
      } else {
        numbers[i] =
            callRuntime("simt_decode", b.getFloatTy(),
                        {code, b.getInt32(uint32_t(origin->second.format))});
      }
    }
  } else {
    return false;
  }

  unsigned bits = toScale ? 8 : target->second.bits;
  Value *result = ConstantInt::get(intType(2 * bits), 0);
  for (unsigned i = 0; i < 2; ++i) {
    Value *code =
        toScale ? callRuntime("simt_encode_scale", intType(32),
                              {numbers[i], b.getInt32(rounding)})
                : callRuntime("simt_encode_f32", intType(32),
                              {numbers[i],
                               b.getInt32(uint32_t(target->second.format)),
                               b.getInt32(rounding), b.getInt32(flags)});
    result = b.CreateOr(
        result, b.CreateShl(b.CreateZExtOrTrunc(code, result->getType()),
                            uint64_t(i) * bits));
  }
  set(instruction.operands[0], result);
  return true;
}

bool Translator::convert(const Instruction &instruction, Modifiers &modifiers) {
  for (const std::string &part : instruction.parts)
    if (packedFormats().count(part) || part == "ue8m0x2")
      return convertPacked(instruction, modifiers);
  bool integral = false;
  uint32_t rounding = takeConvertRounding(modifiers, integral);
  bool ftz = modifiers.take("ftz"), sat = modifiers.take("sat");
  uint32_t flags = (modifiers.take("satfinite") ? kSatFinite : 0) |
                   (modifiers.take("relu") ? kRelu : 0);
  if (modifiers.take("tf32")) {
    // 10 bits of mantissa, ties away from zero.
    Value *bits = use(instruction.operands[1], 32);
    Value *rounded = b.CreateAnd(b.CreateAdd(bits, b.getInt32(0x1000)),
                                 b.getInt32(~0x1fffu));
    Value *isFinite = b.CreateICmpNE(b.CreateAnd(bits, b.getInt32(0x7f800000)),
                                     b.getInt32(0x7f800000));
    set(instruction.operands[0], b.CreateSelect(isFinite, rounded, bits));
    return rounding == uint32_t(Rounding::Away) &&
           modifiers.takeType().bits == 32;
  }
  ptx::Type to = modifiers.takeType(), from = modifiers.takeType();
  if (!to || !from || to.lanes != 1 || from.lanes != 1 ||
      instruction.operands.size() != 2)
    return false;

  if (!from.isFloat() && !to.isFloat()) {
    Value *x = use(instruction.operands[1], from.bits);
    if (sat) {
      // Clamped to the range of the target, in a width that holds both.
      unsigned wide = std::max(from.bits, to.bits) + 1;
      x = from.isSigned() ? b.CreateSExt(x, intType(wide))
                          : b.CreateZExt(x, intType(wide));
      APInt low = to.isSigned() ? APInt::getSignedMinValue(to.bits).sext(wide)
                                : APInt(wide, 0);
      APInt high = to.isSigned() ? APInt::getSignedMaxValue(to.bits).sext(wide)
                                 : APInt::getMaxValue(to.bits).zext(wide);
      x = b.CreateBinaryIntrinsic(Intrinsic::smax, x,
                                  ConstantInt::get(b.getContext(), low));
      x = b.CreateBinaryIntrinsic(Intrinsic::smin, x,
                                  ConstantInt::get(b.getContext(), high));
      x = b.CreateTrunc(x, intType(to.bits));
    } else {
      x = from.isSigned() ? b.CreateSExtOrTrunc(x, intType(to.bits))
                          : b.CreateZExtOrTrunc(x, intType(to.bits));
    }
    // A wider register holds the extended result.
    unsigned registerWidth = registerBits(instruction.operands[0]);
    if (to.isSigned() && registerWidth > to.bits)
      x = b.CreateSExt(x, intType(registerWidth));
    set(instruction.operands[0], x);
    return true;
  }

  if (!from.isFloat()) {
    Value *x = use(instruction.operands[1], from.bits);
    Type *floatTy = to.bits == 64 ? b.getDoubleTy() : b.getFloatTy();
    if (rounding == 0 && to.bits >= 32) {
      set(instruction.operands[0], from.isSigned()
                                       ? b.CreateSIToFP(x, floatTy)
                                       : b.CreateUIToFP(x, floatTy));
      return true;
    }
    if (rounding > 3)
      return false;
    x = from.isSigned() ? b.CreateSExt(x, intType(64))
                        : b.CreateZExt(x, intType(64));
    if (to.bits == 16) {
      // The target keeps at most 11 bits: to odd at 53 bits, then once more.
      Value *whole = callRuntime("simt_int_to_odd", b.getDoubleTy(),
                                 {x, b.getInt32(from.isSigned())});
      Format format = to.kind == 'B' ? Format::BF16 : Format::F16;
      set(instruction.operands[0],
          b.CreateTrunc(callRuntime("simt_encode_f64", intType(32),
                                    {whole, b.getInt32(uint32_t(format)),
                                     b.getInt32(rounding), b.getInt32(flags)}),
                        intType(16)));
      return true;
    }
    Value *wide =
        callRuntime("simt_int_to_float", b.getDoubleTy(),
                    {x, b.getInt32(from.isSigned()), b.getInt32(rounding),
                     b.getInt32(to.bits == 64)});
    set(instruction.operands[0], b.CreateFPCast(wide, floatTy));
    return true;
  }

  Value *x =
      widen(asInt(from.bits >= 32 ? useFloat(instruction.operands[1], from.bits)
                                  : use(instruction.operands[1], from.bits)),
            from);
  x = flush(x, ftz);
  static constexpr Intrinsic::ID roundings[] = {
      Intrinsic::roundeven, Intrinsic::trunc, Intrinsic::floor,
      Intrinsic::ceil};
  if (!to.isFloat()) {
    // Clamped to the range of the target; NaN becomes 0 (or, in 64 bits and
    // from f64, the top bit).
    if (!integral)
      return false;
    x = b.CreateUnaryIntrinsic(roundings[rounding], x);
    Value *result = b.CreateIntrinsic(to.isSigned() ? Intrinsic::fptosi_sat
                                                    : Intrinsic::fptoui_sat,
                                      {intType(to.bits), x->getType()}, {x});
    if (to.bits == 64 || from.bits == 64) {
      APInt top = APInt::getSignMask(to.bits);
      result = b.CreateSelect(b.CreateFCmpUNO(x, x),
                              ConstantInt::get(b.getContext(), top), result);
    }
    unsigned registerWidth = registerBits(instruction.operands[0]);
    if (to.isSigned() && registerWidth > to.bits)
      result = b.CreateSExt(result, intType(registerWidth));
    set(instruction.operands[0], result);
    return true;
  }

  if (integral)
    x = b.CreateUnaryIntrinsic(roundings[rounding], x);
  if (to.bits >= from.bits && to.bits >= 32) {
    x = b.CreateFPCast(x, floatType(to));
  } else if (to.bits == 16 && to.kind == 'B' && from.kind == 'f' &&
             from.bits == 32 && rounding == 0 && !flags && !sat) {
    // The common one inline: nearest, ties to even, NaN canonical.
    Value *bits = asInt(x);
    Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), b.getInt32(1));
    Value *rounded = b.CreateLShr(
        b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff))), 16);
    set(instruction.operands[0],
        b.CreateTrunc(
            b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt32(0x7fff), rounded),
            intType(16)));
    return true;
  } else if (to.bits == 16 || rounding) {
    if (sat)
      x = saturate(x);
    Format format = to.bits == 32    ? Format::F32
                    : to.kind == 'B' ? Format::BF16
                                     : Format::F16;
    Value *code = callRuntime(
        x->getType()->isDoubleTy() ? "simt_encode_f64" : "simt_encode_f32",
        intType(32),
        {x, b.getInt32(uint32_t(format)), b.getInt32(integral ? 0 : rounding),
         b.getInt32(flags)});
    if (to.bits == 16) {
      set(instruction.operands[0], b.CreateTrunc(code, intType(16)));
      return true;
    }
    x = b.CreateBitCast(code, b.getFloatTy());
  } else {
    x = b.CreateFPCast(x, floatType(to));
  }
  x = flush(x, ftz);
  set(instruction.operands[0], sat ? saturate(x) : x);
  return !flags;
}

} // namespace dsflash::simt
