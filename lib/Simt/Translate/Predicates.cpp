//===- Predicates.cpp - Comparisons and selections (PTX ISA 9.7.6) --------===//

#include "../Runtime/Arithmetic.h"
#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;
using ptx::Operand;

// The number of an f16 or bf16 code as f32, which is exact.
Value *Translator::widen(Value *bits, ptx::Type type) {
  if (type.bits == 32)
    return b.CreateBitCast(bits, b.getFloatTy());
  if (type.bits == 64)
    return b.CreateBitCast(bits, b.getDoubleTy());
  if (type.kind == 'B')
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, intType(32)), 16),
                           b.getFloatTy());
  return callRuntime(
      "simt_decode", b.getFloatTy(),
      {b.CreateZExt(bits, intType(32)), b.getInt32(uint32_t(Format::F16))});
}

Value *Translator::compare(std::string_view how, ptx::Type type, Value *x,
                           Value *y) {
  static const std::map<std::string_view, CmpInst::Predicate> floats = {
      {"eq", CmpInst::FCMP_OEQ},  {"ne", CmpInst::FCMP_ONE},
      {"lt", CmpInst::FCMP_OLT},  {"le", CmpInst::FCMP_OLE},
      {"gt", CmpInst::FCMP_OGT},  {"ge", CmpInst::FCMP_OGE},
      {"equ", CmpInst::FCMP_UEQ}, {"neu", CmpInst::FCMP_UNE},
      {"ltu", CmpInst::FCMP_ULT}, {"leu", CmpInst::FCMP_ULE},
      {"gtu", CmpInst::FCMP_UGT}, {"geu", CmpInst::FCMP_UGE},
      {"num", CmpInst::FCMP_ORD}, {"nan", CmpInst::FCMP_UNO}};
  static const std::map<std::string_view, CmpInst::Predicate> signedInts = {
      {"eq", CmpInst::ICMP_EQ},  {"ne", CmpInst::ICMP_NE},
      {"lt", CmpInst::ICMP_SLT}, {"le", CmpInst::ICMP_SLE},
      {"gt", CmpInst::ICMP_SGT}, {"ge", CmpInst::ICMP_SGE}};
  static const std::map<std::string_view, CmpInst::Predicate> unsignedInts = {
      {"eq", CmpInst::ICMP_EQ},  {"ne", CmpInst::ICMP_NE},
      {"lt", CmpInst::ICMP_ULT}, {"le", CmpInst::ICMP_ULE},
      {"gt", CmpInst::ICMP_UGT}, {"ge", CmpInst::ICMP_UGE},
      {"lo", CmpInst::ICMP_ULT}, {"ls", CmpInst::ICMP_ULE},
      {"hi", CmpInst::ICMP_UGT}, {"hs", CmpInst::ICMP_UGE}};
  const auto &table = type.isFloat()    ? floats
                      : type.isSigned() ? signedInts
                                        : unsignedInts;
  auto predicate = table.find(how);
  return predicate == table.end() ? nullptr
                                  : b.CreateCmp(predicate->second, x, y);
}

// cmp{.boolop}{.ftz}.type of operands 1 and 2, combined with operand 3.
bool Translator::compareOperands(const Instruction &instruction,
                                 Modifiers &modifiers, Value *&result) {
  ptx::Type type = modifiers.takeType();
  bool ftz = modifiers.take("ftz");
  std::string_view combine = modifiers.takeOneOf({"and", "or", "xor"});
  std::string_view how = modifiers.takeAny();
  if (!type || type.lanes != 1 ||
      instruction.operands.size() != (combine.empty() ? 3 : 4))
    return false;
  auto operand = [&](unsigned i) -> Value * {
    if (!type.isFloat())
      return use(instruction.operands[i], type.bits);
    if (type.bits >= 32)
      return flush(useFloat(instruction.operands[i], type.bits), ftz);
    return widen(use(instruction.operands[i], type.bits), type);
  };
  Value *x = operand(1), *y = operand(2);
  result = compare(how, type, x, y);
  return result;
}

static Value *combineWith(IRBuilder<> &b, std::string_view opcode,
                          Value *result, Value *other) {
  if (opcode.find(".and.") != std::string_view::npos)
    return b.CreateAnd(result, other);
  if (opcode.find(".or.") != std::string_view::npos)
    return b.CreateOr(result, other);
  return b.CreateXor(result, other);
}

bool Translator::setPredicate(const Instruction &instruction,
                              Modifiers &modifiers) {
  Value *result = nullptr;
  if (!compareOperands(instruction, modifiers, result))
    return false;
  Value *negation = b.CreateNot(result);
  if (instruction.operands.size() == 4) {
    Value *other = usePredicate(instruction.operands[3]);
    result = combineWith(b, instruction.opcode, result, other);
    negation = combineWith(b, instruction.opcode, negation, other);
  }
  const Operand &destination = instruction.operands[0];
  if (destination.kind != Operand::Kind::Pair) {
    set(destination, result);
    return true;
  }
  set(destination.elements[0], result);
  set(destination.elements[1], negation);
  return true;
}

// set.cmp.dtype.stype: all ones or 1.0 for true.
bool Translator::setValue(const Instruction &instruction,
                          Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  Value *result = nullptr;
  if (type.bits != 32 || type.lanes != 1 ||
      !compareOperands(instruction, modifiers, result))
    return false;
  if (instruction.operands.size() == 4)
    result = combineWith(b, instruction.opcode, result,
                         usePredicate(instruction.operands[3]));
  set(instruction.operands[0], type.isFloat()
                                   ? b.CreateUIToFP(result, b.getFloatTy())
                                   : b.CreateSExt(result, intType(32)));
  return true;
}

bool Translator::select(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || instruction.operands.size() != 4)
    return false;
  Value *condition = usePredicate(instruction.operands[3]);
  // Of the two sources only the chosen one counts.
  Value *fromCondition = undefined;
  auto source = [&](unsigned i, Value *&open) {
    undefined = nullptr;
    Value *value = use(instruction.operands[i], type.totalBits());
    open = undefined;
    return value;
  };
  Value *openX, *openY;
  Value *x = source(1, openX), *y = source(2, openY);
  undefined = fromCondition;
  if (openX || openY) {
    Value *chosen = b.CreateSelect(condition, openX ? openX : b.getFalse(),
                                   openY ? openY : b.getFalse());
    undefined = undefined ? b.CreateOr(undefined, chosen) : chosen;
  }
  set(instruction.operands[0], b.CreateSelect(condition, x, y));
  return true;
}

// slct.dtype.ctype d, a, b, c: a if c >= 0 (a zero of either sign too).
bool Translator::selectBySign(const Instruction &instruction,
                              Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType(), control = modifiers.takeType();
  bool ftz = modifiers.take("ftz");
  if (!type || control.bits != 32 || instruction.operands.size() != 4)
    return false;
  Value *condition;
  if (control.isFloat()) {
    Value *value = flush(useFloat(instruction.operands[3], 32), ftz);
    condition = b.CreateFCmpOGE(value, ConstantFP::get(value->getType(), 0.0));
  } else {
    condition =
        b.CreateICmpSGE(use(instruction.operands[3], 32), b.getInt32(0));
  }
  set(instruction.operands[0],
      b.CreateSelect(condition, use(instruction.operands[1], type.bits),
                     use(instruction.operands[2], type.bits)));
  return true;
}

bool Translator::move(const Instruction &instruction, Modifiers &modifiers) {
  ptx::Type type = modifiers.takeType();
  if (!type || instruction.operands.size() != 2)
    return false;
  const Operand &from = instruction.operands[1];
  Value *value = type.isFloat() && from.kind == Operand::Kind::Float
                     ? asInt(useFloat(from, type.bits))
                     : use(from, type.totalBits());
  // Bit for bit, as far as registers are packed or taken apart.
  Value *open = nullptr;
  if (from.kind == Operand::Kind::Vector) {
    unsigned width = type.totalBits() / unsigned(from.elements.size());
    for (auto [i, element] : llvm::enumerate(from.elements))
      if (Value *part = undefinedBits(element, width)) {
        part = b.CreateShl(b.CreateZExt(part, value->getType()),
                           uint64_t(i) * width);
        open = open ? b.CreateOr(open, part) : part;
      }
  } else {
    open = undefinedBits(from, type.totalBits());
  }
  setBits(instruction.operands[0], value, open);
  return true;
}

} // namespace dsflash::simt
