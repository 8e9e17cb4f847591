//===- Function.cpp - Frames, basic blocks and predicates -----------------===//

#include "Translator.h"

#include "llvm/ADT/BitVector.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;
using ptx::Operand;

std::vector<uint32_t> parameterOffsets(const ptx::Function &function) {
  std::vector<uint32_t> offsets;
  uint32_t offset = 0;
  for (unsigned i = 0; i < function.parameters; ++i) {
    const ptx::Variable &parameter = function.variables[i];
    offset = uint32_t(alignTo(offset, parameter.alignment));
    offsets.push_back(offset);
    offset += uint32_t(parameter.bytes);
  }
  offsets.push_back(offset);
  return offsets;
}

const std::unordered_map<std::string_view, Translator::Entry> &
Translator::handlers() {
  using Class = InstructionClass;
  using T = Translator;
  static const std::unordered_map<std::string_view, Entry> table = {
#define DSFLASH_SIMT_OPCODE(opcode, handler, kind)                             \
  {opcode, {&T::handler, Class::kind}},
#include "Opcodes.def"
  };
  return table;
}

Translator::Translator(KernelTranslation &kernel, const ptx::Function &source)
    : kernel(kernel), source(source), b(kernel.llvm.getContext()) {}

void Translator::fail(const Instruction &instruction, const std::string &why) {
  kernel.errors.add(
      kernel.ptx.name + ":" + std::to_string(instruction.location.line), why);
}

// Arguments of a kernel lie in one buffer; a function gets a pointer for each
// parameter and result.
void Translator::createFrame() {
  context = target->getArg(0);
  mayBeUndefined.assign(source.registers.size(), false);
  if (kernel.instrumented)
    findUndefinedRegisters();
  for (auto [i, reg] : llvm::enumerate(source.registers)) {
    registers.push_back(b.CreateAlloca(intType(reg.type.bits)));
    shadows.push_back(mayBeUndefined[i] ? b.CreateAlloca(intType(reg.type.bits))
                                        : nullptr);
    if (shadows.back()) {
      b.CreateStore(ConstantInt::getAllOnesValue(intType(reg.type.bits)),
                    shadows.back());
      // Bits of the same kind at every run.
      b.CreateStore(ConstantInt::getAllOnesValue(intType(reg.type.bits)),
                    registers.back());
    }
  }
  carry = b.CreateAlloca(b.getInt1Ty());
  std::vector<uint32_t> offsets;
  if (source.isKernel)
    offsets = parameterOffsets(source);
  for (auto [i, variable] : llvm::enumerate(source.variables)) {
    if (i < source.parameters + source.results) {
      variables.push_back(
          source.isKernel ? b.CreateConstGEP1_64(b.getInt8Ty(),
                                                 target->getArg(1), offsets[i])
                          : target->getArg(unsigned(i) + 1));
      continue;
    }
    AllocaInst *storage = b.CreateAlloca(
        ArrayType::get(b.getInt8Ty(), std::max<uint64_t>(variable.bytes, 1)));
    storage->setAlignment(Align(std::max(variable.alignment, 16u)));
    variables.push_back(storage);
  }
  shared = b.CreateLoad(b.getInt64Ty(),
                        b.CreateConstGEP1_64(b.getInt8Ty(), context,
                                             offsetof(ThreadContext, shared)));
}

void Translator::createBlocks() {
  auto add = [&](size_t position) {
    BasicBlock *&block = blocks[position];
    if (!block)
      block = BasicBlock::Create(b.getContext(), "", target);
  };
  for (const ptx::Label &label : source.labels)
    add(label.position);
  add(source.instructions.size());
}

void Translator::startBlock(BasicBlock *block) {
  if (!b.GetInsertBlock()->getTerminator())
    b.CreateBr(block);
  b.SetInsertPoint(block);
  if (!kernel.instrumented)
    return;
  basicBlock = unsigned(kernel.info.basicBlocks.size());
  kernel.info.basicBlocks.emplace_back();
  Value *counts = b.CreateLoad(
      b.getPtrTy(), b.CreateConstGEP1_64(b.getInt8Ty(), context,
                                         offsetof(ThreadContext, executed)));
  Value *count = b.CreateConstGEP1_64(b.getInt64Ty(), counts, basicBlock);
  b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt64Ty(), count), b.getInt64(1)),
                count);
}

void Translator::count(InstructionClass kind) {
  if (!kernel.instrumented)
    return;
  ++kernel.info.basicBlocks[basicBlock].instructions[size_t(kind)];
}

BasicBlock *Translator::blockOf(const Operand &label) {
  return blocks[source.labels[label.index].position];
}

void Translator::translate(const Instruction &instruction) {
  auto entry = handlers().find(instruction.parts.front());
  Modifiers modifiers(instruction.parts);
  undefined = nullptr;
  current = &instruction;
  BasicBlock *behind = nullptr;
  if (instruction.predicate >= 0) {
    Operand predicate;
    predicate.kind = Operand::Kind::Register;
    predicate.index = unsigned(instruction.predicate);
    predicate.negated = instruction.negated;
    Value *condition = usePredicate(predicate);
    requireDefined("a predicate");
    BasicBlock *guarded = BasicBlock::Create(b.getContext(), "", target);
    behind = BasicBlock::Create(b.getContext(), "", target);
    count(InstructionClass::Move);
    b.CreateCondBr(condition, guarded, behind);
    startBlock(guarded);
  }
  size_t before = kernel.errors.faults().size();
  bool known = entry != handlers().end();
  if (known) {
    bool isFloat = ptx::parseType(instruction.parts.back()).isFloat();
    InstructionClass kind = entry->second.kind;
    count(kind == InstructionClass::Integer && isFloat ? InstructionClass::Float
                                                       : kind);
    known = (this->*entry->second.handler)(instruction, modifiers) &&
            modifiers.empty();
  }
  if (!known && kernel.errors.faults().size() == before)
    fail(instruction, "'" + instruction.opcode + "' is not modelled");
  if (behind)
    startBlock(behind);
  else if (b.GetInsertBlock()->getTerminator())
    startBlock(BasicBlock::Create(b.getContext(), "", target));
}

void Translator::run(Function *into) {
  target = into;
  b.SetInsertPoint(BasicBlock::Create(b.getContext(), "entry", target));
  createFrame();
  createBlocks();
  startBlock(BasicBlock::Create(b.getContext(), "", target));
  for (position = 0; position < source.instructions.size(); ++position) {
    if (auto block = blocks.find(position); block != blocks.end())
      startBlock(block->second);
    translate(source.instructions[position]);
  }
  startBlock(blocks[source.instructions.size()]);
  b.CreateRetVoid();
}

// A register may be undefined where some way to a use does not write it, or
// where it was computed from such a register.
void Translator::findUndefinedRegisters() {
  size_t count = source.registers.size();
  size_t end = source.instructions.size();
  auto forEachUse = [](const Instruction &instruction, bool results,
                       auto &&visit) {
    static const std::vector<std::string_view> withoutResult = {
        "bar", "barrier", "brx", "bra", "nanosleep", "st", "red"};
    bool hasResult =
        llvm::find(withoutResult, instruction.parts.front()) ==
            withoutResult.end() ||
        (instruction.parts.size() > 1 && instruction.parts[1] == "red");
    auto walk = [&](auto &&self, const Operand &operand) -> void {
      if (operand.kind == Operand::Kind::Register)
        visit(operand.index);
      for (const Operand &element : operand.elements)
        self(self, element);
    };
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const Operand &operand = instruction.operands[i];
      bool isResult =
          i == 0 && hasResult && operand.kind != Operand::Kind::Address;
      if (isResult == results)
        walk(walk, operand);
    }
    if (!results && instruction.predicate >= 0)
      visit(unsigned(instruction.predicate));
  };

  // Registers that are written on every way to an instruction.
  std::vector<BitVector> written(end + 1, BitVector(unsigned(count), true));
  written[0].reset();
  auto successors = [&](size_t at, auto &&visit) {
    const Instruction &instruction = source.instructions[at];
    const std::string &opcode = instruction.parts.front();
    auto label = [&](unsigned index) { visit(source.labels[index].position); };
    if (opcode == "bra" && !instruction.operands.empty() &&
        instruction.operands[0].kind == Operand::Kind::Label)
      label(instruction.operands[0].index);
    if (opcode == "brx" && instruction.operands.size() == 2 &&
        instruction.operands[1].kind == Operand::Kind::Targets)
      for (unsigned index : source.targets[instruction.operands[1].index])
        label(index);
    bool leaves = opcode == "bra" || opcode == "brx" || opcode == "ret" ||
                  opcode == "exit" || opcode == "trap";
    if (!leaves || instruction.predicate >= 0)
      visit(at + 1);
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t at = 0; at < end; ++at) {
      BitVector behind = written[at];
      if (source.instructions[at].predicate < 0)
        forEachUse(source.instructions[at], true,
                   [&](unsigned index) { behind.set(index); });
      successors(at, [&](size_t next) {
        if (!written[next].test(behind)) // some bit of `next` is not in it
          return;
        written[next] &= behind;
        changed = true;
      });
    }
  }
  for (size_t at = 0; at < end; ++at)
    forEachUse(source.instructions[at], false, [&](unsigned index) {
      if (!written[at].test(index))
        mayBeUndefined[index] = true;
    });
  changed = llvm::is_contained(mayBeUndefined, true);
  while (changed) {
    changed = false;
    for (const Instruction &instruction : source.instructions) {
      bool tainted = false;
      forEachUse(instruction, false,
                 [&](unsigned index) { tainted |= mayBeUndefined[index]; });
      if (tainted)
        forEachUse(instruction, true, [&](unsigned index) {
          changed |= !mayBeUndefined[index];
          mayBeUndefined[index] = true;
        });
    }
  }
}

} // namespace dsflash::simt
