//===- ModuleLayout.cpp - Places of weights, states and probes ------------===//

#include "ModuleLayout.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

static constexpr int64_t kPlaneAlignment = 64, kPageBytes = 4096;

//===----------------------------------------------------------------------===//
// What a function writes
//===----------------------------------------------------------------------===//

static bool writes(Value buffer) {
  return llvm::any_of(buffer.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto call = dyn_cast<func::CallOp>(user)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          call, call.getCalleeAttr());
      return callee && !callee.isExternal() &&
             writesArgument(callee, use.getOperandNumber());
    }
    if (isa<ViewLikeOpInterface>(user))
      return llvm::any_of(user->getResults(), writes);
    auto effects = dyn_cast<MemoryEffectOpInterface>(user);
    return effects && effects.getEffectOnValue<MemoryEffects::Write>(use.get());
  });
}

bool mlir::dsflash::writesArgument(func::FuncOp function, unsigned argument) {
  return writes(function.getArgument(argument));
}

//===----------------------------------------------------------------------===//
// ModuleLayout
//===----------------------------------------------------------------------===//

int64_t ModuleLayout::getScaleOffset(StateTypeInterface type) {
  int64_t row = type.getRowFormat().getPayloadBytes(type.getRowElements());
  return llvm::alignTo(type.getRowCount() * row, kPlaneAlignment);
}

int64_t ModuleLayout::getPositionOffset(StateTypeInterface type) {
  int64_t scales = type.getRowFormat().getScaleCount(type.getRowElements());
  return llvm::alignTo(getScaleOffset(type) + type.getRowCount() * scales,
                       kPlaneAlignment);
}

static int64_t getStateBytes(StateTypeInterface type) {
  int64_t bytes = ModuleLayout::getPositionOffset(type);
  if (keepsPositions(type))
    bytes += type.getRowCount() * int64_t(sizeof(int32_t));
  return llvm::alignTo(bytes, kPlaneAlignment);
}

std::optional<dsf_type> ModuleLayout::getType(Type element) {
  if (element.isF32())
    return DSF_F32;
  if (element.isBF16())
    return DSF_BF16;
  if (element.isInteger(32))
    return DSF_I32;
  if (element.isInteger(64))
    return DSF_I64;
  return std::nullopt;
}

LogicalResult ModuleLayout::addKernel(func::FuncOp kernel, ConfigAttr config) {
  auto block = kernel->getAttrOfType<BlockAttr>(blockAttrName);
  if (!block) {
    constexpr int64_t warp = 32;
    int64_t threads = config ? config.getThreads() : warp;
    kernels.insert({kernel.getSymNameAttr(), {threads, 0, threads}});
    return success();
  }
  if (!config)
    return kernel.emitError(
        "a kernel of blocks in a module without "
        "dsflash.config (run dsflash-select-config before)");
  if (block.getSharedBytes() > config.getSharedBytes())
    return kernel.emitError()
           << "a block needs " << block.getSharedBytes()
           << " bytes of shared memory, '" << config.getDevice() << "' has "
           << config.getSharedBytes();
  kernels.insert({kernel.getSymNameAttr(),
                  {block.getThreads(), block.getSharedBytes(), 1}});
  return success();
}

FailureOr<ModuleLayout> ModuleLayout::get(ModuleOp module, StringRef device) {
  auto config = module->getAttrOfType<ConfigAttr>(configAttrName);
  if (config && config.getDevice() != device.split(',').first)
    return module.emitError()
           << "the kernels were made for '" << config.getDevice()
           << "', not for '" << (device.empty() ? "cpu" : device) << "'";
  ModuleLayout layout;
  layout.device = device.str();
  for (auto param : module.getOps<ParamOp>()) {
    layout.slots[param.getSymNameAttr()] = layout.slotCount;
    layout.slotCount += param.getSlotCount();
  }
  module.walk([&](ProbeOp probe) {
    layout.probes.insert({ModuleLayout::getProbeKey(probe), probe});
  });
  SymbolTable symbols(module);
  bool failures = false;
  module.walk([&](DispatchOp dispatch) {
    auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    auto function = dispatch->getParentOfType<func::FuncOp>();
    if (kernel && !device.empty() && function->hasAttr(hostAttrName))
      layout.hostKernels.insert(kernel.getSymNameAttr());
    else if (kernel && !layout.kernels.contains(kernel.getSymNameAttr()))
      failures |= failed(layout.addKernel(kernel, config));
  });
  module.walk([&](ReportOp report) {
    layout.checks.insert({ModuleLayout::getCheckKey(report), report});
  });
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      failures |= failed(layout.addEntry(function));
  layout.stateBytes = llvm::alignTo(layout.stateBytes, kPageBytes);
  if (failures)
    return failure();
  return layout;
}

static int64_t getNumber(func::FuncOp function, StringRef attribute) {
  auto number = function->getAttrOfType<IntegerAttr>(attribute);
  return number ? number.getInt() : 0;
}

LogicalResult ModuleLayout::addEntry(func::FuncOp function) {
  if (function.getNumResults() != 0)
    return function.emitError("an entry has no results");
  Entry entry{function,
              {},
              {},
              getNumber(function, "dsflash.workspace_row_bytes"),
              getNumber(function, "dsflash.workspace_fixed_bytes"),
              getNumber(function, "dsflash.last_rows")};
  for (unsigned i = 1; i < function.getNumArguments(); ++i) {
    Type type = function.getArgument(i).getType();
    auto buffer = dyn_cast<MemRefType>(type);
    bool last = i + 1 == function.getNumArguments();
    if (isa<StateTypeInterface>(type)) {
      if (failed(addState(entry, i)))
        return failure();
    } else if (last && buffer && buffer.getElementType().isInteger(8)) {
      entry.arguments.push_back({EntryArgument::Workspace, 0});
    } else if (failed(addTensor(entry, i))) {
      return failure();
    }
  }
  entries.push_back(std::move(entry));
  return success();
}

LogicalResult ModuleLayout::addState(Entry &entry, unsigned argument) {
  auto name =
      entry.function.getArgAttrOfType<StringAttr>(argument, "dsflash.name");
  if (!name)
    return entry.function.emitError()
           << "argument " << argument - 1 << ", a state, has no dsflash.name";
  auto type =
      cast<StateTypeInterface>(entry.function.getArgument(argument).getType());
  auto [state, isNew] = states.insert({name, {type, stateBytes}});
  if (isNew)
    stateBytes += getStateBytes(type);
  else if (state->second.type != type)
    return entry.function.emitError()
           << "state " << name << " is " << Type(type) << " here and "
           << Type(state->second.type) << " in another entry";
  entry.arguments.push_back({EntryArgument::State, state->second.offset});
  return success();
}

LogicalResult ModuleLayout::addTensor(Entry &entry, unsigned argument) {
  func::FuncOp function = entry.function;
  auto name = function.getArgAttrOfType<StringAttr>(argument, "dsflash.name");
  auto dim = function.getArgAttrOfType<StringAttr>(argument, dimAttrName);
  auto type = dyn_cast<MemRefType>(function.getArgument(argument).getType());
  int dimNumber = llvm::StringSwitch<int>(dim ? dim.getValue() : "")
                      .Case("rows", DSF_DIM_ROWS)
                      .Case("sequences", DSF_DIM_SEQUENCES)
                      .Case("outputs", DSF_DIM_OUTPUTS)
                      .Default(-1);
  bool fits = type && type.getLayout().isIdentity() && type.getRank() > 0 &&
              type.isDynamicDim(0) && type.getNumDynamicDims() == 1 &&
              getType(type.getElementType());
  if (!name || dimNumber < 0 || !fits)
    return function.emitError()
           << "argument " << argument - 1
           << " of an entry must be a state, the workspace or a buffer of "
              "rows with dsflash.name and dsflash.dim, but is "
           << function.getArgument(argument).getType();
  auto said = function.getArgAttrOfType<StringAttr>(argument, "dsflash.access");
  dsf_access access = said ? llvm::StringSwitch<dsf_access>(said.getValue())
                                 .Case("write", DSF_WRITE)
                                 .Case("read_write", DSF_READ_WRITE)
                                 .Default(DSF_READ)
                      : writesArgument(function, argument) ? DSF_READ_WRITE
                                                           : DSF_READ;
  entry.arguments.push_back(
      {EntryArgument::Tensor, int64_t(entry.tensors.size())});
  bool hostReads =
      !device.empty() &&
      llvm::any_of(function.getArgument(argument).getUsers(),
                   [](Operation *user) { return isa<memref::LoadOp>(user); });
  entry.tensors.push_back({name, type, dsf_dim(dimNumber), access, hostReads});
  return success();
}

Attribute ModuleLayout::getProbeKey(ProbeOp probe) {
  return ArrayAttr::get(probe.getContext(),
                        {probe.getNameAttr(),
                         TypeAttr::get(probe.getInput().getType()),
                         probe.getPositionsPerRowAttr()});
}

Attribute ModuleLayout::getCheckKey(ReportOp report) {
  return ArrayAttr::get(report.getContext(),
                        {report.getNameAttr(), report.getKindAttr()});
}
