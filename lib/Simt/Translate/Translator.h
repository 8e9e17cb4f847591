//===- Translator.h - A PTX function to LLVM IR -----------------*- C++ -*-===//
//
// A register is an alloca of its width, a label a basic block; LLVM makes SSA
// of it. What needs other threads, or is long, calls the runtime by name.
//
// Instrumented code also hands every access to the runtime, counts its basic
// blocks and carries for registers that may be read before they are written a
// second register of undefined bits.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SIMT_TRANSLATOR_H
#define DSFLASH_SIMT_TRANSLATOR_H

#include "../Runtime/Context.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <unordered_map>

namespace dsflash::simt {

/// The parts of an opcode that are not used up yet. What is left at the end is
/// not modelled.
class Modifiers {
public:
  explicit Modifiers(const std::vector<std::string> &parts)
      : rest(parts.begin() + 1, parts.end()) {}

  bool take(std::string_view part);
  /// The first of these that is there; empty if none is.
  std::string_view takeOneOf(std::initializer_list<std::string_view> parts);
  /// The first part that is a type.
  ptx::Type takeType();
  /// The first part.
  std::string_view takeAny();
  /// Drops every part that begins so: hints of caches.
  void dropPrefixed(std::string_view prefix);
  bool empty() const { return rest.empty(); }

private:
  std::vector<std::string_view> rest;
};

/// What functions of one kernel share.
struct KernelTranslation {
  const ptx::Module &ptx;
  llvm::Module &llvm;
  bool instrumented;
  /// Addresses of `.global` and `.const` variables, offsets of `.shared` ones.
  const std::vector<uint64_t> &variables;
  KernelCodeInfo &info;
  Status &errors;
  std::unordered_map<const ptx::Function *, llvm::Function *> functions;
};

/// Offset of each parameter and the size of all.
std::vector<uint32_t> parameterOffsets(const ptx::Function &function);

class Translator {
public:
  Translator(KernelTranslation &kernel, const ptx::Function &source);
  /// Adds everything that is not modelled to the errors.
  void run(llvm::Function *target);

private:
  using Handler = bool (Translator::*)(const ptx::Instruction &, Modifiers &);
  struct Entry {
    Handler handler;
    InstructionClass kind;
  };
  static const std::unordered_map<std::string_view, Entry> &handlers();

  // Frame and control flow (Function.cpp).
  void createFrame();
  void createBlocks();
  void startBlock(llvm::BasicBlock *block);
  void translate(const ptx::Instruction &instruction);
  void fail(const ptx::Instruction &instruction, const std::string &why);
  llvm::BasicBlock *blockOf(const ptx::Operand &label);
  void count(InstructionClass kind);
  void backwardBranch(const ptx::Operand &label);

  // Operands (Operands.cpp).
  llvm::IntegerType *intType(unsigned bits) { return b.getIntNTy(bits); }
  llvm::Type *floatType(const ptx::Type &type);
  unsigned registerBits(const ptx::Operand &operand) const;
  /// The bits of an operand, cut or zero-extended to a width.
  llvm::Value *use(const ptx::Operand &operand, unsigned bits);
  /// The value of an f32 or f64 operand.
  llvm::Value *useFloat(const ptx::Operand &operand, unsigned bits);
  llvm::Value *useSpecial(const ptx::Operand &operand);
  llvm::Value *useVariable(const ptx::Operand &operand);
  llvm::Value *usePredicate(const ptx::Operand &operand);
  /// Undefined bits of a register, null if there can be none.
  llvm::Value *undefinedBits(const ptx::Operand &operand, unsigned bits);
  /// Writes a register; an integer narrower than it is zero-extended.
  void set(const ptx::Operand &operand, llvm::Value *value);
  void setBits(const ptx::Operand &operand, llvm::Value *value,
               llvm::Value *undefined);
  void requireDefined(const char *what);
  llvm::Value *contextField(size_t offset, unsigned bits);
  llvm::Value *callRuntime(const char *name, llvm::Type *result,
                           llvm::ArrayRef<llvm::Value *> arguments);
  /// The same for a call that may wait for other threads.
  llvm::Value *callWaiting(const char *name, llvm::Type *result,
                           llvm::ArrayRef<llvm::Value *> arguments) {
    kernel.info.needsFibers = true;
    return callRuntime(name, result, arguments);
  }
  llvm::Value *asInt(llvm::Value *value);
  llvm::Value *stackArray(llvm::ArrayRef<llvm::Value *> values);
  unsigned site(const ptx::Instruction &instruction,
                ptx::Space space = ptx::Space::Generic,
                Access access = Access::None, unsigned bytes = 0);
  llvm::Value *siteValue(const ptx::Instruction &instruction) {
    return b.getInt32(site(instruction));
  }
  void findUndefinedRegisters();

  // Instructions; false: not modelled.
#define DSFLASH_SIMT_HANDLER(name)                                             \
  bool name(const ptx::Instruction &instruction, Modifiers &modifiers);
#include "Handlers.def"

  // Integers and bits.
  bool carryArithmetic(const ptx::Instruction &instruction, ptx::Type type,
                       bool subtract, bool carryIn, bool carryOut);
  llvm::Value *wideProduct(const ptx::Instruction &instruction, ptx::Type type);
  llvm::Value *logicTable(llvm::Value *a, llvm::Value *c, llvm::Value *d,
                          unsigned table);

  // Floats.
  llvm::Value *flush(llvm::Value *value, bool ftz);
  llvm::Value *saturate(llvm::Value *value);
  bool floatBinary(const ptx::Instruction &instruction, Modifiers &modifiers,
                   ptx::Type type);
  bool floatMinMax(const ptx::Instruction &instruction, Modifiers &modifiers,
                   ptx::Type type);
  /// Runs `compute` on each packed 16-bit element of the operands.
  bool packed(
      const ptx::Instruction &instruction, ptx::Type type,
      llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> compute);
  llvm::Value *widen(llvm::Value *bits, ptx::Type type);
  llvm::Value *compare(std::string_view how, ptx::Type type, llvm::Value *x,
                       llvm::Value *y);
  bool compareOperands(const ptx::Instruction &instruction,
                       Modifiers &modifiers, llvm::Value *&result);
  bool convertPacked(const ptx::Instruction &instruction, Modifiers &modifiers);

  // Memory.
  struct MemoryModifiers {
    ptx::Space space = ptx::Space::Generic;
    ptx::Type type;
    unsigned vector = 1;
    bool ordered = false;
  };
  bool parseMemory(Modifiers &modifiers, MemoryModifiers &memory);
  llvm::Value *address(const ptx::Operand &operand);
  llvm::Value *pointer(const ptx::Instruction &instruction,
                       const ptx::Operand &operand, ptx::Space space,
                       Access access, unsigned bytes);
  llvm::Value *parameterPointer(const ptx::Operand &operand);

  KernelTranslation &kernel;
  const ptx::Function &source;
  llvm::Function *target = nullptr;
  llvm::IRBuilder<> b;
  llvm::Value *context = nullptr;
  llvm::Value *shared = nullptr;
  llvm::Value *carry = nullptr;
  std::vector<llvm::AllocaInst *> registers, shadows;
  std::vector<llvm::Value *> variables;        ///< of the function: pointers
  std::map<size_t, llvm::BasicBlock *> blocks; ///< by instruction index
  std::vector<bool> mayBeUndefined;            ///< by register
  llvm::Value *undefined = nullptr;            ///< of the operands used so far
  const ptx::Instruction *current = nullptr;
  size_t position = 0;
  unsigned basicBlock = 0;
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_TRANSLATOR_H
