//===- Integer.cpp - Integer arithmetic (PTX ISA 9.7.1, 9.7.2) ------------===//

#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;

// add, sub, addc, subc: {.sat}.s32, {.cc}.type, and floats.
bool Translator::addSub(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  const std::string &opcode = instruction.parts[0];
  bool subtract = opcode[0] == 's';
  if (type.isFloat())
    return floatBinary(instruction, modifiers, type);
  bool carryIn = opcode.back() == 'c', carryOut = modifiers.take("cc");
  if (carryIn || carryOut)
    return carryArithmetic(instruction, type, subtract, carryIn, carryOut);
  if (!type || instruction.operands.size() != 3)
    return false;
  Value *x = use(instruction.operands[1], type.totalBits());
  Value *y = use(instruction.operands[2], type.totalBits());
  if (type.lanes == 2) {
    auto *pair = FixedVectorType::get(intType(type.bits), 2);
    Value *left = b.CreateBitCast(x, pair), *right = b.CreateBitCast(y, pair);
    set(instruction.operands[0],
        b.CreateBitCast(subtract ? b.CreateSub(left, right)
                                 : b.CreateAdd(left, right),
                        intType(32)));
    return true;
  }
  if (modifiers.take("sat")) {
    set(instruction.operands[0],
        b.CreateBinaryIntrinsic(
            subtract ? Intrinsic::ssub_sat : Intrinsic::sadd_sat, x, y));
    return type.kind == 's' && type.bits == 32;
  }
  set(instruction.operands[0],
      subtract ? b.CreateSub(x, y) : b.CreateAdd(x, y));
  return true;
}

// The carry of a difference is its borrow.
bool Translator::carryArithmetic(const Instruction &instruction, ptx::Type type,
                                 bool subtract, bool carryIn, bool carryOut) {
  if (!type || type.isFloat() || instruction.operands.size() != 3)
    return false;
  IntegerType *wide = intType(type.bits + 1);
  Value *x = b.CreateZExt(use(instruction.operands[1], type.bits), wide);
  Value *y = b.CreateZExt(use(instruction.operands[2], type.bits), wide);
  Value *result = subtract ? b.CreateSub(x, y) : b.CreateAdd(x, y);
  if (carryIn) {
    Value *in = b.CreateZExt(b.CreateLoad(b.getInt1Ty(), carry), wide);
    result = subtract ? b.CreateSub(result, in) : b.CreateAdd(result, in);
  }
  if (carryOut)
    b.CreateStore(b.CreateTrunc(b.CreateLShr(result, type.bits), b.getInt1Ty()),
                  carry);
  set(instruction.operands[0], b.CreateTrunc(result, intType(type.bits)));
  return true;
}

// Twice as wide as the type, of operands 1 and 2.
Value *Translator::wideProduct(const Instruction &instruction, ptx::Type type) {
  IntegerType *wide = intType(2 * type.bits);
  auto extend = [&](unsigned i) {
    Value *value = use(instruction.operands[i], type.bits);
    return type.isSigned() ? b.CreateSExt(value, wide)
                           : b.CreateZExt(value, wide);
  };
  return b.CreateMul(extend(1), extend(2));
}

bool Translator::multiply(const Instruction &instruction,
                          Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (type.isFloat())
    return floatBinary(instruction, modifiers, type);
  if (!type || instruction.operands.size() != 3)
    return false;
  bool wide = modifiers.take("wide"), high = modifiers.take("hi");
  bool low = modifiers.take("lo");
  if (wide + high + low != 1)
    return false;
  Value *product = wideProduct(instruction, type);
  if (high)
    product = b.CreateLShr(product, type.bits);
  set(instruction.operands[0],
      wide ? product : b.CreateTrunc(product, intType(type.bits)));
  return true;
}

// mad.{lo,hi,wide}, mad{c}.{lo,hi}.cc.
bool Translator::multiplyAdd(const Instruction &instruction,
                             Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || type.isFloat() || instruction.operands.size() != 4)
    return false;
  bool carryIn = instruction.parts[0] == "madc";
  bool carryOut = modifiers.take("cc"), saturating = modifiers.take("sat");
  bool wide = modifiers.take("wide"), high = modifiers.take("hi");
  bool low = modifiers.take("lo");
  if (wide + high + low != 1 || (saturating && !(high && type.isSigned())))
    return false;
  Value *product = wideProduct(instruction, type);
  if (high)
    product = b.CreateLShr(product, type.bits);
  unsigned bits = wide ? 2 * type.bits : type.bits;
  product = b.CreateTrunc(product, intType(bits));
  Value *addend = use(instruction.operands[3], bits);
  if (saturating) {
    set(instruction.operands[0],
        b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, product, addend));
    return true;
  }
  IntegerType *longer = intType(bits + 1);
  Value *sum =
      b.CreateAdd(b.CreateZExt(product, longer), b.CreateZExt(addend, longer));
  if (carryIn)
    sum = b.CreateAdd(sum,
                      b.CreateZExt(b.CreateLoad(b.getInt1Ty(), carry), longer));
  if (carryOut)
    b.CreateStore(b.CreateTrunc(b.CreateLShr(sum, bits), b.getInt1Ty()), carry);
  set(instruction.operands[0], b.CreateTrunc(sum, intType(bits)));
  return true;
}

// Division by zero gives all ones, as devices do; the host would trap.
bool Translator::divide(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (type.isFloat())
    return floatBinary(instruction, modifiers, type);
  if (!type || instruction.operands.size() != 3)
    return false;
  Value *x = use(instruction.operands[1], type.bits);
  Value *y = use(instruction.operands[2], type.bits);
  Value *one = ConstantInt::get(intType(type.bits), 1);
  Value *ones = ConstantInt::getAllOnesValue(intType(type.bits));
  Value *isZero = b.CreateIsNull(y);
  Value *quotient;
  if (type.isSigned()) {
    // x / -1 would trap for the least x.
    Value *isMinusOne = b.CreateICmpEQ(y, ones);
    Value *divisor = b.CreateSelect(b.CreateOr(isZero, isMinusOne), one, y);
    quotient =
        b.CreateSelect(isMinusOne, b.CreateNeg(x), b.CreateSDiv(x, divisor));
  } else {
    quotient = b.CreateUDiv(x, b.CreateSelect(isZero, one, y));
  }
  set(instruction.operands[0], b.CreateSelect(isZero, ones, quotient));
  return true;
}

bool Translator::remainder(const Instruction &instruction,
                           Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || type.isFloat() || instruction.operands.size() != 3)
    return false;
  Value *x = use(instruction.operands[1], type.bits);
  Value *y = use(instruction.operands[2], type.bits);
  Value *one = ConstantInt::get(intType(type.bits), 1);
  Value *isZero = b.CreateIsNull(y);
  Value *unsafe = isZero;
  if (type.isSigned())
    unsafe = b.CreateOr(isZero, b.CreateICmpEQ(y, ConstantInt::getAllOnesValue(
                                                      intType(type.bits))));
  Value *divisor = b.CreateSelect(unsafe, one, y);
  Value *rest =
      type.isSigned() ? b.CreateSRem(x, divisor) : b.CreateURem(x, divisor);
  set(instruction.operands[0], b.CreateSelect(isZero, x, rest));
  return true;
}

// c + |a - b|
bool Translator::sumAbsoluteDifference(const Instruction &instruction,
                                       Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || instruction.operands.size() != 4)
    return false;
  Value *x = use(instruction.operands[1], type.bits);
  Value *y = use(instruction.operands[2], type.bits);
  Value *less = type.isSigned() ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
  Value *difference =
      b.CreateSelect(less, b.CreateSub(y, x), b.CreateSub(x, y));
  set(instruction.operands[0],
      b.CreateAdd(difference, use(instruction.operands[3], type.bits)));
  return true;
}

// dp4a.atype.btype and dp2a.mode.atype.btype.
bool Translator::dotProduct(const Instruction &instruction,
                            Modifiers &modifiers) {
  ptx::Type left = modifiers.takeType(), right = modifiers.takeType();
  if (left.bits != 32 || right.bits != 32 || instruction.operands.size() != 4)
    return false;
  unsigned terms = instruction.parts[0] == "dp4a" ? 4 : 2;
  unsigned first = 0;
  if (terms == 2) {
    bool high = modifiers.take("hi");
    if (high == modifiers.take("lo"))
      return false;
    first = high ? 2 : 0;
  }
  Value *x = use(instruction.operands[1], 32);
  Value *y = use(instruction.operands[2], 32);
  Value *sum = use(instruction.operands[3], 32);
  auto element = [&](Value *packed, unsigned i, unsigned bits, ptx::Type type) {
    Value *part =
        b.CreateTrunc(b.CreateLShr(packed, uint64_t(i) * bits), intType(bits));
    return type.isSigned() ? b.CreateSExt(part, intType(32))
                           : b.CreateZExt(part, intType(32));
  };
  for (unsigned i = 0; i < terms; ++i)
    sum = b.CreateAdd(sum, b.CreateMul(element(x, i, 32 / terms, left),
                                       element(y, first + i, 8, right)));
  set(instruction.operands[0], sum);
  return true;
}

bool Translator::absolute(const Instruction &instruction,
                          Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || instruction.operands.size() != 2)
    return false;
  Value *x = use(instruction.operands[1], type.totalBits());
  if (!type.isFloat()) {
    set(instruction.operands[0],
        b.CreateBinaryIntrinsic(Intrinsic::abs, x, b.getFalse()));
    return type.isSigned();
  }
  bool ftz = modifiers.take("ftz");
  APInt signs =
      APInt::getSplat(type.totalBits(), APInt::getSignMask(type.bits));
  Value *result = b.CreateAnd(x, ConstantInt::get(x->getType(), ~signs));
  if (type.bits == 32)
    result = flush(b.CreateBitCast(result, b.getFloatTy()), ftz);
  set(instruction.operands[0], result);
  return true;
}

bool Translator::negate(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || instruction.operands.size() != 2)
    return false;
  Value *x = use(instruction.operands[1], type.totalBits());
  if (!type.isFloat()) {
    set(instruction.operands[0], b.CreateNeg(x));
    return true;
  }
  bool ftz = modifiers.take("ftz");
  APInt signs =
      APInt::getSplat(type.totalBits(), APInt::getSignMask(type.bits));
  Value *result = b.CreateXor(x, ConstantInt::get(x->getType(), signs));
  if (type.bits == 32)
    result = flush(b.CreateBitCast(result, b.getFloatTy()), ftz);
  set(instruction.operands[0], result);
  return true;
}

bool Translator::minMax(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (type.isFloat())
    return floatMinMax(instruction, modifiers, type);
  if (!type || instruction.operands.size() != 3)
    return false;
  bool relu = modifiers.take("relu");
  bool minimum = instruction.parts[0] == "min";
  Intrinsic::ID id = type.isSigned()
                         ? (minimum ? Intrinsic::smin : Intrinsic::smax)
                         : (minimum ? Intrinsic::umin : Intrinsic::umax);
  Type *operands = intType(type.totalBits());
  Type *elements = type.lanes == 1
                       ? operands
                       : FixedVectorType::get(intType(type.bits), type.lanes);
  auto element = [&](unsigned i) {
    return b.CreateBitCast(use(instruction.operands[i], type.totalBits()),
                           elements);
  };
  Value *result = b.CreateBinaryIntrinsic(id, element(1), element(2));
  if (relu)
    result = b.CreateBinaryIntrinsic(Intrinsic::smax, result,
                                     Constant::getNullValue(elements));
  set(instruction.operands[0], b.CreateBitCast(result, operands));
  return true;
}

} // namespace dsflash::simt
