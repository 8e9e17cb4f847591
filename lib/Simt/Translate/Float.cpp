//===- Float.cpp - Floating-point arithmetic (PTX ISA 9.7.3 to 9.7.5) -----===//

#include "../Runtime/Arithmetic.h"
#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;

/// 0 nearest, 1 zero, 2 down, 3 up; as Rounding.
static uint32_t takeRounding(Modifiers &modifiers) {
  if (modifiers.take("rz"))
    return 1;
  if (modifiers.take("rm"))
    return 2;
  if (modifiers.take("rp"))
    return 3;
  modifiers.take("rn");
  return 0;
}

static uint32_t operationNumber(std::string_view opcode) {
  static constexpr std::string_view names[] = {
      "add", "sub", "mul", "div", "fma", "sqrt", "min", "max", "ex2", "tanh"};
  return uint32_t(llvm::find(names, opcode) - std::begin(names));
}

static uint32_t formatNumber(ptx::Type type) {
  return uint32_t(type.kind == 'B' ? Format::BF16 : Format::F16);
}

// Subnormal numbers become zeros of their sign.
Value *Translator::flush(Value *value, bool ftz) {
  if (!ftz || !value->getType()->isFloatTy())
    return value;
  Value *magnitude = b.CreateUnaryIntrinsic(Intrinsic::fabs, value);
  Value *tiny =
      b.CreateFCmpOLT(magnitude, ConstantFP::get(value->getType(), 0x1p-126));
  Value *zero = b.CreateBinaryIntrinsic(
      Intrinsic::copysign, ConstantFP::get(value->getType(), 0.0), value);
  return b.CreateSelect(tiny, zero, value);
}

// To [0, 1]; NaN becomes 0.
Value *Translator::saturate(Value *value) {
  Value *zero = ConstantFP::get(value->getType(), 0.0);
  Value *one = ConstantFP::get(value->getType(), 1.0);
  value = b.CreateSelect(b.CreateFCmpOGT(value, zero), value, zero);
  return b.CreateSelect(b.CreateFCmpOGT(value, one), one, value);
}

bool Translator::packed(const Instruction &instruction, ptx::Type type,
                        function_ref<Value *(ArrayRef<Value *>)> compute) {
  SmallVector<Value *> sources;
  for (const ptx::Operand &operand :
       ArrayRef(instruction.operands).drop_front())
    sources.push_back(use(operand, type.totalBits()));
  Value *result = ConstantInt::get(intType(type.totalBits()), 0);
  for (unsigned lane = 0; lane < type.lanes; ++lane) {
    SmallVector<Value *> elements;
    for (Value *whole : sources)
      elements.push_back(b.CreateTrunc(
          b.CreateLShr(whole, uint64_t(lane) * type.bits), intType(type.bits)));
    Value *element = asInt(compute(elements));
    result =
        b.CreateOr(result, b.CreateShl(b.CreateZExt(element, result->getType()),
                                       uint64_t(lane) * type.bits));
  }
  set(instruction.operands[0], result);
  return true;
}

// add, sub, mul, div, and (through `special`) the others of f16 and bf16.
bool Translator::floatBinary(const Instruction &instruction,
                             Modifiers &modifiers, ptx::Type type) {
  bool approx = modifiers.take("approx"), full = modifiers.take("full");
  bool ftz = modifiers.take("ftz"), sat = modifiers.take("sat");
  uint32_t rounding = takeRounding(modifiers);
  uint32_t operation = operationNumber(instruction.parts[0]);
  if (instruction.operands.size() != 3)
    return false;
  if (type.bits == 16) {
    uint32_t flags = (ftz ? kFtz : 0) | (sat ? kSat : 0);
    return rounding == 0 && operation < 3 &&
           packed(
               instruction, type,
               [&](ArrayRef<Value *> x) {
                 return callRuntime("simt_arithmetic16", intType(16),
                                    {b.getInt32(operation),
                                     b.getInt32(formatNumber(type)), x[0], x[1],
                                     b.getInt16(0), b.getInt32(flags)});
               });
  }
  auto compute = [&](Value *x, Value *y) -> Value * {
    x = flush(x, ftz);
    y = flush(y, ftz);
    Value *result;
    if (rounding) {
      Value *zero = ConstantFP::get(x->getType(), 0.0);
      result = callRuntime(
          type.bits == 64 ? "simt_rounded_f64" : "simt_rounded_f32",
          x->getType(),
          {b.getInt32(operation), x, y, zero, b.getInt32(rounding)});
    } else if (operation == 0) {
      result = b.CreateFAdd(x, y);
    } else if (operation == 1) {
      result = b.CreateFSub(x, y);
    } else if (operation == 2) {
      result = b.CreateFMul(x, y);
    } else {
      result = b.CreateFDiv(x, y);
    }
    if (approx) {
      // For divisors of 2^126 and above the result is 0, and NaN for an
      // infinite dividend.
      Value *infinity = ConstantFP::getInfinity(x->getType());
      Value *large = b.CreateUnaryIntrinsic(Intrinsic::fabs, y);
      Value *isLarge = b.CreateAnd(
          b.CreateFCmpOGE(large, ConstantFP::get(x->getType(), 0x1p126)),
          b.CreateFCmpONE(large, infinity));
      Value *isInfinite =
          b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(Intrinsic::fabs, x), infinity);
      Value *cut = b.CreateSelect(
          isInfinite, ConstantFP::getNaN(x->getType()),
          b.CreateFMul(result, ConstantFP::get(x->getType(), 0.0)));
      result = b.CreateSelect(isLarge, cut, result);
    }
    result = flush(result, ftz);
    return sat ? saturate(result) : result;
  };
  if ((approx || full) && (operation != 3 || type.bits != 32))
    return false;
  if (type.lanes == 2)
    return packed(instruction, type, [&](ArrayRef<Value *> x) {
      return compute(b.CreateBitCast(x[0], b.getFloatTy()),
                     b.CreateBitCast(x[1], b.getFloatTy()));
    });
  set(instruction.operands[0],
      compute(useFloat(instruction.operands[1], type.bits),
              useFloat(instruction.operands[2], type.bits)));
  return true;
}

bool Translator::fusedMultiplyAdd(const Instruction &instruction,
                                  Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  bool ftz = modifiers.take("ftz"), sat = modifiers.take("sat");
  bool relu = modifiers.take("relu");
  uint32_t rounding = takeRounding(modifiers);
  if (!type.isFloat() || instruction.operands.size() != 4)
    return false;
  uint32_t operation = operationNumber("fma");
  if (type.bits == 16) {
    uint32_t flags = (ftz ? kFtz : 0) | (sat ? kSat : 0) | (relu ? kRelu : 0);
    return rounding == 0 && packed(instruction, type, [&](ArrayRef<Value *> x) {
             return callRuntime("simt_arithmetic16", intType(16),
                                {b.getInt32(operation),
                                 b.getInt32(formatNumber(type)), x[0], x[1],
                                 x[2], b.getInt32(flags)});
           });
  }
  if (relu)
    return false;
  auto compute = [&](Value *x, Value *y, Value *z) -> Value * {
    x = flush(x, ftz);
    y = flush(y, ftz);
    z = flush(z, ftz);
    Value *result =
        rounding
            ? callRuntime(
                  type.bits == 64 ? "simt_rounded_f64" : "simt_rounded_f32",
                  x->getType(),
                  {b.getInt32(operation), x, y, z, b.getInt32(rounding)})
            : b.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z});
    result = flush(result, ftz);
    return sat ? saturate(result) : result;
  };
  if (type.lanes == 2)
    return packed(instruction, type, [&](ArrayRef<Value *> x) {
      auto element = [&](Value *bits) {
        return b.CreateBitCast(bits, b.getFloatTy());
      };
      return compute(element(x[0]), element(x[1]), element(x[2]));
    });
  set(instruction.operands[0],
      compute(useFloat(instruction.operands[1], type.bits),
              useFloat(instruction.operands[2], type.bits),
              useFloat(instruction.operands[3], type.bits)));
  return true;
}

// min, max {.ftz}{.NaN}{.xorsign.abs}, of two or three operands.
bool Translator::floatMinMax(const Instruction &instruction,
                             Modifiers &modifiers, ptx::Type type) {
  bool ftz = modifiers.take("ftz"), nan = modifiers.take("NaN");
  bool xorSign = modifiers.take("xorsign") && modifiers.take("abs");
  bool minimum = instruction.parts[0] == "min";
  if (instruction.operands.size() < 3)
    return false;
  if (type.bits == 16) {
    uint32_t flags =
        (ftz ? kFtz : 0) | (nan ? kNaN : 0) | (xorSign ? kXorSignAbs : 0);
    return instruction.operands.size() == 3 &&
           packed(instruction, type, [&](ArrayRef<Value *> x) {
             return callRuntime(
                 "simt_arithmetic16", intType(16),
                 {b.getInt32(operationNumber(instruction.parts[0])),
                  b.getInt32(formatNumber(type)), x[0], x[1], b.getInt16(0),
                  b.getInt32(flags)});
           });
  }
  if (type.lanes != 1)
    return false;
  Intrinsic::ID id =
      nan ? (minimum ? Intrinsic::minimum : Intrinsic::maximum)
          : (minimum ? Intrinsic::minimumnum : Intrinsic::maximumnum);
  Value *result = nullptr, *signs = nullptr;
  for (const ptx::Operand &operand :
       ArrayRef(instruction.operands).drop_front()) {
    Value *x = flush(useFloat(operand, type.bits), ftz);
    if (xorSign) {
      signs = signs ? b.CreateXor(signs, asInt(x)) : asInt(x);
      x = b.CreateUnaryIntrinsic(Intrinsic::fabs, x);
    }
    result = result ? b.CreateBinaryIntrinsic(id, result, x) : x;
  }
  if (xorSign)
    result = b.CreateBinaryIntrinsic(Intrinsic::copysign, result,
                                     b.CreateBitCast(signs, result->getType()));
  // NaN is the canonical one.
  APInt canonical =
      type.bits == 64 ? APInt(64, 0x7fffffffffffffff) : APInt(32, 0x7fffffff);
  result = b.CreateSelect(
      b.CreateFCmpUNO(result, result),
      b.CreateBitCast(ConstantInt::get(b.getContext(), canonical),
                      result->getType()),
      result);
  set(instruction.operands[0], result);
  return true;
}

bool Translator::reciprocal(const Instruction &instruction,
                            Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  bool approx = modifiers.take("approx"), ftz = modifiers.take("ftz");
  uint32_t rounding = takeRounding(modifiers);
  if (!type.isFloat() || type.bits < 32 || instruction.operands.size() != 2)
    return false;
  Value *x = flush(useFloat(instruction.operands[1], type.bits), ftz);
  Value *one = ConstantFP::get(x->getType(), 1.0);
  Value *result;
  if (rounding) {
    result = callRuntime(
        type.bits == 64 ? "simt_rounded_f64" : "simt_rounded_f32", x->getType(),
        {b.getInt32(operationNumber("div")), one, x, one,
         b.getInt32(rounding)});
  } else {
    result = b.CreateFDiv(one, x);
  }
  if (approx && type.bits == 64) // the low half is zero
    result = b.CreateBitCast(
        b.CreateAnd(asInt(result), b.getInt64(0xffffffff00000000)),
        x->getType());
  set(instruction.operands[0], flush(result, ftz));
  return true;
}

bool Translator::squareRoot(const Instruction &instruction,
                            Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  modifiers.take("approx");
  bool ftz = modifiers.take("ftz");
  uint32_t rounding = takeRounding(modifiers);
  if (!type.isFloat() || type.bits < 32 || instruction.operands.size() != 2)
    return false;
  Value *x = flush(useFloat(instruction.operands[1], type.bits), ftz);
  Value *result = rounding ? callRuntime(type.bits == 64 ? "simt_rounded_f64"
                                                         : "simt_rounded_f32",
                                         x->getType(),
                                         {b.getInt32(operationNumber("sqrt")),
                                          x, x, x, b.getInt32(rounding)})
                           : b.CreateUnaryIntrinsic(Intrinsic::sqrt, x);
  set(instruction.operands[0], flush(result, ftz));
  return true;
}

bool Translator::reciprocalRoot(const Instruction &instruction,
                                Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  bool ftz = modifiers.take("ftz");
  if (!modifiers.take("approx") || !type.isFloat() || type.bits < 32 ||
      instruction.operands.size() != 2)
    return false;
  Value *x = flush(useFloat(instruction.operands[1], type.bits), ftz);
  Value *result = callRuntime(
      type.bits == 64 ? "simt_rsqrt_f64" : "simt_rsqrt_f32", x->getType(), {x});
  set(instruction.operands[0], flush(result, ftz));
  return true;
}

// ex2, lg2, sin, cos, tanh.
bool Translator::special(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  bool ftz = modifiers.take("ftz");
  if (!modifiers.take("approx") || !type.isFloat() ||
      instruction.operands.size() != 2)
    return false;
  const std::string &opcode = instruction.parts[0];
  if (type.bits == 16)
    return (opcode == "ex2" || opcode == "tanh") &&
           packed(instruction, type, [&](ArrayRef<Value *> x) {
             return callRuntime("simt_arithmetic16", intType(16),
                                {b.getInt32(operationNumber(opcode)),
                                 b.getInt32(formatNumber(type)), x[0], x[0],
                                 x[0], b.getInt32(ftz ? kFtz : 0)});
           });
  if (type.bits != 32)
    return false;
  Value *x = flush(useFloat(instruction.operands[1], 32), ftz);
  std::string name = "simt_" + opcode;
  set(instruction.operands[0],
      flush(callRuntime(name.c_str(), b.getFloatTy(), {x}), ftz));
  return true;
}

// copysign d, a, b: b with the sign of a.
bool Translator::copySign(const Instruction &instruction,
                          Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type.isFloat() || type.bits < 32 || instruction.operands.size() != 3)
    return false;
  set(instruction.operands[0],
      b.CreateBinaryIntrinsic(Intrinsic::copysign,
                              useFloat(instruction.operands[2], type.bits),
                              useFloat(instruction.operands[1], type.bits)));
  return true;
}

bool Translator::testProperty(const Instruction &instruction,
                              Modifiers &modifiers) {
  static const std::map<std::string_view, unsigned> classes = {
      {"finite", fcFinite},
      {"infinite", fcInf},
      {"number", fcAllFlags & ~fcNan},
      {"notanumber", fcNan},
      {"normal", fcNormal | fcZero},
      {"subnormal", fcSubnormal}};
  ptx::Type type = modifiers.takeType();
  auto test = classes.find(modifiers.takeAny());
  if (test == classes.end() || !type.isFloat() || type.bits < 32 ||
      instruction.operands.size() != 2)
    return false;
  set(instruction.operands[0],
      b.createIsFPClass(useFloat(instruction.operands[1], type.bits),
                        test->second));
  return true;
}

} // namespace dsflash::simt
