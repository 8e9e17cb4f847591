//===- SharedEntries.cpp - Kernels that differ in numbers -----------------===//
//
// An operation on tensors of other sizes is a kernel of its own, but most often
// the same code with other numbers. What compiles code counts instructions, so
// there such kernels are one.
//
//===----------------------------------------------------------------------===//

#include "SharedEntries.h"
#include "DeviceEntry.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <map>

using namespace mlir;
using namespace mlir::dsflash;

static std::optional<int64_t> getNumber(Value value) {
  auto constant = value.getDefiningOp<LLVM::ConstantOp>();
  auto number =
      constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
  if (!number || !value.getType().isInteger(64))
    return std::nullopt;
  return number.getInt();
}

/// Whether a variable does where a number stands.
static bool takesVariable(Operation *user) {
  return isa<LLVM::AddOp, LLVM::BrOp, LLVM::CallOp, LLVM::CondBrOp, LLVM::GEPOp,
             LLVM::ICmpOp, LLVM::InsertValueOp, LLVM::MulOp, LLVM::SubOp>(user);
}

namespace {

/// A kernel's code as words that are equal for kernels which differ in numbers
/// alone, and these numbers.
class KernelShape {
public:
  KernelShape(LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp body,
              const KernelLaunch &launch)
      : entry(entry), body(body) {
    words = {launch.threads, launch.sharedBytes, launch.itemsPerBlock};
    addFunction(entry);
    addFunction(body);
  }

  LLVM::LLVMFuncOp entry, body;
  LLVM::CallOp call; // of the body in the entry
  std::vector<intptr_t> words;
  SmallVector<OpOperand *> places;
  SmallVector<int64_t> numbers; // of the places

private:
  template <typename T> void add(T unique) {
    words.push_back(reinterpret_cast<intptr_t>(unique.getAsOpaquePointer()));
  }

  void addFunction(LLVM::LLVMFuncOp function) {
    add(function.getFunctionType());
    for (Block &block : function.getBody())
      number(block);
    for (Operation &op : function.getBody().getOps())
      addOperation(op);
  }

  void number(Block &block) {
    blocks.try_emplace(&block, blocks.size());
    for (BlockArgument argument : block.getArguments())
      values.try_emplace(argument, values.size());
    for (Operation &op : block)
      if (!op.hasTrait<OpTrait::ConstantLike>())
        for (Value result : op.getResults())
          values.try_emplace(result, values.size());
  }

  /// Constants count where they are used.
  void addOperation(Operation &op) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      return;
    add(op.getName());
    auto inner = dyn_cast<LLVM::CallOp>(op);
    if (inner && inner.getCallee() == body.getName())
      call = inner;
    else
      add(op.getAttrDictionary());
    for (Type type : op.getResultTypes())
      add(type);
    for (OpOperand &operand : op.getOpOperands())
      addOperand(operand);
    for (Block *successor : op.getSuccessors())
      words.push_back(blocks.lookup(successor));
  }

  void addOperand(OpOperand &operand) {
    Value value = operand.get();
    add(value.getType());
    if (auto known = values.find(value); known != values.end()) {
      words.push_back(known->second);
    } else if (auto number = getNumber(value);
               number && takesVariable(operand.getOwner())) {
      words.push_back(-1);
      places.push_back(&operand);
      numbers.push_back(*number);
    } else {
      Operation *constant = value.getDefiningOp();
      add(constant->getName());
      add(constant->getAttrDictionary());
    }
  }

  llvm::DenseMap<Block *, intptr_t> blocks;
  llvm::DenseMap<Value, intptr_t> values;
};

/// Kernels that differ in numbers alone.
using Group = SmallVector<KernelShape>;

} // namespace

/// "linear_e4m3" of "linear_64x128_e4m3".
static std::string dropSizes(StringRef name) {
  std::string kept;
  for (StringRef word : llvm::split(name, '_'))
    if (!word.empty() && !llvm::isDigit(word.front()))
      kept += (kept.empty() ? "" : "_") + word.str();
  return kept.empty() ? name.str() : kept;
}

static Value addParameter(LLVM::LLVMFuncOp function, Type type) {
  LLVM::LLVMFunctionType signature = function.getFunctionType();
  SmallVector<Type> types(signature.getParams());
  types.push_back(type);
  function.setFunctionType(
      LLVM::LLVMFunctionType::get(signature.getReturnType(), types));
  return function.getBody().addArgument(type, function.getLoc());
}

namespace {

/// A parameter of a shared entry, and where the body has it.
struct Parameter {
  Value outside, inside;
};

} // namespace

/// Makes the first kernel's code that of all; gives the constants of each.
static SmallVector<SmallVector<int64_t>> merge(Group &group,
                                               SymbolTable &symbols) {
  KernelShape &first = group.front();
  SmallVector<SmallVector<int64_t>> constants(group.size());
  std::map<std::vector<int64_t>, Parameter> parameters; // by kernels' numbers
  for (auto [i, place] : llvm::enumerate(first.places)) {
    std::vector<int64_t> numbers;
    for (KernelShape &kernel : group)
      numbers.push_back(kernel.numbers[i]);
    if (llvm::all_equal(numbers))
      continue;
    auto &[outside, inside] = parameters[numbers];
    Type type = place->get().getType();
    if (!outside) {
      outside = addParameter(first.entry, type);
      for (auto [kernel, number] : llvm::zip_equal(constants, numbers))
        kernel.push_back(number);
    }
    bool isOutside = first.entry->isAncestor(place->getOwner());
    if (!isOutside && !inside) {
      inside = addParameter(first.body, type);
      first.call.getCalleeOperandsMutable().append(outside);
    }
    place->set(isOutside ? outside : inside);
  }
  for (KernelShape &other : llvm::drop_begin(group)) {
    symbols.erase(other.entry);
    symbols.erase(other.body);
  }
  return constants;
}

SmallVector<KernelCode>
mlir::dsflash::shareEntries(ModuleOp module, const ModuleLayout &layout) {
  SymbolTable symbols(module);
  std::map<std::vector<intptr_t>, size_t> known;
  SmallVector<Group> groups;
  SmallVector<SmallVector<size_t>> kernels; // of each group
  for (const auto &[i, kernel] : llvm::enumerate(layout.kernels)) {
    const auto &[name, launch] = kernel;
    KernelShape shape(symbols.lookup<LLVM::LLVMFuncOp>(name),
                      symbols.lookup<LLVM::LLVMFuncOp>(getKernelBodyName(name)),
                      launch);
    size_t group = known.try_emplace(shape.words, groups.size()).first->second;
    groups.resize(std::max(groups.size(), group + 1));
    kernels.resize(groups.size());
    groups[group].push_back(std::move(shape));
    kernels[group].push_back(i);
  }
  SmallVector<KernelCode> codes(layout.kernels.size());
  for (auto [group, members] : llvm::zip_equal(groups, kernels)) {
    LLVM::LLVMFuncOp entry = group.front().entry;
    if (group.size() > 1) {
      symbols.remove(entry);
      entry.setSymName(dropSizes(entry.getName()));
      symbols.insert(entry);
    }
    auto constants = merge(group, symbols);
    for (auto [member, numbers] : llvm::zip_equal(members, constants))
      codes[member] = {entry.getName().str(), numbers};
  }
  return codes;
}
