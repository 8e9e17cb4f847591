//===- InsertChecks.cpp - Checks of values as the model runs --------------===//
//
// Every result that may be NaN is checked where it is made, ids and ring slots
// where they are used. A check is named after its operation: by the weight
// that it applies, else by its kind and the part of the layer it is in, which
// is what the names of rounding points begin with.
//
//===----------------------------------------------------------------------===//

#include "CallOrder.h"
#include "LayerVariants.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_INSERTCHECKSPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

//===----------------------------------------------------------------------===//
// Facts of functions
//===----------------------------------------------------------------------===//

namespace {
/// What the checks of a function have in common.
struct FunctionFacts {
  Value position; // of each row; null where there is none
  Value layer;
  std::string prefix; // of the layer's names, such as "layers.{l}."
};
} // namespace

static bool isArgument(func::FuncOp function, Value value) {
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  return argument && argument.getOwner() == &function.front();
}

/// The table of positions that the operations of a function use.
static Value findPosition(func::FuncOp function) {
  Value position;
  function.walk([&](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case<RopeTableOp, CSA2Op, DraftAttentionOp, AppendWindowOp>(
            [&](auto user) { position = user.getPosition(); });
    return position ? WalkResult::interrupt() : WalkResult::advance();
  });
  return isArgument(function, position) ? position : Value();
}

/// The layer, and how the names of its parameters begin.
static void findLayer(func::FuncOp function, SymbolTable &symbols,
                      FunctionFacts &facts) {
  function.walk([&](ParamRefOp ref) {
    auto param = symbols.lookup<ParamOp>(ref.getParam());
    if (!param || !isArgument(function, ref.getLayer()))
      return WalkResult::advance();
    constexpr StringLiteral layer = "{l}";
    StringRef name = param.getTensor();
    facts.prefix = (name.take_front(name.find(layer)) + layer + ".").str();
    facts.layer = ref.getLayer();
    return WalkResult::interrupt();
  });
}

namespace {
/// The positions of the rows of a tensor: those of a table, or of the rows of
/// the table that were chosen.
struct RowPositions {
  Value table, rows;
};
} // namespace

/// Those of the first operand that has rows, and so on; the arguments of the
/// function have the positions of its table, rows that were gathered their own.
static RowPositions findPositions(Value value, Value table) {
  Operation *op = value.getDefiningOp();
  if (!op || !table)
    return {table, {}};
  auto gather = dyn_cast<GatherRowsOp>(op);
  if (auto last = gather ? gather.getRows().getDefiningOp<LastRowsOp>()
                         : dyn_cast<LastRowsOp>(op))
    return {last.getPositionAfter(), {}};
  auto input = llvm::find_if(op->getOperands(), hasRows);
  if (input == op->operand_end())
    return {table, {}};
  RowPositions found = findPositions(*input, table);
  if (gather)
    found.rows = gather.getRows();
  return found;
}

/// Functions without positions get them from their callers, where all of these
/// are calls that have some.
static void
handPositionsOn(ModuleOp module,
                llvm::MapVector<func::FuncOp, FunctionFacts> &functions) {
  for (auto &[function, facts] : functions) {
    SmallVector<func::CallOp> calls = getCalls(function);
    auto getCallers = [&](func::CallOp call) {
      auto input = llvm::find_if(call.getOperands(), hasRows);
      Value table =
          functions.lookup(call->getParentOfType<func::FuncOp>()).position;
      return input == call->operand_end() ? table
                                          : findPositions(*input, table).table;
    };
    auto uses = SymbolTable::getSymbolUses(function, module);
    if (facts.position || calls.empty() || !uses ||
        size_t(llvm::range_size(*uses)) != calls.size() ||
        !llvm::all_of(calls, getCallers))
      continue;
    unsigned last = function.getNumArguments();
    if (failed(function.insertArgument(last, getCallers(calls[0]).getType(), {},
                                       function.getLoc())))
      continue;
    facts.position = function.getArgument(last);
    for (func::CallOp call : calls)
      call->insertOperands(last, getCallers(call));
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// "attn" of "attn.wq_a"; null for operations that are no rounding points.
static StringRef getScope(Operation *op) {
  if (!isa<RoundOp, QuantizeOp>(op))
    return {};
  return op->getAttrOfType<StringAttr>("point").getValue().split('.').first;
}

/// The parameter that an operation applies or looks up; null for the others,
/// which use one in passing.
static ParamOp getParam(Operation *op, SymbolTable &symbols) {
  if (!isa<EmbedOp, EngramLookupOp, ExpertLinearOp, GroupedLinearOp, LinearOp,
           ProjectOp, RMSNormOp>(op))
    return {};
  for (Value operand : op->getOperands())
    if (auto ref = operand.getDefiningOp<ParamRefOp>())
      return symbols.lookup<ParamOp>(ref.getParam());
  return {};
}

/// The checkpoint's name of the parameter, for all experts.
static std::string getName(ParamOp param) {
  StringRef name = param.getTensor();
  name.consume_back(".weight");
  auto [before, after] = name.split(".{e}");
  return (before + after).str();
}

//===----------------------------------------------------------------------===//
// Checks of a function
//===----------------------------------------------------------------------===//

namespace {
class CheckInserter {
public:
  CheckInserter(const FunctionFacts &facts, SymbolTable &symbols)
      : facts(facts), symbols(symbols),
        b(symbols.getOp()->getLoc(), symbols.getOp()->getContext()) {}

  void insert(func::FuncOp function) {
    SmallVector<Operation *> work;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa_and_nonnull<DSFlashDialect>(op->getDialect()) ||
          isa<func::CallOp>(op))
        work.push_back(op);
    });
    nameAll(work);
    for (Operation *op : work) {
      b.setLoc(op->getLoc());
      b.setInsertionPoint(op);
      checkUses(op);
      b.setInsertionPointAfter(op);
      checkResults(op);
    }
  }

private:
  /// An operation lies in the part whose rounding point comes next.
  void nameAll(ArrayRef<Operation *> work) {
    StringRef scope;
    for (Operation *op : llvm::reverse(work)) {
      if (StringRef own = getScope(op); !own.empty())
        scope = own;
      else if (isa<LayerOp, EncoderOp, DecoderOp, func::CallOp>(op))
        scope = {};
      std::string &name = names[op];
      if (ParamOp param = getParam(op, symbols)) {
        name = getName(param);
        continue;
      }
      name = facts.prefix;
      if (!scope.empty())
        name += (scope + ".").str();
      name += op->getName().stripDialect();
    }
    // What a rounding point rounds gives it the name.
    for (Operation *op : work)
      if (auto round = dyn_cast<RoundOp>(op))
        if (Operation *source = round.getInput().getDefiningOp())
          if (auto known = names.find(source); known != names.end())
            names[op] = known->second;
  }

  Value layerOf(StringRef name) {
    return name.contains("{l}") ? facts.layer : Value();
  }

  void checkResults(Operation *op) {
    // Features are inserted part by part, confidences at chosen rows; layers
    // have checks inside.
    if (isa<ConfidenceOp, DecoderOp, EncoderOp, InsertFeatureOp, LayerOp,
            LoadOp, ProbeOp, QuantizeOp, RopeTableOp, func::CallOp>(op))
      return;
    for (Value result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type)
        continue;
      bool isRounded =
          result.hasOneUse() && isa<RoundOp>(*result.getUsers().begin());
      if (!type.getElementType().isF32() || isRounded)
        continue;
      StringRef name = names[op];
      RowPositions positions = findPositions(result, facts.position);
      CheckNaNOp::create(b, name, result, positions.table, positions.rows,
                         layerOf(name));
    }
  }

  void checkUses(Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](EmbedOp embed) {
          checkIds(embed.getIdsMutable(), Check::Row,
                   embed.getTable().getType().getRows());
        })
        .Case([&](EngramHashOp hash) {
          int64_t tokens = hash.getTokenMap().getType().getColumns();
          checkIds(hash.getTokensMutable(), Check::Row, tokens);
          checkIds(hash.getLookBackMutable(), Check::Row, tokens,
                   /*optional=*/true);
        })
        .Case([&](EngramLookupOp lookup) {
          checkIds(lookup.getRowsMutable(), Check::Row,
                   lookup.getTable().getType().getRows());
        })
        .Case([&](GatherRowsOp gather) {
          if (!facts.position || gather.getRows().getDefiningOp<LastRowsOp>())
            return;
          Value rows = tensor::DimOp::create(b, gather.getInput(), 0);
          checkIds(gather.getRowsMutable(), Check::Row, rows);
        })
        .Case([&](GroupByExpertOp group) {
          int64_t experts = group.getOffsets().getType().getDimSize(0) - 1;
          checkIds(group.getExpertsMutable(), Check::Expert, experts);
        })
        .Case([&](AppendOp append) {
          auto state = cast<StateTypeInterface>(append.getState().getType());
          checkIds(append.getPositionMutable(), Check::Row,
                   state.getRowCount() * state.getPositionsPerRow());
        })
        .Case([&](IndexerOp indexer) {
          if (!indexer.getCandidates())
            return;
          int64_t rows = indexer.getKeys().getType().getRows();
          checkIds(indexer.getCandidatesMutable()[0], Check::Row,
                   llvm::divideCeil(rows, indexer.getBlockSize()),
                   /*optional=*/true);
        })
        .Case([&](CSA2Op attention) {
          if (!attention.getWithinCall())
            checkWindow(attention, attention.getSlidingWindow() - 1);
          if (!attention.getSelection() || !attention.getGlobalKv())
            return;
          GlobalKVType global = attention.getGlobalKv().getType();
          checkIds(attention.getSelectionMutable()[0], Check::Row,
                   global.getRows(), /*optional=*/true, global.getRatio());
        })
        .Case([&](DraftAttentionOp attention) {
          checkWindow(attention, attention.getSlidingWindow());
        });
  }

  void checkIds(OpOperand &ids, Check kind, int64_t limit,
                bool optional = false, int64_t positionsPerRow = 0) {
    checkIds(ids, kind, arith::ConstantIndexOp::create(b, limit), optional,
             positionsPerRow);
  }

  void checkIds(OpOperand &ids, Check kind, Value limit, bool optional = false,
                int64_t positionsPerRow = 0) {
    StringRef name = names[ids.getOwner()];
    bool hasPosition = facts.position && hasARowForEachPosition(ids.get());
    auto check = CheckIdsOp::create(
        b, ids.get().getType(), kind, name, ids.get(), limit,
        hasPosition ? facts.position : Value(), layerOf(name), optional,
        hasPosition ? positionsPerRow : 0);
    ids.set(check.getResult());
  }

  /// What an entry takes says what its first extent counts.
  static bool hasARowForEachPosition(Value ids) {
    auto argument = dyn_cast<BlockArgument>(ids);
    if (!argument)
      return true;
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto dim = function ? function.getArgAttrOfType<StringAttr>(
                              argument.getArgNumber(), dimAttrName)
                        : StringAttr();
    return !dim || dim.getValue() == "rows";
  }

  template <typename OpTy> void checkWindow(OpTy attention, int64_t count) {
    StringRef name = names[attention];
    auto check = CheckWindowOp::create(
        b, attention.getWindow().getType(), name, attention.getWindow(),
        attention.getLayer(), attention.getSequence(), attention.getPosition(),
        attention.getExtents(), layerOf(name), count);
    attention.getWindowMutable().assign(check.getResult());
  }

  const FunctionFacts &facts;
  SymbolTable &symbols;
  ImplicitLocOpBuilder b;
  DenseMap<Operation *, std::string> names;
};

/// Slots of the rings keep their positions from now on.
void keepPositions(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](WindowType window) -> Type {
    return WindowType::get(window.getContext(), window.getLayers(),
                           window.getSlots(), window.getDim(),
                           window.getFormat(), /*positions=*/true);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

struct InsertChecks : dsflash::impl::InsertChecksPassBase<InsertChecks> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    keepPositions(module);
    SymbolTable symbols(module);
    llvm::MapVector<func::FuncOp, FunctionFacts> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(kernelAttrName))
        functions[function].position = findPosition(function);
    handPositionsOn(module, functions);
    for (auto &[function, facts] : functions) {
      findLayer(function, symbols, facts);
      CheckInserter(facts, symbols).insert(function);
    }
  }
};
} // namespace
