//===- Lowering.cpp - From model operations to kernel launches ------------===//

#include "Lowering.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dsflash;

Lowering::Lowering(ModuleOp module)
    : module(module), symbols(module), opBuilder(module.getContext()) {
  config = module->getAttrOfType<ConfigAttr>(configAttrName);
  maxLanes = config ? config.getLanes() : KernelBuilder::processorLanes;
  findBF16Inputs();
}

/// Whether the result of an operation is exact in bf16 by itself (SPEC section
/// 2: what a quantizer or a rounding point gives).
static bool roundsToBF16(Operation *op) {
  if (auto embed = dyn_cast<EmbedOp>(op))
    return embed.getTable().getType().getFormat().getElement() == Element::BF16;
  return isa<RoundOp, QuantizeOp>(op) ||
         (isa<RoundableOpInterface>(op) && op->hasAttr("rounded"));
}

void Lowering::findBF16Inputs() {
  auto numerics = module->getAttrOfType<StringAttr>(numericsAttrName);
  if (numerics && numerics.getValue() != "reference")
    return;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      while (isa_and_nonnull<GatherRowsOp, LastRowsOp, ProbeOp>(producer))
        producer = producer->getOperand(0).getDefiningOp();
      if (producer && roundsToBF16(producer))
        bf16Inputs.insert({op, operand.getOperandNumber()});
    }
  });
}

bool Lowering::lower(Operation *op) {
  current = op;
  opBuilder.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<RoundOp, QuantizeOp, ScaleOp, RMSNormOp, LinearOp, ProjectOp,
            GroupedLinearOp, EmbedOp, HCInitOp, HCMixOp, HCCollapseOp,
            HCExpandOp, StreamMeanOp, GatherRowsOp, LastRowsOp, AddRowsOp,
            RopeTableOp, RotateOp, CSA2Op, CompressOp, AppendOp, LoadOp,
            IndexerOp, NoSelectionOp, RouterOp, GroupByExpertOp, ExpertLinearOp,
            SwiGLUOp, CombineOp, EngramHashOp, EngramLookupOp, EngramGateOp,
            EngramAddOp, InsertFeatureOp, DraftTokensOp, DraftAttentionOp,
            AppendWindowOp, ConfidenceOp, CheckNaNOp, CheckIdsOp,
            CheckWindowOp>([&](auto modelOp) {
        lowerOp(*this, modelOp);
        return true;
      })
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

Value Lowering::index(int64_t value) {
  return arith::ConstantIndexOp::create(opBuilder, loc(), value);
}

Value Lowering::times(Value count, int64_t factor) {
  if (factor == 1)
    return count;
  if (std::optional<int64_t> constant = getConstantIntValue(count))
    return index(*constant * factor);
  return arith::MulIOp::create(opBuilder, loc(), count, index(factor));
}

Value Lowering::ceilDiv(Value count, int64_t size) {
  if (std::optional<int64_t> constant = getConstantIntValue(count))
    return index(llvm::divideCeil(*constant, size));
  Value ahead = arith::AddIOp::create(opBuilder, loc(), count, index(size - 1));
  return arith::DivUIOp::create(opBuilder, loc(), ahead, index(size));
}

/// The tensor that has as many rows as `tensor` and exists before it, if any.
static Value getRowSource(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto dispatch = dyn_cast<DispatchOp>(op))
    return dispatch.getInits()[cast<OpResult>(tensor).getResultNumber()];
  if (auto probe = dyn_cast<ProbeOp>(op))
    return probe.getInput();
  // The results of a layer have as many rows as its first tensor.
  if (isa<func::CallOp>(op))
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
        if (type.isDynamicDim(0))
          return operand;
  return {};
}

Value Lowering::rows(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(0))
    return index(type.getDimSize(0));
  while (!isa<BlockArgument>(tensor)) {
    if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
      return empty.getDynamicSizes().front();
    Value source = getRowSource(tensor);
    if (!source)
      break;
    tensor = source;
  }
  Value &extent = extents[tensor];
  if (extent)
    return extent;
  OpBuilder::InsertionGuard guard(opBuilder);
  opBuilder.setInsertionPointAfterValue(tensor);
  return extent = tensor::DimOp::create(opBuilder, loc(), tensor, index(0));
}

Value Lowering::empty(Type type, Value rows) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<Value> dynamic;
  if (tensor.isDynamicDim(0))
    dynamic.push_back(rows);
  return tensor::EmptyOp::create(opBuilder, loc(), tensor, dynamic);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The type of a kernel's argument for an operand of a launch.
static Type getArgumentType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  return type;
}

/// "64x128_e4m3" of a weight, the static extents of a tensor, else nothing.
static std::string describe(Type type) {
  auto join = [](ArrayRef<int64_t> extents) {
    SmallVector<int64_t> known(llvm::make_filter_range(
        extents, [](int64_t e) { return !ShapedType::isDynamic(e); }));
    return llvm::join(
        llvm::map_range(known, [](int64_t e) { return std::to_string(e); }),
        "x");
  };
  if (auto weight = dyn_cast<WeightType>(type))
    return join(weight.getShape()) + "_" +
           stringifyElement(weight.getFormat().getElement()).str();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return join(tensor.getShape());
  return "";
}

/// What a kernel's name says of its types: the first weight, else the first
/// output, else the first input that has something to say.
static std::string describe(ValueRange ins, ValueRange outs) {
  for (Value in : ins)
    if (isa<WeightType>(in.getType()))
      return describe(in.getType());
  for (ValueRange operands : {outs, ins})
    for (Value operand : operands)
      if (std::string text = describe(operand.getType()); !text.empty())
        return text;
  return "";
}

/// Operations that agree in name, attributes (but the name of a rounding
/// point), types and which operands are bf16 have the same kernel.
std::string Lowering::getKey(StringRef name, TypeRange types) const {
  NamedAttrList attributes(current->getAttrDictionary());
  attributes.erase("point");
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << name << attributes.getDictionary(current->getContext());
  for (unsigned i = 0; i < current->getNumOperands(); ++i)
    stream << hasBF16Input(i);
  llvm::interleaveComma(types, stream);
  return key;
}

func::FuncOp Lowering::getKernel(StringRef name, ValueRange ins,
                                 ValueRange outs, KernelBody body,
                                 BlockAttr block) {
  SmallVector<Type> types(2, opBuilder.getIndexType());
  for (ValueRange operands : {ins, outs})
    for (Value operand : operands)
      types.push_back(getArgumentType(operand.getType()));
  func::FuncOp &kernel = kernels[getKey(name, TypeRange(types).drop_front(2))];
  if (kernel)
    return kernel;

  std::string symbol = name.str(), shapes = describe(ins, outs);
  if (!shapes.empty())
    symbol += "_" + shapes;
  kernel = makeKernel(symbol, opBuilder.getFunctionType(types, {}), ins.size(),
                      body, block);
  return kernel;
}

/// The kernel with this body, a new one if there is none.
func::FuncOp Lowering::makeKernel(StringRef base, FunctionType type,
                                  int64_t inCount, KernelBody body,
                                  BlockAttr block) {
  std::string symbol = base.str();
  for (int64_t i = 1; symbols.lookup(symbol); ++i)
    symbol = (base + "_" + Twine(i)).str();

  auto kernel = func::FuncOp::create(loc(), symbol, type);
  kernel.setPrivate();
  kernel->setAttr(kernelAttrName, opBuilder.getUnitAttr());
  if (block)
    kernel->setAttr(blockAttrName, block);
  symbols.insert(kernel);
  Block *entry = kernel.addEntryBlock();
  ValueRange arguments = entry->getArguments();
  KernelBuilder builder(loc(), opBuilder.getContext(), maxLanes,
                        block ? block.getThreads() : 1);
  builder.setInsertionPointToStart(entry);
  body(builder, arguments[0], arguments[1], arguments.slice(2, inCount),
       arguments.drop_front(2 + inCount));
  func::ReturnOp::create(builder);
  SmallVector<func::FuncOp> &others = kernelsByType[type];
  for (func::FuncOp other : others)
    if (other->getAttr(blockAttrName) == block &&
        OperationEquivalence::isRegionEquivalentTo(
            &other.getBody(), &kernel.getBody(),
            OperationEquivalence::IgnoreLocations)) {
      symbols.erase(kernel);
      return other;
    }
  others.push_back(kernel);
  return kernel;
}

SmallVector<Value> Lowering::dispatch(StringRef name, Value grid,
                                      ValueRange ins, ValueRange outs,
                                      KernelBody body, bool writesState,
                                      BlockAttr block) {
  func::FuncOp kernel = getKernel(name, ins, outs, body, block);
  auto launch =
      DispatchOp::create(opBuilder, loc(), outs.getTypes(), kernel.getSymName(),
                         /*call=*/Value(), grid, ins, outs, writesState);
  return SmallVector<Value>(launch.getResults());
}

BlockAttr Lowering::getRowBlock(Value tensor) const {
  int64_t features = cast<ShapedType>(tensor.getType()).getShape().back();
  return getRowBlock(ShapedType::isDynamic(features) ? 1 : features);
}

BlockAttr Lowering::getRowBlock(int64_t features) const {
  if (!config)
    return {};
  constexpr int64_t most = 256;
  auto threads = std::clamp(int64_t(llvm::PowerOf2Ceil(features / maxLanes)),
                            config.getThreads(), most);
  return BlockAttr::get(config.getContext(), threads,
                        KernelBuilder::getSumBytes(threads));
}

void Lowering::replace(ValueRange results) {
  current->replaceAllUsesWith(results);
  current->erase();
}
