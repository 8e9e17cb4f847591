//===- ContextCost.cpp - What a step costs behind a long context ----------===//

#include "ContextCost.h"
#include "LaunchTraffic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::dsflash;

static int64_t getColumns(Value table) {
  return cast<RankedTensorType>(table.getType()).getDimSize(1);
}

static void addAttention(CSA2Op op, ContextCost &cost) {
  cost.slidingWindow = op.getSlidingWindow();
  int64_t window = std::min(cost.tokens, cost.slidingWindow);
  int64_t selected = 0;
  if (GlobalKVType rows =
          op.getGlobalKv() ? op.getGlobalKv().getType() : GlobalKVType()) {
    selected =
        std::min(getColumns(op.getSelection()), cost.tokens / rows.getRatio());
    cost.globalBytes += double(selected) * getRowBytes(rows);
  }
  WindowType ring = op.getWindow().getType();
  cost.windowBytes += double(window) * getRowBytes(ring);
  // Scores and values.
  cost.attentionFlops +=
      4.0 * double(window + selected) * double(op.getHeads() * ring.getDim());
}

static void addIndexer(IndexerOp op, ContextCost &cost) {
  IndexKeysType keys = op.getKeys().getType();
  cost.blockSize = std::max<int64_t>(cost.blockSize, op.getBlockSize());
  int64_t rows = cost.tokens / keys.getRatio();
  Value candidates = op.getCandidates();
  if (candidates)
    rows = std::min<int64_t>(rows, getColumns(candidates) * op.getBlockSize());
  (candidates ? cost.candidateRows : cost.scannedRows) += rows;
  (candidates ? cost.candidateBytes : cost.scannedBytes) +=
      double(rows) * getRowBytes(keys);
  // A dot product and its weighted sum, for each head.
  cost.indexFlops += double(rows) * double(getColumns(op.getWeights())) *
                     double(2 * keys.getDim() + 2);
}

static void addFunction(func::FuncOp function, ContextCost &cost) {
  function.walk([&](Operation *op) {
    if (auto attention = dyn_cast<CSA2Op>(op))
      addAttention(attention, cost);
    else if (auto indexer = dyn_cast<IndexerOp>(op))
      addIndexer(indexer, cost);
    else if (auto call = dyn_cast<func::CallOp>(op))
      if (auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
              call, call.getCalleeAttr()))
        addFunction(callee, cost);
  });
}

/// Positions that all states have room for.
static int64_t getMaxPositions(func::FuncOp entry) {
  int64_t most = std::numeric_limits<int64_t>::max();
  for (Type type : entry.getArgumentTypes()) {
    auto state = dyn_cast<StateTypeInterface>(type);
    if (state && state.getPositionsPerRow())
      most = std::min(most, state.getRowCount() * state.getPositionsPerRow());
  }
  return most;
}

std::vector<ContextCost> countContexts(ModuleOp module) {
  std::vector<ContextCost> costs;
  auto entry = module.lookupSymbol<func::FuncOp>("forward");
  if (!entry || entry.isExternal())
    return costs;
  int64_t most = getMaxPositions(entry);
  for (int64_t tokens : {1 << 12, 1 << 16, 1 << 20}) {
    if (tokens > most && !costs.empty())
      break;
    costs.emplace_back().tokens = std::min(tokens, most);
    addFunction(entry, costs.back());
  }
  return costs;
}
