//===- Matrix.cpp - ldmatrix, stmatrix, mma.sync (PTX ISA 9.7.14) ---------===//

#include "Translator.h"

using namespace llvm;

namespace dsflash::simt {

using ptx::Instruction;
using ptx::Operand;

// {ld,st}matrix.sync.aligned.m8n8.num{.trans}{.shared}.b16.
bool Translator::matrixAccess(const Instruction &instruction,
                              Modifiers &modifiers) {
  bool loads = instruction.parts[0] == "ldmatrix";
  bool shape = modifiers.take("sync") && modifiers.take("aligned") &&
               modifiers.take("m8n8");
  std::string_view number = modifiers.takeOneOf({"x1", "x2", "x4"});
  bool transposed = modifiers.take("trans");
  bool shared = modifiers.take("shared") || modifiers.take("shared::cta");
  if (!shape || number.empty() || !modifiers.take("b16") ||
      instruction.operands.size() != 2)
    return false;
  unsigned count = number[1] - '0';
  const Operand &registers = instruction.operands[loads ? 0 : 1];
  if (registers.kind != Operand::Kind::Vector ||
      registers.elements.size() != count)
    return false;
  Value *where = address(instruction.operands[loads ? 1 : 0]);
  SmallVector<Value *> values;
  for (const Operand &element : registers.elements)
    values.push_back(loads ? b.getInt32(0) : use(element, 32));
  requireDefined("a stored value");
  Value *array = stackArray(values);
  callWaiting("simt_move_matrix", b.getVoidTy(),
              {context, siteValue(instruction), where, b.getInt32(count),
               b.getInt32(transposed), b.getInt32(!shared), b.getInt32(!loads),
               array});
  for (unsigned i = 0; loads && i < count; ++i)
    set(registers.elements[i],
        b.CreateLoad(intType(32), b.CreateConstGEP1_32(intType(32), array, i)));
  return true;
}

// mma.sync.aligned.m16n8kK.row.col.d.a.b.c.
bool Translator::multiplyMatrix(const Instruction &instruction,
                                Modifiers &modifiers) {
  static constexpr std::string_view names[] = {"bf16", "f16", "e4m3",
                                               "e5m2", "s8",  "u8"};
  bool form = modifiers.take("sync") && modifiers.take("aligned") &&
              modifiers.take("row") && modifiers.take("col");
  modifiers.take("kind::f8f6f4");
  std::string_view shape =
      modifiers.takeOneOf({"m16n8k8", "m16n8k16", "m16n8k32"});
  std::string_view to = modifiers.takeAny(), left = modifiers.takeAny(),
                   right = modifiers.takeAny(), from = modifiers.takeAny();
  auto typeA = uint32_t(llvm::find(names, left) - names);
  auto typeB = uint32_t(llvm::find(names, right) - names);
  bool isInteger = typeA >= 4;
  if (!form || shape.empty() || typeA > 5 || typeB > 5 || to != from ||
      to != (isInteger ? "s32" : "f32") || isInteger != (typeB >= 4) ||
      (typeA < 2 && left != right) || instruction.operands.size() != 4)
    return false;
  unsigned depth = shape == "m16n8k8" ? 8 : shape == "m16n8k16" ? 16 : 32;
  unsigned each = typeA < 2 ? 2 : 4;
  unsigned registersA = depth / (2 * each), registersB = depth / (4 * each);
  if ((each == 2 && depth == 32) || (each == 4 && depth == 8))
    return false;
  const unsigned sizes[] = {4, registersA, registersB, 4};
  SmallVector<Value *> values;
  for (unsigned i = 0; i < 4; ++i) {
    const Operand &operand = instruction.operands[i];
    bool single = operand.kind != Operand::Kind::Vector;
    if ((single ? 1 : operand.elements.size()) != sizes[i])
      return false;
    for (unsigned j = 0; i > 0 && j < sizes[i]; ++j)
      values.push_back(use(single ? operand : operand.elements[j], 32));
  }
  requireDefined("an operand of mma");
  Value *results = stackArray(SmallVector<Value *>(4, b.getInt32(0)));
  callWaiting("simt_multiply_matrix", b.getVoidTy(),
              {context, siteValue(instruction), b.getInt32(depth),
               b.getInt32(typeA), b.getInt32(typeB), b.getInt32(isInteger),
               stackArray(values), results});
  for (unsigned i = 0; i < 4; ++i)
    set(instruction.operands[0].elements[i],
        b.CreateLoad(intType(32),
                     b.CreateConstGEP1_32(intType(32), results, i)));
  // Of the whole warp, shared among its lanes.
  if (kernel.instrumented)
    kernel.info.basicBlocks[basicBlock].tensorFlops +=
        2 * 16 * 8 * depth / kWarpSize;
  return true;
}

} // namespace dsflash::simt
