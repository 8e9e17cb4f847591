//===- Warp.cpp - Exchanges within a warp (PTX ISA 9.7.9.6, 9.7.13) -------===//

#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;
using ptx::Operand;

// shfl.sync.mode.b32 d|p, a, b, c, mask.
bool Translator::shuffle(const Instruction &instruction, Modifiers &modifiers) {
  static constexpr std::string_view modes[] = {"up", "down", "bfly", "idx"};
  bool sync = modifiers.take("sync");
  std::string_view mode = modifiers.takeOneOf({"up", "down", "bfly", "idx"});
  const std::vector<Operand> &operands = instruction.operands;
  if (!sync || mode.empty() || modifiers.takeType().bits != 32 ||
      operands.size() != 5)
    return false;
  Value *values[4];
  for (unsigned i = 0; i < 4; ++i)
    values[i] = use(operands[i + 1], 32);
  requireDefined("an operand of a shuffle");
  Value *result = callWaiting(
      "simt_shuffle", intType(64),
      {context, siteValue(instruction), values[3], values[0], values[1],
       values[2], b.getInt32(uint32_t(llvm::find(modes, mode) - modes))});
  bool pair = operands[0].kind == Operand::Kind::Pair;
  set(pair ? operands[0].elements[0] : operands[0],
      b.CreateTrunc(result, intType(32)));
  if (pair)
    set(operands[0].elements[1],
        b.CreateTrunc(b.CreateLShr(result, 32), b.getInt1Ty()));
  return true;
}

// vote.sync.{all,any,uni}.pred and .ballot.b32.
bool Translator::vote(const Instruction &instruction, Modifiers &modifiers) {
  bool sync = modifiers.take("sync");
  std::string_view mode = modifiers.takeOneOf({"all", "any", "uni", "ballot"});
  if (!sync || mode.empty() || !modifiers.takeType() ||
      instruction.operands.size() != 3)
    return false;
  Value *predicate = usePredicate(instruction.operands[1]);
  Value *members = use(instruction.operands[2], 32);
  requireDefined("an operand of a vote");
  Value *ballot = callWaiting("simt_ballot", intType(32),
                              {context, siteValue(instruction), members,
                               b.CreateZExt(predicate, intType(32))});
  Value *isAll = b.CreateICmpEQ(ballot, members);
  Value *isNone = b.CreateIsNull(ballot);
  set(instruction.operands[0], mode == "ballot" ? ballot
                               : mode == "all"  ? isAll
                               : mode == "any"  ? b.CreateNot(isNone)
                                                : b.CreateOr(isAll, isNone));
  return true;
}

// match.any.sync, match.all.sync d|p.
bool Translator::match(const Instruction &instruction, Modifiers &modifiers) {
  bool sync = modifiers.take("sync"), all = modifiers.take("all");
  bool any = modifiers.take("any");
  ptx::Type type = modifiers.takeType();
  const std::vector<Operand> &operands = instruction.operands;
  if (!sync || all == any || !type || operands.size() != 3)
    return false;
  Value *value = b.CreateZExt(use(operands[1], type.bits), intType(64));
  Value *members = use(operands[2], 32);
  requireDefined("an operand of a match");
  Value *result = callWaiting(
      "simt_match", intType(32),
      {context, siteValue(instruction), members, value, b.getInt32(all)});
  bool pair = operands[0].kind == Operand::Kind::Pair;
  set(pair ? operands[0].elements[0] : operands[0], result);
  if (pair)
    set(operands[0].elements[1], b.CreateIsNotNull(result));
  return true;
}

// redux.sync.op.type.
bool Translator::reduce(const Instruction &instruction, Modifiers &modifiers) {
  static constexpr std::string_view names[] = {"add", "min", "max",
                                               "and", "or",  "xor"};
  bool sync = modifiers.take("sync");
  std::string_view name =
      modifiers.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  ptx::Type type = modifiers.takeType();
  if (!sync || name.empty() || type.bits != 32 || type.isFloat() ||
      instruction.operands.size() != 3)
    return false;
  Value *value = use(instruction.operands[1], 32);
  Value *members = use(instruction.operands[2], 32);
  requireDefined("an operand of a reduction");
  set(instruction.operands[0],
      callWaiting("simt_reduce", intType(32),
                  {context, siteValue(instruction), members, value,
                   b.getInt32(uint32_t(llvm::find(names, name) - names)),
                   b.getInt32(type.isSigned())}));
  return true;
}

bool Translator::activeMask(const Instruction &instruction,
                            Modifiers &modifiers) {
  if (!modifiers.takeType() || instruction.operands.size() != 1)
    return false;
  set(instruction.operands[0],
      callRuntime("simt_active_mask", intType(32), {context}));
  return true;
}

// elect.sync d|p, mask: the lowest lane of the mask.
bool Translator::elect(const Instruction &instruction, Modifiers &modifiers) {
  const std::vector<Operand> &operands = instruction.operands;
  if (!modifiers.take("sync") || operands.size() != 2 ||
      operands[0].kind != Operand::Kind::Pair)
    return false;
  Value *members = use(operands[1], 32);
  requireDefined("the mask of an election");
  callWaiting("simt_ballot", intType(32),
              {context, siteValue(instruction), members, b.getInt32(1)});
  Value *leader =
      b.CreateBinaryIntrinsic(Intrinsic::cttz, members, b.getFalse());
  set(operands[0].elements[0], leader);
  set(operands[0].elements[1],
      b.CreateICmpEQ(leader, contextField(offsetof(ThreadContext, lane), 32)));
  return true;
}

} // namespace dsflash::simt
