//===- Control.cpp - Branches, calls and barriers (PTX ISA 9.7.12, .13) ---===//

#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;
using ptx::Operand;

// A loop that never ends must be noticed.
void Translator::backwardBranch(const Operand &label) {
  if (kernel.instrumented && source.labels[label.index].position <= position)
    callRuntime("simt_backward_branch", b.getVoidTy(),
                {context, siteValue(*current)});
}

bool Translator::branch(const Instruction &instruction, Modifiers &modifiers) {
  modifiers.take("uni");
  if (instruction.operands.size() != 1 ||
      instruction.operands[0].kind != Operand::Kind::Label)
    return false;
  backwardBranch(instruction.operands[0]);
  b.CreateBr(blockOf(instruction.operands[0]));
  return true;
}

bool Translator::branchIndexed(const Instruction &instruction,
                               Modifiers &modifiers) {
  modifiers.take("uni");
  if (!modifiers.take("idx") || instruction.operands.size() != 2 ||
      instruction.operands[1].kind != Operand::Kind::Targets)
    return false;
  const std::vector<unsigned> &targets =
      source.targets[instruction.operands[1].index];
  Value *index = use(instruction.operands[0], 32);
  requireDefined("the index of a branch");
  BasicBlock *outside = BasicBlock::Create(b.getContext(), "", target);
  SwitchInst *choice = b.CreateSwitch(index, outside, unsigned(targets.size()));
  for (auto [i, label] : llvm::enumerate(targets))
    choice->addCase(b.getInt32(unsigned(i)),
                    blocks[source.labels[label].position]);
  b.SetInsertPoint(outside);
  callRuntime("simt_trap", b.getVoidTy(), {context, siteValue(instruction)});
  b.CreateUnreachable();
  return true;
}

// call{.uni} {(result),} function{, (parameters)}: both are variables of the
// caller, handed over by address.
bool Translator::call(const Instruction &instruction, Modifiers &modifiers) {
  modifiers.take("uni");
  static const std::vector<Operand> none;
  const std::vector<Operand> *results = &none, *parameters = &none;
  const Operand *callee = nullptr;
  for (const Operand &operand : instruction.operands) {
    if (operand.kind == Operand::Kind::List)
      (callee ? parameters : results) = &operand.elements;
    else if (callee)
      return false;
    else
      callee = &operand;
  }
  if (!callee || callee->kind != Operand::Kind::Function)
    return false;
  const ptx::Function &function = kernel.ptx.functions[callee->index];
  if (function.isDeclaration) {
    fail(instruction, "'" + function.name + "' is in no module");
    return true;
  }
  if (parameters->size() != function.parameters ||
      results->size() != function.results || function.isKernel)
    return false;
  SmallVector<Value *> arguments = {context};
  for (const auto *list : {parameters, results})
    for (const Operand &operand : *list) {
      if (operand.kind != Operand::Kind::Variable || !operand.local)
        return false;
      unsigned index = unsigned(arguments.size()) - 1;
      if (source.variables[operand.index].bytes <
          function.variables[index].bytes)
        return false;
      arguments.push_back(variables[operand.index]);
    }
  b.CreateCall(kernel.functions.at(&function), arguments);
  return true;
}

bool Translator::leave(const Instruction &instruction, Modifiers &modifiers) {
  modifiers.take("uni");
  if (instruction.parts[0] == "exit" && !source.isKernel) {
    callWaiting("simt_exit", b.getVoidTy(), {context});
    b.CreateUnreachable();
    return true;
  }
  b.CreateRetVoid();
  return true;
}

bool Translator::trap(const Instruction &instruction, Modifiers &) {
  callRuntime("simt_trap", b.getVoidTy(), {context, siteValue(instruction)});
  b.CreateUnreachable();
  return true;
}

// bar{.cta}.{sync,arrive,red} and barrier, bar.warp.sync, barrier.cluster (a
// cluster is one block).
bool Translator::barrier(const Instruction &instruction, Modifiers &modifiers) {
  modifiers.take("cta");
  bool warp = modifiers.take("warp"), cluster = modifiers.take("cluster");
  std::string_view action =
      modifiers.takeOneOf({"sync", "arrive", "red", "wait"});
  bool aligned = modifiers.take("aligned") || instruction.parts[0] == "bar";
  const std::vector<Operand> &operands = instruction.operands;
  Value *at = siteValue(instruction);
  if (warp) {
    if (operands.size() != 1 || action != "sync")
      return false;
    Value *members = use(operands[0], 32);
    requireDefined("the mask of a barrier");
    callWaiting("simt_warp_barrier", b.getVoidTy(), {context, at, members});
    return true;
  }
  if (cluster) {
    for (std::string_view order : {"acquire", "release", "relaxed"})
      modifiers.take(order);
    // Arrival waits too: no block can tell, as no other is in its cluster.
    if (action == "arrive")
      callWaiting("simt_barrier", b.getVoidTy(),
                  {context, at, b.getInt32(kClusterBarrier), b.getInt32(0),
                   b.getInt32(0)});
    return action == "arrive" || action == "wait";
  }
  if (action == "red") {
    std::string_view how = modifiers.takeOneOf({"popc", "and", "or"});
    modifiers.takeType();
    if (how.empty() || operands.size() < 3)
      return false;
    Value *count = operands.size() == 4 ? use(operands[2], 32) : b.getInt32(0);
    Value *predicate = usePredicate(operands.back());
    requireDefined("an operand of a barrier");
    Value *total = callWaiting("simt_barrier_reduce", intType(32),
                               {context, at, use(operands[1], 32), count,
                                b.CreateZExt(predicate, intType(32)),
                                b.getInt32(how == "popc"  ? 0
                                           : how == "and" ? 1
                                                          : 2)});
    set(operands[0],
        how == "popc" ? total : b.CreateTrunc(total, b.getInt1Ty()));
    return true;
  }
  if (operands.empty() || operands.size() > 2)
    return false;
  Value *number = use(operands[0], 32);
  Value *count = operands.size() == 2 ? use(operands[1], 32) : b.getInt32(0);
  requireDefined("an operand of a barrier");
  if (action == "arrive")
    callWaiting("simt_barrier_arrive", b.getVoidTy(),
                {context, at, number, count});
  else
    callWaiting("simt_barrier", b.getVoidTy(),
                {context, at, number, count, b.getInt32(aligned)});
  return action == "arrive" || action == "sync";
}

// Memory of the host is in order; the checks remember device-wide fences.
bool Translator::fence(const Instruction &, Modifiers &modifiers) {
  bool wide = !modifiers.takeOneOf({"gl", "sys", "gpu"}).empty();
  while (!modifiers.takeAny().empty())
    ;
  if (kernel.instrumented && wide)
    callRuntime("simt_fence", b.getVoidTy(), {context});
  return true;
}

bool Translator::ignore(const Instruction &, Modifiers &modifiers) {
  while (!modifiers.takeAny().empty())
    ;
  return true;
}

} // namespace dsflash::simt
