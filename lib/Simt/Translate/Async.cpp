//===- Async.cpp - cp.async, mbarrier (PTX ISA 9.7.9.25, 9.7.13.15) -------===//

#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;
using ptx::Operand;

bool Translator::copyAsync(const Instruction &instruction,
                           Modifiers &modifiers) {
  const std::vector<Operand> &operands = instruction.operands;
  if (!modifiers.take("async"))
    return false;
  bool bulk = modifiers.take("bulk");
  Value *at = siteValue(instruction), *bulkValue = b.getInt32(bulk);
  if (modifiers.take("commit_group")) {
    callRuntime("simt_copy_commit", b.getVoidTy(), {context, bulkValue});
    return operands.empty();
  }
  bool all = modifiers.take("wait_all");
  if (all || modifiers.take("wait_group")) {
    modifiers.take("read");
    if (!all && operands.size() != 1)
      return false;
    callRuntime("simt_copy_wait", b.getVoidTy(),
                {context, bulkValue, all ? b.getInt32(0) : use(operands[0], 32),
                 b.getInt32(all)});
    return true;
  }
  if (modifiers.take("mbarrier")) {
    bool noIncrement = modifiers.take("noinc");
    modifiers.take("shared");
    modifiers.take("shared::cta");
    if (!modifiers.take("arrive") || !modifiers.takeType() ||
        operands.size() != 1)
      return false;
    callWaiting("simt_copy_arrive", b.getVoidTy(),
                {context, at, address(operands[0]), b.getInt32(noIncrement)});
    return true;
  }
  modifiers.dropPrefixed("L2::");
  modifiers.take("ca");
  modifiers.take("cg");
  if (bulk)
    return copyBulk(instruction, modifiers);
  if ((!modifiers.take("shared") && !modifiers.take("shared::cta")) ||
      !modifiers.take("global") || operands.size() < 3 ||
      operands[2].kind != Operand::Kind::Integer)
    return false;
  Value *bytes = use(operands[2], 32);
  callRuntime("simt_copy_async", b.getVoidTy(),
              {context, at, address(operands[0]), address(operands[1]), bytes,
               operands.size() > 3 ? use(operands[3], 32) : bytes});
  return true;
}

// cp.async.bulk of bytes in one row, to or from shared memory.
bool Translator::copyBulk(const Instruction &instruction,
                          Modifiers &modifiers) {
  const std::vector<Operand> &operands = instruction.operands;
  Value *at = siteValue(instruction);
  if (operands.size() < 3)
    return false;
  Value *to = address(operands[0]), *from = address(operands[1]);
  Value *bytes = use(operands[2], 32);
  requireDefined("the size of a copy");
  if (modifiers.take("mbarrier::complete_tx::bytes")) {
    bool shared =
        modifiers.take("shared::cluster") || modifiers.take("shared::cta");
    if (!shared || !modifiers.take("global") || operands.size() < 4)
      return false;
    callWaiting("simt_bulk_load", b.getVoidTy(),
                {context, at, to, from, bytes, address(operands[3])});
    return true;
  }
  if (!modifiers.take("bulk_group") || !modifiers.take("global") ||
      !modifiers.take("shared::cta"))
    return false;
  callRuntime("simt_bulk_store", b.getVoidTy(), {context, at, to, from, bytes});
  return true;
}

bool Translator::mbarrier(const Instruction &instruction,
                          Modifiers &modifiers) {
  const std::vector<Operand> &operands = instruction.operands;
  Value *at = siteValue(instruction), *zero = b.getInt32(0);
  for (std::string_view part :
       {"shared", "shared::cta", "cta", "release", "acquire", "relaxed"})
    modifiers.take(part);
  if (!modifiers.take("b64"))
    modifiers.take("b32"); // pending_count has none of these
  if (modifiers.take("init") && operands.size() == 2) {
    callWaiting("simt_mbarrier_init", b.getVoidTy(),
                {context, at, address(operands[0]), use(operands[1], 32)});
    return true;
  }
  if (modifiers.take("inval") && operands.size() == 1) {
    callWaiting("simt_mbarrier_inval", b.getVoidTy(),
                {context, at, address(operands[0])});
    return true;
  }
  bool arrives = modifiers.take("arrive"),
       drops = modifiers.take("arrive_drop");
  bool expects = modifiers.take("expect_tx");
  if (arrives || drops || expects) {
    // The state comes first, but for a bare expect_tx and `_`-less forms.
    bool hasState = operands[0].kind != Operand::Kind::Address;
    size_t first = hasState ? 1 : 0;
    Value *operand =
        operands.size() > first + 1 ? use(operands[first + 1], 32) : nullptr;
    if (operands.size() <= first || (expects && !operand))
      return false;
    Value *count = !(arrives || drops)   ? zero
                   : !expects && operand ? operand
                                         : b.getInt32(1);
    Value *phase = callWaiting("simt_mbarrier_arrive", b.getInt64Ty(),
                               {context, at, address(operands[first]), count,
                                expects ? operand : zero, b.getInt32(drops)});
    if (hasState)
      set(operands[0], phase);
    return true;
  }
  if (modifiers.take("complete_tx") && operands.size() == 2) {
    callWaiting("simt_mbarrier_complete", b.getVoidTy(),
                {context, at, address(operands[0]), use(operands[1], 32)});
    return true;
  }
  bool tests = modifiers.take("test_wait"), tries = modifiers.take("try_wait");
  if (!(tests || tries) || operands.size() < 3)
    return false;
  bool parity = modifiers.take("parity");
  Value *done =
      callWaiting("simt_mbarrier_test", intType(32),
                  {context, at, address(operands[1]), use(operands[2], 64),
                   b.getInt32(parity), b.getInt32(1)});
  set(operands[0], b.CreateTrunc(done, b.getInt1Ty()));
  return true;
}

} // namespace dsflash::simt
