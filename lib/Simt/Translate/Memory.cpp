//===- Memory.cpp - Loads, stores and addresses (PTX ISA 9.7.9) -----------===//

#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;

static bool takeSpace(Modifiers &modifiers, Space &space) {
  static constexpr std::pair<std::string_view, Space> names[] = {
      {"global", Space::Global},      {"shared", Space::Shared},
      {"shared::cta", Space::Shared}, {"shared::cluster", Space::Shared},
      {"local", Space::Local},        {"const", Space::Const},
      {"param", Space::Param},        {"param::entry", Space::Param},
      {"param::func", Space::Param}};
  for (auto [name, value] : names)
    if (modifiers.take(name)) {
      space = value;
      return true;
    }
  return false;
}

// Order and scope of an access, hints of caches, space, vector and type.
bool Translator::parseMemory(Modifiers &modifiers, MemoryModifiers &memory) {
  takeSpace(modifiers, memory.space);
  for (std::string_view order :
       {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "sc"})
    memory.ordered |= modifiers.take(order);
  for (std::string_view ignored :
       {"weak", "cta", "gpu", "sys", "cluster", "nc", "ca", "cg", "cs", "lu",
        "cv", "wb", "wt", "noftz"})
    modifiers.take(ignored);
  modifiers.dropPrefixed("L1::");
  modifiers.dropPrefixed("L2::");
  std::string_view vector = modifiers.takeOneOf({"v2", "v4", "v8"});
  memory.vector = vector.empty() ? 1 : unsigned(vector[1] - '0');
  memory.type = modifiers.takeType();
  return bool(memory.type);
}

Value *Translator::address(const Operand &operand) {
  if (operand.kind != Operand::Kind::Address) {
    fail(*current, "an address is expected");
    return b.getInt64(0);
  }
  Value *base = use(operand.elements[0], 64);
  requireDefined("an address");
  return b.CreateAdd(base, b.getInt64(operand.value));
}

// Parameters, and the parameters and results of a call.
Value *Translator::parameterPointer(const Operand &operand) {
  const Operand &base = operand.elements[0];
  if (base.kind == Operand::Kind::Variable && base.local)
    return b.CreateConstGEP1_64(b.getInt8Ty(), variables[base.index],
                                operand.value);
  return b.CreateIntToPtr(address(operand), b.getPtrTy());
}

// Where an access of the host goes.
Value *Translator::pointer(const Instruction &instruction,
                           const Operand &operand, Space space, Access access,
                           unsigned bytes) {
  if (space == Space::Param)
    return parameterPointer(operand);
  Value *where = address(operand);
  if (kernel.instrumented && space != Space::Local)
    return callRuntime(
        "simt_access", b.getPtrTy(),
        {context, b.getInt32(site(instruction, space, access, bytes)), where});
  if (space == Space::Shared)
    where = b.CreateAdd(where, shared);
  return b.CreateIntToPtr(where, b.getPtrTy());
}

bool Translator::load(const Instruction &instruction, Modifiers &modifiers) {
  MemoryModifiers memory;
  if (!parseMemory(modifiers, memory) || instruction.operands.size() < 2)
    return false;
  const Operand &destination = instruction.operands[0];
  if ((destination.kind == Operand::Kind::Vector ? destination.elements.size()
                                                 : 1) != memory.vector)
    return false;
  IntegerType *type = intType(memory.type.totalBits());
  unsigned bytes = memory.type.totalBits() / 8;
  Value *from = pointer(instruction, instruction.operands[1], memory.space,
                        Access::Read, bytes * memory.vector);
  SmallVector<Value *> values;
  for (unsigned i = 0; i < memory.vector; ++i)
    values.push_back(b.CreateAlignedLoad(
        type, b.CreateConstGEP1_64(b.getInt8Ty(), from, uint64_t(i) * bytes),
        Align(1), memory.ordered));
  for (unsigned i = 0; i < memory.vector; ++i) {
    const Operand &element = destination.kind == Operand::Kind::Vector
                                 ? destination.elements[i]
                                 : destination;
    unsigned width = registerBits(element);
    set(element, memory.type.isSigned() && width > memory.type.bits
                     ? b.CreateSExt(values[i], intType(width))
                     : values[i]);
  }
  return true;
}

bool Translator::store(const Instruction &instruction, Modifiers &modifiers) {
  MemoryModifiers memory;
  modifiers.take("async");
  if (!parseMemory(modifiers, memory) || instruction.operands.size() < 2)
    return false;
  const Operand &origin = instruction.operands[1];
  bool isVector = origin.kind == Operand::Kind::Vector;
  if ((isVector ? origin.elements.size() : 1) != memory.vector)
    return false;
  unsigned bytes = memory.type.totalBits() / 8;
  SmallVector<Value *> values;
  for (unsigned i = 0; i < memory.vector; ++i) {
    const Operand &element = isVector ? origin.elements[i] : origin;
    values.push_back(memory.type.isFloat() && memory.type.bits >= 32 &&
                             element.kind == Operand::Kind::Float
                         ? asInt(useFloat(element, memory.type.bits))
                         : use(element, memory.type.totalBits()));
  }
  // What a call does not read may stay undefined.
  if (memory.space == Space::Param || memory.space == Space::Local)
    undefined = nullptr;
  requireDefined("a stored value");
  Value *to = pointer(instruction, instruction.operands[0], memory.space,
                      Access::Write, bytes * memory.vector);
  for (unsigned i = 0; i < memory.vector; ++i)
    b.CreateAlignedStore(
        values[i], b.CreateConstGEP1_64(b.getInt8Ty(), to, uint64_t(i) * bytes),
        Align(1), memory.ordered);
  return true;
}

// Generic addresses are those of the host: only shared memory differs.
bool Translator::convertAddress(const Instruction &instruction,
                                Modifiers &modifiers) {
  bool fromGeneric = modifiers.take("to");
  Space space = Space::Generic;
  if (!takeSpace(modifiers, space) || !modifiers.takeType() ||
      instruction.operands.size() != 2)
    return false;
  Value *where = use(instruction.operands[1], 64);
  if (space == Space::Shared)
    where =
        fromGeneric ? b.CreateSub(where, shared) : b.CreateAdd(where, shared);
  set(instruction.operands[0], where);
  return true;
}

bool Translator::isSpace(const Instruction &instruction, Modifiers &modifiers) {
  Space space = Space::Generic;
  if (!takeSpace(modifiers, space) || instruction.operands.size() != 2)
    return false;
  Value *where = use(instruction.operands[1], 64);
  set(instruction.operands[0],
      b.CreateTrunc(callRuntime("simt_is_space", intType(32),
                                {context, where, b.getInt32(uint32_t(space))}),
                    b.getInt1Ty()));
  return true;
}

// A cluster is one block: its shared window is the block's own.
bool Translator::mapAddress(const Instruction &instruction,
                            Modifiers &modifiers) {
  modifiers.take("shared::cluster");
  ptx::Type type = modifiers.takeType();
  if (!type || instruction.operands.size() != 3)
    return false;
  set(instruction.operands[0], use(instruction.operands[1], type.bits));
  return true;
}

bool Translator::prefetch(const Instruction &, Modifiers &modifiers) {
  while (!modifiers.takeAny().empty())
    ;
  return true;
}

// atom and red: op{.sem}{.scope}{.space}.op{.hint}.type.
bool Translator::atomic(const Instruction &instruction, Modifiers &modifiers) {
  static const std::map<std::string_view, AtomicRMWInst::BinOp> operations = {
      {"and", AtomicRMWInst::And},      {"or", AtomicRMWInst::Or},
      {"xor", AtomicRMWInst::Xor},      {"exch", AtomicRMWInst::Xchg},
      {"inc", AtomicRMWInst::UIncWrap}, {"dec", AtomicRMWInst::UDecWrap}};
  MemoryModifiers memory;
  if (!parseMemory(modifiers, memory) || memory.vector != 1)
    return false;
  std::string_view name = modifiers.takeAny();
  bool reduction = instruction.parts[0] == "red";
  unsigned bits = memory.type.totalBits(), first = reduction ? 0 : 1;
  if (instruction.operands.size() < first + (name == "cas" ? 3 : 2))
    return false;
  const Operand &where = instruction.operands[first];
  Value *operand = use(instruction.operands[first + 1], bits);
  Value *replacement =
      name == "cas" ? use(instruction.operands[first + 2], bits) : nullptr;
  requireDefined("an atomic operand");
  Value *to =
      pointer(instruction, where, memory.space, Access::Atomic, bits / 8);
  AtomicOrdering order = AtomicOrdering::SequentiallyConsistent;
  Value *old;
  if (name == "cas") {
    old = b.CreateExtractValue(b.CreateAtomicCmpXchg(to, operand, replacement,
                                                     MaybeAlign(bits / 8),
                                                     order, order),
                               0);
  } else if (memory.type.isFloat() &&
             (memory.type.bits == 16 || memory.type.lanes > 1)) {
    if (name != "add" || bits > 32)
      return false;
    old = b.CreateTrunc(callRuntime("simt_atomic_add16", intType(32),
                                    {to, b.CreateZExt(operand, intType(32)),
                                     b.getInt32(memory.type.kind == 'B'),
                                     b.getInt32(memory.type.lanes)}),
                        intType(bits));
  } else {
    AtomicRMWInst::BinOp operation;
    bool isSigned = memory.type.isSigned();
    if (auto known = operations.find(name); known != operations.end())
      operation = known->second;
    else if (name == "add")
      operation =
          memory.type.isFloat() ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
    else if (name == "min")
      operation = isSigned ? AtomicRMWInst::Min : AtomicRMWInst::UMin;
    else if (name == "max")
      operation = isSigned ? AtomicRMWInst::Max : AtomicRMWInst::UMax;
    else
      return false;
    if (operation == AtomicRMWInst::FAdd)
      operand = b.CreateBitCast(operand, floatType(memory.type));
    else if (memory.type.isFloat())
      return false;
    old =
        b.CreateAtomicRMW(operation, to, operand, MaybeAlign(bits / 8), order);
  }
  if (!reduction)
    set(instruction.operands[0], old);
  return true;
}

} // namespace dsflash::simt
