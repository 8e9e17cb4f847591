//===- DeriveTail.cpp - The decoder over a prompt's last positions --------===//
//
// docs/Phases.md draws the trapezoid. Rows are narrowed between layers: the
// tables of a level are those of the rows for which the next layer runs.
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_DERIVETAILPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

namespace {

/// Row tables of a call, and where rows of the whole call went.
struct RowTables {
  Value sequence, position, extents;
  /// Of each sequence, how many of its last rows have outputs.
  Value wanted;

  LastRowsOp takeLast(OpBuilder &b, Location loc, int64_t count,
                      int64_t skip = 0) const {
    return LastRowsOp::create(b, loc,
                              TypeRange{sequence.getType(), sequence.getType(),
                                        position.getType(), extents.getType()},
                              sequence, position, extents, wanted, count, skip);
  }
  static RowTables of(LastRowsOp op) {
    return {op.getSequenceAfter(), op.getPositionAfter(), op.getExtentsAfter(),
            op.getWanted()};
  }
};

/// Rewrites the decoder so that each layer gets the rows that it needs.
class Narrower {
public:
  Narrower(CEDFunction &parts, LayerVariants &variants, bool bounded)
      : parts(parts), variants(variants), bounded(bounded),
        whole{parts.getArgument("sequence"), parts.getArgument("position"),
              parts.getArgument("extents"), parts.getArgument("wanted")},
        tables(whole) {}

  /// Runs over the decoder; its results are rows of the last level.
  void run(int64_t window);
  /// Rows of a sequence from which its last one can be computed.
  int64_t getFirstRows() const { return firstRows; }

private:
  void runLayer(LayerOp layer, int64_t after);
  /// From here on there are only the `count` rows up to each wanted one.
  void narrow(OpBuilder &b, Location loc, int64_t count);
  /// The rows of a value that the current level has.
  Value atLevel(OpBuilder &b, Value value);
  Value select(OpBuilder &b, Value value, const RowTables &to, Value rows);
  void replaceRows(Operation *op);

  CEDFunction &parts;
  LayerVariants &variants;
  bool bounded;
  RowTables whole, tables;
  int64_t firstRows = 0, level = 0;
  int64_t levelRows = 0;          // of a sequence with one wanted row
  SmallVector<Value> rowsOfLevel; // of the level before, by level - 1
  DenseMap<Value, std::pair<int64_t, Value>> current; // level, rows
};

} // namespace

Value Narrower::select(OpBuilder &b, Value value, const RowTables &to,
                       Value rows) {
  if (value == whole.sequence)
    return to.sequence;
  if (value == whole.position)
    return to.position;
  if (value == whole.extents)
    return to.extents;
  if (!hasRows(value))
    return value;
  if (!rows)
    return value;
  return GatherRowsOp::create(b, value.getLoc(), value.getType(), value, rows);
}

Value Narrower::atLevel(OpBuilder &b, Value value) {
  if (value == whole.sequence || value == whole.position ||
      value == whole.extents || !hasRows(value))
    return select(b, value, tables, {});
  // Values from outside of the decoder have all rows.
  auto [entry, isNew] = current.try_emplace(value, 0, value);
  auto [from, rows] = entry->second;
  for (; from < level; ++from)
    rows = GatherRowsOp::create(b, value.getLoc(), value.getType(), rows,
                                rowsOfLevel[from]);
  current[value] = {level, rows};
  return rows;
}

void Narrower::replaceRows(Operation *op) {
  OpBuilder b(op);
  for (OpOperand &operand : op->getOpOperands())
    operand.set(atLevel(b, operand.get()));
}

void Narrower::narrow(OpBuilder &b, Location loc, int64_t count) {
  if (count == levelRows)
    return;
  LastRowsOp last = tables.takeLast(b, loc, count);
  tables = RowTables::of(last);
  rowsOfLevel.push_back(last.getRows());
  levelRows = count;
  ++level;
}

void Narrower::runLayer(LayerOp layer, int64_t after) {
  OpBuilder b(layer);
  if (after < levelRows) {
    // Rows that get window KV and no more.
    LastRowsOp lead = tables.takeLast(b, layer.getLoc(), levelRows, after);
    LayerOp copy = cast<LayerOp>(b.clone(*layer));
    LayerOp window = variants.create(b, copy, LayerPart::Window);
    copy.erase();
    b.setInsertionPoint(window);
    Value before;
    for (OpOperand &operand : window->getOpOperands()) {
      Value value = operand.get();
      if (isa<WindowType>(value.getType()))
        before = value;
      Value rows = atLevel(b, value);
      if (value == whole.sequence)
        rows = lead.getSequenceAfter();
      else if (value == whole.position)
        rows = lead.getPositionAfter();
      else if (value == whole.extents)
        rows = lead.getExtentsAfter();
      else if (hasRows(value))
        rows = GatherRowsOp::create(b, value.getLoc(), value.getType(), rows,
                                    lead.getRows());
      operand.set(rows);
    }
    for (OpOperand &operand : layer->getOpOperands())
      if (operand.get() == before)
        operand.set(window->getResult(0));
    b.setInsertionPoint(layer);
    narrow(b, layer.getLoc(), after);
  }
  bool reads = layer.getMode() == Mode::Full || bounded;
  LayerOp part = layer;
  if (reads) {
    part = variants.create(b, layer, LayerPart::Reading);
    const auto &kept =
        variants.get(layer.getCallee(), LayerPart::Reading).results;
    for (auto [number, result] : llvm::zip_equal(kept, part.getResults()))
      layer->getResult(number).replaceAllUsesWith(result);
    // Global KV, keys and pending groups stay as they were.
    for (Value result : layer.getResults())
      if (!result.use_empty())
        result.replaceAllUsesWith(getFirstState(result));
    layer.erase();
  }
  replaceRows(part);
  for (Value result : part.getResults())
    if (hasRows(result))
      current[result] = {level, result};
}

void Narrower::run(int64_t window) {
  auto count = int64_t(parts.layers.size());
  // The rows for which each layer runs.
  SmallVector<int64_t> rows(count, window);
  for (int64_t i = 0; i < count && !bounded; ++i)
    rows[i] = 1 + (count - 1 - i) * (window - 1);
  firstRows = bounded ? window : rows[0] + window - 1;
  levelRows = firstRows;

  int64_t number = 0;
  Block &body = parts.decoder.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (auto layer = dyn_cast<LayerOp>(op)) {
      runLayer(layer, rows[number++]);
      continue;
    }
    OpBuilder b(&op);
    if (auto insert = dyn_cast<InsertFeatureOp>(op)) {
      LastRowsOp to = whole.takeLast(b, op.getLoc(), levelRows);
      insert.getRowsMutable().assign(to.getRows());
      insert.getInputMutable().assign(atLevel(b, insert.getInput()));
      continue;
    }
    if (isa<YieldOp>(op)) {
      narrow(b, op.getLoc(), 1);
      auto isFeatures = [](Value value) {
        return value.getDefiningOp<InsertFeatureOp>();
      };
      for (OpOperand &operand : op.getOpOperands())
        if (!isFeatures(operand.get()))
          operand.set(atLevel(b, operand.get()));
      continue;
    }
    replaceRows(&op);
    for (Value result : op.getResults())
      if (hasRows(result))
        current[result] = {level, result};
  }
}

namespace {
struct DeriveTail : dsflash::impl::DeriveTailPassBase<DeriveTail> {
  using Base::Base;

  void runOnOperation() override {
    auto cloned =
        cloneForward(getOperation(), bounded ? "bounded_tail" : "tail");
    if (failed(cloned) || (*cloned && failed(derive(**cloned))))
      signalPassFailure();
  }

  LogicalResult derive(CEDFunction parts) {
    FailureOr<int64_t> window = getSlidingWindow(parts);
    if (failed(window))
      return failure();
    func::FuncOp function = parts.function;
    cutEncoder(parts);
    addArgument(function, parts.getArgument("position").getType(), "wanted",
                "sequences");
    LayerVariants variants(getOperation(), bounded);
    Narrower narrower(parts, variants, bounded);
    narrower.run(*window);
    function->setAttr(
        lastRowsAttrName,
        Builder(&getContext()).getI64IntegerAttr(narrower.getFirstRows()));

    // Global state is not written: it is no result.
    SmallVector<Value> values;
    SmallVector<Attribute> attributes;
    Operation *terminator = function.getBody().front().getTerminator();
    for (OpOperand &result : terminator->getOpOperands()) {
      if (isGlobalState(result.get()))
        continue;
      values.push_back(result.get());
      attributes.push_back(
          function.getResultAttrDict(result.getOperandNumber()));
    }
    setResults(function, values, attributes);
    return success();
  }

  static Value addArgument(func::FuncOp function, Type type, StringRef name,
                           StringRef dim) {
    unsigned number = function.getNumArguments();
    (void)function.insertArgument(
        number, type, getEntryAttrs(function.getContext(), name, dim),
        function.getLoc());
    return function.getArgument(number);
  }

  /// The encoder's rows are arguments, states are what they were before it.
  void cutEncoder(CEDFunction &parts) {
    func::FuncOp function = parts.function;
    for (auto [value, name] : {std::pair(parts.getStream(), "stream"),
                               std::pair(parts.getPre(), "pre")}) {
      value.replaceAllUsesWith(
          addArgument(function, value.getType(), name, "rows"));
    }
    Operation *yield = parts.encoder.getBody().front().getTerminator();
    for (auto [result, yielded] :
         llvm::zip_equal(parts.encoder->getResults(), yield->getOperands()))
      if (!result.use_empty())
        result.replaceAllUsesWith(isa<StateTypeInterface>(result.getType())
                                      ? getFirstState(yielded)
                                      : yielded);
    parts.encoder.erase();
  }

  FailureOr<int64_t> getSlidingWindow(CEDFunction &parts) {
    int64_t window = 0;
    for (LayerOp layer : parts.layers) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          layer, layer.getCalleeAttr());
      callee.walk([&](CSA2Op op) {
        window = std::max<int64_t>(window, op.getSlidingWindow());
      });
    }
    if (window == 0)
      return parts.decoder.emitOpError()
             << "expected a layer with a sliding window";
    return window;
  }
};
} // namespace
