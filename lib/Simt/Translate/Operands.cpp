//===- Operands.cpp - Reads and writes of registers -----------------------===//

#include "Translator.h"

#include "llvm/ADT/bit.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Operand;

bool Modifiers::take(std::string_view part) {
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] != part)
      continue;
    rest.erase(rest.begin() + i);
    return true;
  }
  return false;
}

std::string_view
Modifiers::takeOneOf(std::initializer_list<std::string_view> parts) {
  for (std::string_view part : parts)
    if (take(part))
      return part;
  return {};
}

ptx::Type Modifiers::takeType() {
  for (size_t i = 0; i < rest.size(); ++i) {
    ptx::Type type = ptx::parseType(rest[i]);
    if (!type)
      continue;
    rest.erase(rest.begin() + i);
    return type;
  }
  return {};
}

std::string_view Modifiers::takeAny() {
  if (rest.empty())
    return {};
  std::string_view part = rest.front();
  rest.erase(rest.begin());
  return part;
}

void Modifiers::dropPrefixed(std::string_view prefix) {
  for (size_t i = 0; i < rest.size();)
    if (rest[i].substr(0, prefix.size()) == prefix)
      rest.erase(rest.begin() + i);
    else
      ++i;
}

Type *Translator::floatType(const ptx::Type &type) {
  return type.bits == 64 ? b.getDoubleTy() : b.getFloatTy();
}

unsigned Translator::registerBits(const Operand &operand) const {
  return operand.kind == Operand::Kind::Register
             ? source.registers[operand.index].type.bits
             : 0;
}

Value *Translator::contextField(size_t offset, unsigned bits) {
  return b.CreateLoad(intType(bits),
                      b.CreateConstGEP1_64(b.getInt8Ty(), context, offset));
}

Value *Translator::useSpecial(const Operand &operand) {
  static const std::map<std::string_view, size_t> fields = {
      {"%tid.x", offsetof(ThreadContext, tid)},
      {"%tid.y", offsetof(ThreadContext, tid) + 4},
      {"%tid.z", offsetof(ThreadContext, tid) + 8},
      {"%ntid.x", offsetof(ThreadContext, ntid)},
      {"%ntid.y", offsetof(ThreadContext, ntid) + 4},
      {"%ntid.z", offsetof(ThreadContext, ntid) + 8},
      {"%ctaid.x", offsetof(ThreadContext, ctaid)},
      {"%ctaid.y", offsetof(ThreadContext, ctaid) + 4},
      {"%ctaid.z", offsetof(ThreadContext, ctaid) + 8},
      {"%nctaid.x", offsetof(ThreadContext, nctaid)},
      {"%nctaid.y", offsetof(ThreadContext, nctaid) + 4},
      {"%nctaid.z", offsetof(ThreadContext, nctaid) + 8},
      {"%laneid", offsetof(ThreadContext, lane)},
      {"%warpid", offsetof(ThreadContext, warp)},
      {"%dynamic_smem_size", offsetof(ThreadContext, dynamicShared)},
      {"%total_smem_size", offsetof(ThreadContext, totalShared)}};
  // A grid is one cluster a block on one multiprocessor.
  static const std::map<std::string_view, uint32_t> constants = {
      {"%smid", 0},
      {"%nsmid", 1},
      {"%gridid", 0},
      {"WARP_SZ", kWarpSize},
      {"%cluster_ctarank", 0},
      {"%cluster_nctarank", 1},
      {"%cluster_ctaid.x", 0},
      {"%cluster_ctaid.y", 0},
      {"%cluster_ctaid.z", 0},
      {"%cluster_nctaid.x", 1},
      {"%cluster_nctaid.y", 1},
      {"%cluster_nctaid.z", 1}};
  std::string_view name = operand.name;
  if (auto field = fields.find(name); field != fields.end())
    return contextField(field->second, 32);
  if (auto constant = constants.find(name); constant != constants.end())
    return b.getInt32(constant->second);
  if (name == "%clock" || name == "%clock64" || name == "%globaltimer")
    return callRuntime("simt_clock", b.getInt64Ty(), {});
  Value *lane = contextField(offsetof(ThreadContext, lane), 32);
  Value *bit = b.CreateShl(b.getInt32(1), lane);
  Value *below = b.CreateSub(bit, b.getInt32(1));
  if (name == "%lanemask_eq")
    return bit;
  if (name == "%lanemask_lt")
    return below;
  if (name == "%lanemask_le")
    return b.CreateOr(below, bit);
  if (name == "%lanemask_ge")
    return b.CreateNot(below);
  if (name == "%lanemask_gt")
    return b.CreateNot(b.CreateOr(below, bit));
  if (name == "%nwarpid")
    return b.CreateUDiv(
        b.CreateAdd(
            b.CreateMul(
                contextField(offsetof(ThreadContext, ntid), 32),
                b.CreateMul(
                    contextField(offsetof(ThreadContext, ntid) + 4, 32),
                    contextField(offsetof(ThreadContext, ntid) + 8, 32))),
            b.getInt32(kWarpSize - 1)),
        b.getInt32(kWarpSize));
  return nullptr;
}

Value *Translator::useVariable(const Operand &operand) {
  if (operand.local)
    return b.CreateAdd(
        b.CreatePtrToInt(variables[operand.index], b.getInt64Ty()),
        b.getInt64(operand.value));
  return b.getInt64(kernel.variables[operand.index] + operand.value);
}

Value *Translator::undefinedBits(const Operand &operand, unsigned bits) {
  if (operand.kind != Operand::Kind::Register || !shadows[operand.index])
    return nullptr;
  return b.CreateZExtOrTrunc(
      b.CreateLoad(intType(registerBits(operand)), shadows[operand.index]),
      intType(bits));
}

Value *Translator::use(const Operand &operand, unsigned bits) {
  Value *value = nullptr;
  switch (operand.kind) {
  case Operand::Kind::Register: {
    if (Value *open = undefinedBits(operand, registerBits(operand))) {
      Value *any = b.CreateIsNotNull(open);
      undefined = undefined ? b.CreateOr(undefined, any) : any;
    }
    value =
        b.CreateLoad(intType(registerBits(operand)), registers[operand.index]);
    if (operand.negated)
      value = b.CreateNot(value);
    break;
  }
  case Operand::Kind::Integer:
    value = ConstantInt::get(intType(bits), operand.value, false, true);
    break;
  case Operand::Kind::Float:
    value = ConstantInt::get(intType(8 * operand.bytes), operand.value);
    break;
  case Operand::Kind::Variable:
    value = useVariable(operand);
    break;
  case Operand::Kind::Special:
    value = useSpecial(operand);
    break;
  case Operand::Kind::Vector: {
    // Packed, the first element lowest.
    unsigned width = bits / unsigned(operand.elements.size());
    value = ConstantInt::get(intType(bits), 0);
    for (auto [i, element] : llvm::enumerate(operand.elements))
      value = b.CreateOr(
          value, b.CreateShl(b.CreateZExt(use(element, width), intType(bits)),
                             uint64_t(i) * width));
    return value;
  }
  default:
    break;
  }
  if (!value) {
    fail(*current, "operand '" + operand.name + "' is not known here");
    return ConstantInt::get(intType(bits), 0);
  }
  return b.CreateZExtOrTrunc(value, intType(bits));
}

Value *Translator::useFloat(const Operand &operand, unsigned bits) {
  // A literal of the other precision is a number, not bits.
  if (operand.kind == Operand::Kind::Float && 8 * operand.bytes != bits) {
    Type *type = bits == 64 ? b.getDoubleTy() : b.getFloatTy();
    APFloat number(bits == 64
                       ? double(llvm::bit_cast<float>(uint32_t(operand.value)))
                       : llvm::bit_cast<double>(operand.value));
    bool lost;
    number.convert(type->getFltSemantics(), APFloat::rmNearestTiesToEven,
                   &lost);
    return ConstantFP::get(type, number);
  }
  return b.CreateBitCast(use(operand, bits),
                         bits == 64 ? b.getDoubleTy() : b.getFloatTy());
}

Value *Translator::usePredicate(const Operand &operand) {
  return use(operand, 1);
}

Value *Translator::asInt(Value *value) {
  if (value->getType()->isPointerTy())
    return b.CreatePtrToInt(value, b.getInt64Ty());
  return b.CreateBitCast(value,
                         intType(value->getType()->getPrimitiveSizeInBits()));
}

void Translator::setBits(const Operand &operand, Value *value,
                         Value *undefined) {
  if (operand.kind == Operand::Kind::Sink)
    return;
  if (operand.kind == Operand::Kind::Vector) {
    unsigned bits = value->getType()->getIntegerBitWidth();
    unsigned width = bits / unsigned(operand.elements.size());
    for (size_t i = 0; i < operand.elements.size(); ++i) {
      auto part = [&](Value *whole) {
        return b.CreateTrunc(b.CreateLShr(whole, uint64_t(i) * width),
                             intType(width));
      };
      setBits(operand.elements[i], part(value),
              undefined ? part(undefined) : nullptr);
    }
    return;
  }
  if (operand.kind != Operand::Kind::Register) {
    fail(*current, "a result is no register");
    return;
  }
  IntegerType *type = intType(registerBits(operand));
  b.CreateStore(b.CreateZExtOrTrunc(value, type), registers[operand.index]);
  if (AllocaInst *shadow = shadows[operand.index])
    b.CreateStore(undefined ? b.CreateZExtOrTrunc(undefined, type)
                            : ConstantInt::get(type, 0),
                  shadow);
}

void Translator::set(const Operand &operand, Value *value) {
  value = asInt(value);
  setBits(operand, value,
          undefined ? b.CreateSExt(undefined, value->getType()) : nullptr);
}

// Undefined bits reach memory, an address or a branch: that is the fault.
void Translator::requireDefined(const char *what) {
  if (!undefined)
    return;
  callRuntime("simt_undefined", b.getVoidTy(),
              {context, siteValue(*current),
               b.CreateZExt(undefined, intType(32)),
               b.CreateGlobalString(what)});
  undefined = nullptr;
}

Value *Translator::callRuntime(const char *name, Type *result,
                               ArrayRef<Value *> arguments) {
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  FunctionCallee callee = kernel.llvm.getOrInsertFunction(
      name, FunctionType::get(result, types, false));
  return b.CreateCall(callee, arguments);
}

// Operands of a warp instruction, for the lane that executes it for all.
Value *Translator::stackArray(ArrayRef<Value *> values) {
  IRBuilder<> entry(&target->getEntryBlock(), target->getEntryBlock().begin());
  Type *type = ArrayType::get(b.getInt32Ty(), values.size());
  Value *array = entry.CreateAlloca(type);
  for (auto [i, value] : llvm::enumerate(values))
    b.CreateStore(value, b.CreateConstGEP2_32(type, array, 0, unsigned(i)));
  return array;
}

unsigned Translator::site(const ptx::Instruction &instruction, ptx::Space space,
                          Access access, unsigned bytes) {
  kernel.info.sites.push_back({&source, &instruction, space, access, bytes});
  return unsigned(kernel.info.sites.size()) - 1;
}

} // namespace dsflash::simt
