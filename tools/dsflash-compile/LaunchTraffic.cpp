//===- LaunchTraffic.cpp - Bytes that a launch moves ----------------------===//

#include "LaunchTraffic.h"
#include "LaunchRequests.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dsflash;

/// An address in the call or in one of its tables.
static constexpr double kAddress = 8;
/// Positions that share a latent where some wait for others (SPEC section 3,
/// compressor: the ratio is 1 or 2).
static constexpr int64_t kGroup = 2;

double getTensorBytes(WeightType type) {
  FormatAttr format = type.getFormat();
  double bytes =
      double(type.getRows()) * format.getPayloadBytes(type.getColumns());
  if (format.hasScale())
    bytes += double(llvm::divideCeil(type.getRows(), format.getBlockRows())) *
             format.getScaleCount(type.getColumns());
  return bytes;
}

int64_t getRowBytes(StateTypeInterface state) {
  int64_t elements = state.getRowElements();
  return state.getRowFormat().getPayloadBytes(elements) +
         state.getRowFormat().getScaleCount(elements);
}

/// Whether a function reads what was in the buffer of an argument.
static bool readsArgument(func::FuncOp function, unsigned argument) {
  auto reads = [](auto &&self, Value buffer) -> bool {
    return llvm::any_of(buffer.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (auto call = dyn_cast<func::CallOp>(user)) {
        auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
            call, call.getCalleeAttr());
        return callee && !callee.isExternal() &&
               readsArgument(callee, use.getOperandNumber());
      }
      if (isa<ViewLikeOpInterface>(user))
        return llvm::any_of(user->getResults(),
                            [&](Value view) { return self(self, view); });
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      return effects &&
             effects.getEffectOnValue<MemoryEffects::Read>(use.get());
    });
  };
  return reads(reads, function.getArgument(argument));
}

//===----------------------------------------------------------------------===//
// One launch
//===----------------------------------------------------------------------===//

class LaunchTraffic::Counter {
public:
  Counter(LaunchTraffic &all, DispatchOp dispatch, ShapeOf shapeOf)
      : all(all), context(all.context), dispatch(dispatch), shapeOf(shapeOf),
        name(dispatch.getKernel()), inputs(dispatch.getInputs()),
        inits(dispatch.getInits()) {
    if (!inputs.empty() && getRank(inputs.front()) > 0)
      rows = shapeOf(inputs.front())[0];
  }

  Traffic run();

private:
  /// 0 of what is no buffer.
  static int64_t getRank(Value operand) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    return type ? type.getRank() : 0;
  }
  double bytesOf(Value operand) {
    if (auto known = all.filled.find(operand); known != all.filled.end())
      return known->second;
    auto type = dyn_cast<MemRefType>(operand.getType());
    return type ? elementsOf(operand) * type.getElementTypeBitWidth() / 8 : 0;
  }
  double elementsOf(Value buffer) {
    double elements = 1;
    for (int64_t extent : shapeOf(buffer))
      elements *= extent;
    return elements;
  }
  int64_t columnsOf(Value buffer) { return shapeOf(buffer).back(); }
  /// Rows that a state with so many positions in each has behind the row.
  int64_t getReach(int64_t ratio, int64_t row) {
    return (context.tokens + row + 1) / ratio;
  }

  void countBuffers();
  void addOldValues();
  void countWeights();
  double getWeightRead(WeightType type);
  void countStates();
  double getStateRead(unsigned number);
  void countStateWrites(Type state);
  void countParts();
  void countScores();
  void countEntries();
  void setFilled(unsigned init, double bytes) {
    all.filled[inits[init]] = written[init] = bytes;
  }

  LaunchTraffic &all;
  const SequenceContext &context;
  DispatchOp dispatch;
  ShapeOf shapeOf;
  StringRef name;
  OperandRange inputs, inits;
  int64_t rows = 1;                  // of the call
  SmallVector<double> read, written; // by operand
  double old = 0;                    // read where it is written
  double weights = 0, addresses = 0;
  double stateRead = 0, stateWritten = 0;
  // Of an indexer: what its keys are divided into, and positions of candidates.
  double parts = 0, candidates = 0;
  double flops = 0;
};

Traffic LaunchTraffic::Counter::run() {
  countBuffers();
  countParts();
  countWeights();
  countStates();
  countScores();
  countEntries();
  addOldValues();
  Traffic traffic;
  traffic.read = std::accumulate(read.begin(), read.end(), old + addresses);
  traffic.written =
      std::accumulate(written.begin(), written.end(), stateWritten);
  traffic.weights = weights;
  double keys = 0;
  for (Value operand : llvm::concat<Value>(inputs, inits))
    keys = std::max(keys, all.keysOf.lookup(operand));
  traffic.requested = getRequestedBytes(
      {dispatch, shapeOf, stateRead, traffic.written, keys, parts, candidates});
  traffic.flops = flops;
  return traffic;
}

void LaunchTraffic::Counter::countBuffers() {
  for (Value input : inputs)
    read.push_back(bytesOf(input));
  for (Value init : inits) {
    all.filled.erase(init);
    written.push_back(bytesOf(init));
  }
}

/// Of some operands a kernel takes a part.
void LaunchTraffic::Counter::countParts() {
  if (name.starts_with("gather_rows"))
    read[0] = written[0];
  if (name.starts_with("insert_feature") || name.starts_with("add_rows"))
    written[0] = read[0];
  // Columns of kv: a key for each stream, then the value.
  if (name.starts_with("engram_gate"))
    read[1] = read[0];
  if (name.starts_with("engram_add"))
    read[0] = written[0] / double(shapeOf(inits.front())[1]);
}

void LaunchTraffic::Counter::addOldValues() {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      dispatch, dispatch.getKernelAttr());
  constexpr unsigned firstOperand = 2;
  for (size_t i = 0; i < inits.size(); ++i)
    if (kernel && !kernel.isExternal() &&
        readsArgument(kernel, firstOperand + inputs.size() + i))
      old += written[i];
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Rows of the weight for rows of the output, entries for tokens, else whole
/// tensors: one expert's for each row and choice, until all are read.
double LaunchTraffic::Counter::getWeightRead(WeightType type) {
  double outputs = inits.empty() ? 0 : elementsOf(inits.front());
  double rowBytes = getTensorBytes(type) / double(type.getRows());
  if (name.starts_with("embed") || name.starts_with("engram_lookup"))
    return outputs / double(type.getColumns()) * rowBytes;
  // Of a row's token and of those that an earlier call has left.
  if (name.starts_with("engram_hash"))
    return double(rows + columnsOf(inputs[1])) * rowBytes /
           double(type.getColumns());
  double tensors = 1;
  if (type.getExperts() > 1)
    tensors =
        std::min(double(type.getExperts()), outputs / double(type.getRows()));
  return tensors * getTensorBytes(type);
}

void LaunchTraffic::Counter::countWeights() {
  for (auto [i, input] : llvm::enumerate(inputs)) {
    auto type = dyn_cast<WeightType>(input.getType());
    if (!type)
      continue;
    read[i] = getWeightRead(type);
    weights += read[i];
    double tensors = 1;
    if (type.getExperts() > 1)
      tensors = read[i] / getTensorBytes(type);
    // The table's own address once.
    addresses += tensors * double(type.getPlanes()) * kAddress +
                 (addresses > 0 ? 0 : kAddress);
  }
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

double LaunchTraffic::Counter::getStateRead(unsigned number) {
  Type type = inputs[number].getType();
  auto state = cast<StateTypeInterface>(type);
  double rowBytes = double(getRowBytes(state));
  // The scales come with the scores.
  if (name.starts_with("csa2_values"))
    rowBytes =
        double(state.getRowFormat().getPayloadBytes(state.getRowElements()));
  int64_t before = context.tokens;
  return llvm::TypeSwitch<Type, double>(type)
      .Case([&](WindowType) {
        return double(std::min(before, context.slidingWindow - 1)) * rowBytes;
      })
      .Case([&](GlobalKVType global) {
        int64_t reach = getReach(global.getRatio(), rows - 1);
        if (number + 1 < inputs.size() && getRank(inputs[number + 1]) == 2)
          reach = std::min(reach, rows * columnsOf(inputs[number + 1]));
        return double(reach) * rowBytes;
      })
      .Case([&](IndexKeysType keys) {
        int64_t reach = getReach(keys.getRatio(), rows - 1);
        if (name.starts_with("candidate"))
          reach = std::min(reach, rows * columnsOf(inputs[number + 3]) *
                                      context.blockSize);
        return double(reach) * rowBytes;
      })
      .Case([&](PendingType) {
        bool completes = (before + rows) / kGroup > before / kGroup;
        return completes ? double(before % kGroup) * rowBytes : 0.0;
      })
      .Default(0.0);
}

/// Only some rows of the call come into a state.
void LaunchTraffic::Counter::countStateWrites(Type type) {
  auto state = cast<StateTypeInterface>(type);
  int64_t before = context.tokens, kept = rows;
  if (int64_t ratio = state.getPositionsPerRow())
    kept = (before + rows) / ratio - before / ratio;
  else if (auto window = dyn_cast<WindowType>(type))
    kept = std::min(rows, window.getSlots());
  else if (auto pending = dyn_cast<PendingType>(type))
    kept = std::min(rows, pending.getSlots());
  auto window = dyn_cast<WindowType>(type);
  double position = window && window.getPositions() ? 4 : 0;
  stateWritten += double(kept) * (double(getRowBytes(state)) + position);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    auto buffer = dyn_cast<MemRefType>(input.getType());
    if (buffer && buffer.getElementType().isF32())
      read[i] *= double(kept) / double(rows);
  }
}

void LaunchTraffic::Counter::countStates() {
  bool hasState = false;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (!isa<StateTypeInterface>(input.getType()))
      continue;
    hasState = true;
    if (dispatch.getWritesState())
      countStateWrites(input.getType());
    else
      stateRead += read[i] = getStateRead(i);
  }
  // The table of states, and the sequence's place in it.
  if (hasState)
    addresses += 2 * kAddress;
}

//===----------------------------------------------------------------------===//
// Buffers that are filled in part
//===----------------------------------------------------------------------===//

/// Scores and probabilities, of the keys that the rows see.
void LaunchTraffic::Counter::countScores() {
  if (name.starts_with("attention_softmax")) {
    double bits = cast<MemRefType>(inits[0].getType()).getElementTypeBitWidth();
    setFilled(0, read[0] * bits / 32);
    all.keysOf[inits[0]] = all.keysOf.lookup(inputs[0]);
  }
  if (name.starts_with("csa2_values"))
    for (Value input : inputs)
      flops = std::max(flops, 2 * all.keysOf.lookup(input) *
                                  double(columnsOf(inits[0])));
  if (!name.starts_with("csa2_scores"))
    return;
  int64_t features = cast<WindowType>(inputs[1].getType()).getDim();
  double keys = 0;
  for (int64_t row = 0; row < rows; ++row) {
    keys += double(std::min(context.tokens + row + 1, context.slidingWindow));
    for (auto [i, input] : llvm::enumerate(inputs))
      if (auto global = dyn_cast<GlobalKVType>(input.getType()))
        keys += double(std::min(columnsOf(inputs[i + 1]),
                                getReach(global.getRatio(), row)));
  }
  flops = 2 * keys * double(columnsOf(inputs.back()));
  double heads = double(columnsOf(inputs.back())) / double(features);
  setFilled(0, keys * heads * sizeof(float));
  all.keysOf[inits[0]] = keys;
  // Words of scales, for each slice of a key.
  if (inits.size() > 2)
    setFilled(2, keys * double(columnsOf(inits[2])) * sizeof(int32_t) * heads /
                     double(columnsOf(inits[0])));
}

/// What the parts of an indexer's rows hand over (docs/Nvptx.md, Indexer).
void LaunchTraffic::Counter::countEntries() {
  if (!name.starts_with("indexer") && !name.starts_with("candidate_indexer"))
    return;
  constexpr int64_t items = 128, leastKeys = 1024, entryBytes = 4;
  auto keys = cast<IndexKeysType>(inputs[2].getType());
  bool isCandidates = name.starts_with("candidate"),
       keepsBlocks = inits.size() >= 7;
  int64_t size =
      isCandidates || keepsBlocks ? std::max<int64_t>(context.blockSize, 1) : 1;
  if (isCandidates)
    candidates = double(rows * columnsOf(inputs[5]) * size);
  int64_t most = (rows + items - 1) / rows;
  double positions = 0, blocks = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t reach = getReach(keys.getRatio(), row);
    int64_t reached = llvm::divideCeil(reach, size);
    int64_t units = isCandidates ? columnsOf(inputs[5]) : reached;
    // A dot product and its weighted sum, for each head.
    flops += double(std::min(reach, units * size) * columnsOf(inputs[1])) *
             double(2 * keys.getDim() + 2);
    int64_t ofPart = std::max<int64_t>(llvm::divideCeil(units, most),
                                       llvm::divideCeil(leastKeys, size));
    for (int64_t first = 0; first < units; first += ofPart) {
      int64_t here = std::clamp<int64_t>(reached - first, 0, ofPart);
      int64_t keysHere =
          std::min(here * size, std::max<int64_t>(reach - first * size, 0));
      ++parts;
      positions += double(std::min(keysHere, columnsOf(inits[1])));
      if (keepsBlocks)
        blocks += double(std::min(here, columnsOf(inits[4])));
    }
    if (isCandidates)
      read[5] -= double(std::max<int64_t>(units - reached - 1, 0)) * entryBytes;
  }
  auto fill = [&](unsigned first, double entries) {
    setFilled(first, entries * entryBytes);
    setFilled(first + 1, entries * entryBytes);
    setFilled(first + 2, parts * entryBytes);
  };
  fill(1, positions);
  if (keepsBlocks)
    fill(4, blocks);
}

Traffic LaunchTraffic::count(DispatchOp dispatch, ShapeOf shapeOf) {
  return Counter(*this, dispatch, shapeOf).run();
}
