//===- Bits.cpp - Logic, shifts and bit fields (PTX ISA 9.7.1, 9.7.8) -----===//

#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;

bool Translator::logic(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  const std::string &opcode = instruction.parts[0];
  bool unary = opcode == "not" || opcode == "cnot";
  if (!type || instruction.operands.size() != (unary ? 2 : 3))
    return false;
  Value *x = use(instruction.operands[1], type.bits);
  if (opcode == "not") {
    set(instruction.operands[0], b.CreateNot(x));
    return true;
  }
  if (opcode == "cnot") {
    set(instruction.operands[0],
        b.CreateZExt(b.CreateIsNull(x), intType(type.bits)));
    return true;
  }
  Value *y = use(instruction.operands[2], type.bits);
  set(instruction.operands[0], opcode == "and"  ? b.CreateAnd(x, y)
                               : opcode == "or" ? b.CreateOr(x, y)
                                                : b.CreateXor(x, y));
  return true;
}

// Bit 4a+2b+c of the table is the result for bits a, b, c.
Value *Translator::logicTable(Value *a, Value *c, Value *d, unsigned table) {
  Value *result = ConstantInt::get(a->getType(), 0);
  for (unsigned i = 0; i < 8; ++i) {
    if (!(table >> i & 1))
      continue;
    Value *term = i & 4 ? a : b.CreateNot(a);
    term = b.CreateAnd(term, i & 2 ? c : b.CreateNot(c));
    term = b.CreateAnd(term, i & 1 ? d : b.CreateNot(d));
    result = b.CreateOr(result, term);
  }
  return result;
}

bool Translator::logic3(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (type.bits != 32 || instruction.operands.size() != 5 ||
      instruction.operands[4].kind != ptx::Operand::Kind::Integer)
    return false;
  set(instruction.operands[0],
      logicTable(use(instruction.operands[1], 32),
                 use(instruction.operands[2], 32),
                 use(instruction.operands[3], 32),
                 unsigned(instruction.operands[4].value)));
  return true;
}

// Amounts above the width act as the width.
bool Translator::shift(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || instruction.operands.size() != 3)
    return false;
  Value *x = use(instruction.operands[1], type.bits);
  Value *amount = use(instruction.operands[2], 32);
  Value *isLong = b.CreateICmpUGE(amount, b.getInt32(type.bits));
  Value *safe = b.CreateZExtOrTrunc(
      b.CreateSelect(isLong, b.getInt32(type.bits - 1), amount),
      intType(type.bits));
  Value *zero = ConstantInt::get(intType(type.bits), 0);
  Value *result;
  if (instruction.parts[0] == "shl")
    result = b.CreateSelect(isLong, zero, b.CreateShl(x, safe));
  else if (type.isSigned())
    result = b.CreateAShr(x, safe);
  else
    result = b.CreateSelect(isLong, zero, b.CreateLShr(x, safe));
  set(instruction.operands[0], result);
  return true;
}

// shf.{l,r}.{clamp,wrap}.b32 d, a, b, c: of the 64 bits b:a.
bool Translator::funnelShift(const Instruction &instruction,
                             Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  bool left = modifiers.take("l"), right = modifiers.take("r");
  bool clamp = modifiers.take("clamp"), wrap = modifiers.take("wrap");
  if (type.bits != 32 || left == right || clamp == wrap ||
      instruction.operands.size() != 4)
    return false;
  IntegerType *wide = intType(64);
  Value *low = b.CreateZExt(use(instruction.operands[1], 32), wide);
  Value *high = b.CreateZExt(use(instruction.operands[2], 32), wide);
  Value *amount = use(instruction.operands[3], 32);
  amount =
      wrap ? b.CreateAnd(amount, b.getInt32(31))
           : b.CreateBinaryIntrinsic(Intrinsic::umin, amount, b.getInt32(32));
  amount = b.CreateZExt(amount, wide);
  Value *both = b.CreateOr(b.CreateShl(high, 32), low);
  Value *result = left ? b.CreateLShr(b.CreateShl(both, amount), 32)
                       : b.CreateLShr(both, amount);
  set(instruction.operands[0], b.CreateTrunc(result, intType(32)));
  return true;
}

bool Translator::countBits(const Instruction &instruction,
                           Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || instruction.operands.size() != 2)
    return false;
  Value *x = use(instruction.operands[1], type.bits);
  const std::string &opcode = instruction.parts[0];
  if (opcode == "brev") {
    set(instruction.operands[0],
        b.CreateUnaryIntrinsic(Intrinsic::bitreverse, x));
    return true;
  }
  Value *count = opcode == "popc" ? b.CreateUnaryIntrinsic(Intrinsic::ctpop, x)
                                  : b.CreateBinaryIntrinsic(Intrinsic::ctlz, x,
                                                            b.getFalse());
  set(instruction.operands[0], b.CreateZExtOrTrunc(count, intType(32)));
  return true;
}

// Position of the highest bit that differs from the sign, or all ones;
// .shiftamt: how far it is from the top.
bool Translator::findBit(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  bool amount = modifiers.take("shiftamt");
  if (!type || instruction.operands.size() != 2)
    return false;
  Value *x = use(instruction.operands[1], type.bits);
  if (type.isSigned())
    x = b.CreateXor(x, b.CreateAShr(x, type.bits - 1));
  Value *zeros = b.CreateZExtOrTrunc(
      b.CreateBinaryIntrinsic(Intrinsic::ctlz, x, b.getFalse()), intType(32));
  Value *position =
      amount ? zeros : b.CreateSub(b.getInt32(type.bits - 1), zeros);
  set(instruction.operands[0],
      b.CreateSelect(b.CreateIsNull(x), b.getInt32(~0u), position));
  return true;
}

// Bits [pos, pos+len) of a; what lies above the top is 0, or the sign: bit
// min(pos+len-1, msb).
bool Translator::extractField(const Instruction &instruction,
                              Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || type.bits < 32 || instruction.operands.size() != 4)
    return false;
  // Wide enough that no shift reaches the width.
  IntegerType *wide = intType(512);
  Value *x = use(instruction.operands[1], type.bits);
  x = type.isSigned() ? b.CreateSExt(x, wide) : b.CreateZExt(x, wide);
  auto small = [&](unsigned i) {
    return b.CreateZExt(
        b.CreateAnd(use(instruction.operands[i], 32), b.getInt32(0xff)), wide);
  };
  Value *position = small(2), *length = small(3);
  Value *one = ConstantInt::get(wide, 1);
  Value *fieldMask = b.CreateSub(b.CreateShl(one, length), one);
  Value *field = b.CreateAnd(b.CreateLShr(x, position), fieldMask);
  if (type.isSigned()) {
    Value *top = ConstantInt::get(wide, type.bits - 1);
    Value *signAt = b.CreateBinaryIntrinsic(
        Intrinsic::umin, b.CreateSub(b.CreateAdd(position, length), one), top);
    Value *sign = b.CreateAnd(b.CreateLShr(x, signAt), one);
    Value *hasBits = b.CreateIsNotNull(length);
    Value *inside = b.CreateICmpULE(position, top);
    // Above the field, and above the top of a, everything is the sign.
    Value *available = b.CreateSelect(
        inside,
        b.CreateBinaryIntrinsic(
            Intrinsic::umin, length,
            b.CreateSub(ConstantInt::get(wide, type.bits), position)),
        ConstantInt::get(wide, 0));
    Value *kept = b.CreateSub(b.CreateShl(one, available), one);
    field = b.CreateOr(
        b.CreateAnd(field, kept),
        b.CreateSelect(b.CreateAnd(hasBits, b.CreateIsNotNull(sign)),
                       b.CreateNot(kept), ConstantInt::get(wide, 0)));
  }
  set(instruction.operands[0], b.CreateTrunc(field, intType(type.bits)));
  return true;
}

// bfi d, a, b, c, d: the low bits of a go to bits [c, c+d) of b.
bool Translator::insertField(const Instruction &instruction,
                             Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || type.bits < 32 || instruction.operands.size() != 5)
    return false;
  IntegerType *wide = intType(512);
  auto field = [&](unsigned i) {
    return b.CreateZExt(use(instruction.operands[i], type.bits), wide);
  };
  auto small = [&](unsigned i) {
    return b.CreateZExt(
        b.CreateAnd(use(instruction.operands[i], 32), b.getInt32(0xff)), wide);
  };
  Value *position = small(3), *length = small(4);
  Value *one = ConstantInt::get(wide, 1);
  Value *where =
      b.CreateShl(b.CreateSub(b.CreateShl(one, length), one), position);
  Value *result =
      b.CreateOr(b.CreateAnd(b.CreateShl(field(1), position), where),
                 b.CreateAnd(field(2), b.CreateNot(where)));
  set(instruction.operands[0], b.CreateTrunc(result, intType(type.bits)));
  return true;
}

// prmt.b32{.mode}: four bytes chosen from the eight of b:a; bit 3 of a choice
// repeats the byte's sign.
bool Translator::permute(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  std::string_view mode =
      modifiers.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  if (type.bits != 32 || instruction.operands.size() != 4)
    return false;
  Value *bytes = b.CreateOr(
      b.CreateZExt(use(instruction.operands[1], 32), intType(64)),
      b.CreateShl(b.CreateZExt(use(instruction.operands[2], 32), intType(64)),
                  32));
  Value *control = use(instruction.operands[3], 32);
  if (!mode.empty()) {
    // PTX ISA, table of prmt modes: row by control[1:0], byte 3 first.
    static const std::map<std::string_view, std::array<uint16_t, 4>> tables = {
        {"f4e", {0x3210, 0x4321, 0x5432, 0x6543}},
        {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
        {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}},
        {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
        {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}},
        {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}}};
    Value *row = b.CreateAnd(control, b.getInt32(3));
    Value *chosen = b.getInt32(0);
    for (unsigned i = 0; i < 4; ++i)
      chosen = b.CreateSelect(b.CreateICmpEQ(row, b.getInt32(i)),
                              b.getInt32(tables.at(mode)[i]), chosen);
    control = chosen;
  }
  Value *result = b.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    Value *choice = b.CreateLShr(control, 4 * i);
    Value *amount = b.CreateShl(b.CreateAnd(choice, b.getInt32(7)), 3);
    Value *byte = b.CreateTrunc(
        b.CreateLShr(bytes, b.CreateZExt(amount, intType(64))), intType(8));
    Value *sign = b.CreateAShr(byte, uint64_t(7));
    Value *useSign = b.CreateIsNotNull(b.CreateAnd(choice, b.getInt32(8)));
    byte = b.CreateSelect(useSign, sign, byte);
    result =
        b.CreateOr(result, b.CreateShl(b.CreateZExt(byte, intType(32)), 8 * i));
  }
  set(instruction.operands[0], result);
  return true;
}

// szext.{clamp,wrap}.{u32,s32} d, a, n: the low n bits of a, extended.
bool Translator::extend(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  bool clamp = modifiers.take("clamp"), wrap = modifiers.take("wrap");
  if (type.bits != 32 || clamp == wrap || instruction.operands.size() != 3)
    return false;
  Value *x = use(instruction.operands[1], 32);
  Value *bits = use(instruction.operands[2], 32);
  bits = wrap ? b.CreateAnd(bits, b.getInt32(31))
              : b.CreateBinaryIntrinsic(Intrinsic::umin, bits, b.getInt32(32));
  Value *amount = b.CreateZExt(b.CreateSub(b.getInt32(32), bits), intType(64));
  Value *high =
      b.CreateShl(b.CreateShl(b.CreateZExt(x, intType(64)), 32), amount);
  Value *result = type.isSigned()
                      ? b.CreateAShr(b.CreateAShr(high, amount), uint64_t(32))
                      : b.CreateLShr(b.CreateLShr(high, amount), uint64_t(32));
  set(instruction.operands[0],
      b.CreateSelect(b.CreateIsNull(bits), b.getInt32(0),
                     b.CreateTrunc(result, intType(32))));
  return true;
}

// bmsk.{clamp,wrap}.b32 d, a, n: n ones from bit a.
bool Translator::mask(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  bool clamp = modifiers.take("clamp"), wrap = modifiers.take("wrap");
  if (type.bits != 32 || clamp == wrap || instruction.operands.size() != 3)
    return false;
  auto amount = [&](unsigned i) {
    Value *bits = use(instruction.operands[i], 32);
    bits = wrap
               ? b.CreateAnd(bits, b.getInt32(31))
               : b.CreateBinaryIntrinsic(Intrinsic::umin, bits, b.getInt32(32));
    return b.CreateZExt(bits, intType(128));
  };
  Value *one = ConstantInt::get(intType(128), 1);
  Value *ones = b.CreateSub(b.CreateShl(one, amount(2)), one);
  set(instruction.operands[0],
      b.CreateTrunc(b.CreateShl(ones, amount(1)), intType(32)));
  return true;
}

} // namespace dsflash::simt
