//===- PlanMemory.cpp - Every buffer a piece of a workspace ---------------===//
//
// Sizes and offsets are linear in the number of rows n, so that one plan serves
// every call: two pieces are apart for all n when both coefficients say so.
//
//===----------------------------------------------------------------------===//

#include "CallOrder.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

namespace {

constexpr int64_t alignment = 64;

/// rows * n + fixed, of bytes or of elements.
struct Linear {
  int64_t rows = 0;
  int64_t fixed = 0;

  Linear operator+(Linear other) const {
    return {rows + other.rows, fixed + other.fixed};
  }
  Linear operator*(int64_t factor) const {
    return {rows * factor, fixed * factor};
  }
  /// Not more, whatever n is.
  bool operator<=(Linear other) const {
    return rows <= other.rows && fixed <= other.fixed;
  }
};

Linear max(Linear a, Linear b) {
  return {std::max(a.rows, b.rows), std::max(a.fixed, b.fixed)};
}

/// Bytes that are needed from one operation of a function's block to another,
/// both included: a buffer, or what a callee needs during its call.
struct Piece {
  Operation *op;
  Linear size;
  unsigned first, last;
  Linear offset;

  bool overlapsInTime(const Piece &other) const {
    return first <= other.last && other.first <= last;
  }
  bool overlapsInSpace(const Piece &other) const {
    return !(offset + size <= other.offset) &&
           !(other.offset + other.size <= offset);
  }
};

/// Larger pieces are placed first, equal ones in the order of the program.
bool isPlacedBefore(const Piece *a, const Piece *b) {
  return std::tie(b->size.rows, b->size.fixed, a->first, a) <
         std::tie(a->size.rows, a->size.fixed, b->first, b);
}

/// Finds a place for every piece. Gives the bytes that hold all of them.
Linear place(MutableArrayRef<Piece> pieces) {
  SmallVector<Piece *> order;
  for (Piece &piece : pieces)
    order.push_back(&piece);
  llvm::sort(order, isPlacedBefore);

  Linear total;
  for (auto [number, piece] : llvm::enumerate(order)) {
    auto inTheWay = [piece = piece](const Piece *other) {
      return piece->overlapsInTime(*other) && piece->overlapsInSpace(*other);
    };
    ArrayRef<Piece *> placed = ArrayRef(order).take_front(number);
    for (const auto *other = llvm::find_if(placed, inTheWay);
         other != placed.end(); other = llvm::find_if(placed, inTheWay))
      piece->offset = max(piece->offset, (*other)->offset + (*other)->size);
    total = max(total, piece->offset + piece->size);
  }
  return total;
}

/// The plan of one function.
class Planner {
public:
  Planner(func::FuncOp function, const llvm::StringMap<Linear> &callees)
      : function(function), callees(callees) {}

  /// Replaces allocations and extends calls; gives the bytes of the workspace.
  FailureOr<Linear> run();

private:
  LogicalResult collect();
  LogicalResult addBuffer(memref::AllocOp alloc);
  LogicalResult addCall(func::CallOp call);
  /// Extends `piece` to all uses of a buffer and of what is made of it.
  LogicalResult extendToUses(Value buffer, Piece &piece);

  /// An index in terms of n, an argument's leading extent.
  FailureOr<Linear> getLinear(Value index);
  /// A buffer's leading extent; nothing where it is static.
  FailureOr<Linear> getLeadingExtent(Value buffer);

  void addWorkspace();
  Value materialize(ImplicitLocOpBuilder &builder, Linear bytes);
  void rewrite(const Piece &piece);

  func::FuncOp function;
  const llvm::StringMap<Linear> &callees;
  DenseMap<Operation *, unsigned> positions; // in the function's block
  SmallVector<Piece> pieces;
  Value rows, workspace;
};

} // namespace

FailureOr<Linear> Planner::getLinear(Value index) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    if (*constant >= 0)
      return Linear{0, *constant};
  Operation *op = index.getDefiningOp();
  if (auto dim = dyn_cast_or_null<memref::DimOp>(op))
    if (dim.getConstantIndex() == 0)
      return getLeadingExtent(dim.getSource());
  if (auto sum = dyn_cast_or_null<arith::AddIOp>(op)) {
    FailureOr<Linear> a = getLinear(sum.getLhs()), b = getLinear(sum.getRhs());
    if (succeeded(a) && succeeded(b))
      return *a + *b;
  }
  if (auto product = dyn_cast_or_null<arith::MulIOp>(op)) {
    FailureOr<Linear> a = getLinear(product.getLhs()),
                      b = getLinear(product.getRhs());
    if (succeeded(a) && succeeded(b) && (a->rows == 0 || b->rows == 0))
      return a->rows == 0 ? *b * a->fixed : *a * b->fixed;
  }
  // Not more than either.
  if (auto least = dyn_cast_or_null<arith::MinSIOp>(op))
    for (Value bound : least->getOperands())
      if (FailureOr<Linear> linear = getLinear(bound); succeeded(linear))
        return linear;
  return failure();
}

FailureOr<Linear> Planner::getLeadingExtent(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.getRank() == 0 || !type.isDynamicDim(0))
    return Linear();
  if (isa<BlockArgument>(buffer) &&
      buffer.getParentBlock() == &function.getBody().front())
    return Linear{1, 0};
  if (auto alloc = buffer.getDefiningOp<memref::AllocOp>())
    return getLinear(alloc.getDynamicSizes().front());
  return failure();
}

LogicalResult Planner::extendToUses(Value buffer, Piece &piece) {
  Block &block = function.getBody().front();
  for (Operation *user : buffer.getUsers()) {
    if (isa<func::ReturnOp>(user))
      return user->emitOpError() << "returns a buffer of the function's own";
    unsigned position = positions.lookup(block.findAncestorOpInBlock(*user));
    piece.first = std::min(piece.first, position);
    piece.last = std::max(piece.last, position);
    for (Value result : user->getResults())
      if (isa<BaseMemRefType>(result.getType()) &&
          failed(extendToUses(result, piece)))
        return failure();
  }
  return success();
}

LogicalResult Planner::addBuffer(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  ArrayRef<int64_t> shape = type.getShape();
  if (!type.getLayout().isIdentity() ||
      (!shape.empty() && ShapedType::isDynamicShape(shape.drop_front())))
    return alloc.emitOpError() << "expected a plain layout with no dynamic "
                                  "extent but the leading one";
  FailureOr<Linear> leading = getLeadingExtent(alloc);
  if (failed(leading))
    return alloc.emitOpError()
           << "expected the leading extent to be a constant "
              "times the one of an argument plus a constant";
  int64_t bytes = DataLayout::closest(alloc).getTypeSize(type.getElementType());
  for (int64_t extent : shape)
    bytes *= ShapedType::isDynamic(extent) ? 1 : extent;
  Linear size = type.hasStaticShape() ? Linear{0, bytes} : *leading * bytes;
  for (int64_t *part : {&size.rows, &size.fixed})
    *part = llvm::alignTo(*part, alignment);

  Piece piece{alloc, size, std::numeric_limits<unsigned>::max(), 0, Linear()};
  if (failed(extendToUses(alloc, piece)))
    return failure();
  pieces.push_back(piece);
  return success();
}

LogicalResult Planner::addCall(func::CallOp call) {
  auto callee = callees.find(call.getCallee());
  if (callee == callees.end())
    return success();
  Linear most; // the callee's n is not more
  for (Value operand : call.getOperands()) {
    if (!isa<MemRefType>(operand.getType()))
      continue;
    FailureOr<Linear> ofOperand = getLeadingExtent(operand);
    if (failed(ofOperand))
      return call.emitOpError() << "passes a buffer of unknown extent";
    most = max(most, *ofOperand);
  }
  Linear need = most * callee->second.rows + Linear{0, callee->second.fixed};
  unsigned position =
      positions.lookup(function.getBody().front().findAncestorOpInBlock(*call));
  pieces.push_back({call, need, position, position, Linear()});
  return success();
}

LogicalResult Planner::collect() {
  for (auto [position, op] :
       llvm::enumerate(function.getBody().front().getOperations()))
    positions[&op] = position;
  WalkResult result = function.walk([&](Operation *op) {
    LogicalResult added = success();
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      added = addBuffer(alloc);
    else if (auto call = dyn_cast<func::CallOp>(op))
      added = addCall(call);
    else if (isa<memref::DeallocOp>(op))
      added = op->emitOpError() << "expected nothing to be deallocated";
    return failed(added) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Adds the argument, and n at the start of the function.
void Planner::addWorkspace() {
  auto builder = ImplicitLocOpBuilder::atBlockBegin(
      function.getLoc(), &function.getBody().front());
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || type.getRank() == 0 || !type.isDynamicDim(0))
      continue;
    Value extent = memref::DimOp::create(builder, argument, 0);
    rows = rows ? Value(arith::MaxSIOp::create(builder, rows, extent)) : extent;
  }
  if (!rows)
    rows = arith::ConstantIndexOp::create(builder, 0);

  auto type = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  auto attributes = builder.getDictionaryAttr(
      builder.getNamedAttr(workspaceAttrName, builder.getUnitAttr()));
  (void)function.insertArgument(function.getNumArguments(), type, attributes,
                                function.getLoc());
  workspace = function.getArguments().back();
}

Value Planner::materialize(ImplicitLocOpBuilder &builder, Linear bytes) {
  Value fixed = arith::ConstantIndexOp::create(builder, bytes.fixed);
  if (bytes.rows == 0)
    return fixed;
  Value perRow = arith::ConstantIndexOp::create(builder, bytes.rows);
  Value product = arith::MulIOp::create(builder, rows, perRow);
  return builder.createOrFold<arith::AddIOp>(product, fixed);
}

void Planner::rewrite(const Piece &piece) {
  ImplicitLocOpBuilder builder(piece.op->getLoc(), piece.op);
  auto view = [&](MemRefType type, ValueRange sizes) {
    return memref::ViewOp::create(builder, type, workspace,
                                  materialize(builder, piece.offset), sizes);
  };
  if (auto alloc = dyn_cast<memref::AllocOp>(piece.op)) {
    alloc.replaceAllUsesWith(
        view(alloc.getType(), alloc.getDynamicSizes()).getResult());
    alloc.erase();
    return;
  }
  auto call = cast<func::CallOp>(piece.op);
  Value part = view(cast<MemRefType>(workspace.getType()),
                    materialize(builder, piece.size));
  call.getOperandsMutable().append(part);
}

FailureOr<Linear> Planner::run() {
  if (failed(collect()))
    return failure();
  Linear total = place(pieces);
  addWorkspace();
  for (const Piece &piece : pieces)
    rewrite(piece);
  Builder builder(function.getContext());
  function->setAttr(workspaceRowBytesAttrName,
                    builder.getI64IntegerAttr(total.rows));
  function->setAttr(workspaceFixedBytesAttrName,
                    builder.getI64IntegerAttr(total.fixed));
  return total;
}

namespace {
struct PlanMemory : dsflash::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    auto functions = sortCalleesFirst(getOperation());
    if (failed(functions))
      return signalPassFailure();
    llvm::StringMap<Linear> plans;
    for (func::FuncOp function : *functions) {
      FailureOr<Linear> plan = Planner(function, plans).run();
      if (failed(plan))
        return signalPassFailure();
      plans[function.getSymName()] = *plan;
    }
  }
};
} // namespace
