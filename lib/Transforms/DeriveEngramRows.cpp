//===- DeriveEngramRows.cpp - Entries that say which rows are read next ---===//

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_DERIVEENGRAMROWSPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

/// The layer whose call takes these rows.
static std::optional<int64_t> getLayer(EngramHashOp hash) {
  for (Operation *user : hash->getUsers()) {
    APInt layer;
    auto call = dyn_cast<func::CallOp>(user);
    if (call && call.getNumOperands() > 0 &&
        matchPattern(call.getOperand(0), m_ConstantInt(&layer)))
      return layer.getSExtValue();
  }
  return std::nullopt;
}

namespace {
struct DeriveEngramRows
    : dsflash::impl::DeriveEngramRowsPassBase<DeriveEngramRows> {
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward || forward.isExternal())
      return;
    for (auto hash : forward.getOps<EngramHashOp>())
      if (std::optional<int64_t> layer = getLayer(hash))
        addEntry(forward, hash, "engram_rows." + std::to_string(*layer));
  }

private:
  /// An entry that does what the hash needs and nothing else.
  void addEntry(func::FuncOp forward, EngramHashOp hash, StringRef name) {
    if (getOperation().lookupSymbol(name))
      return;
    llvm::SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    (void)getBackwardSlice(hash.getOperation(), &slice, options);

    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    SmallVector<BlockArgument> arguments;
    for (BlockArgument argument : forward.getArguments())
      if (llvm::any_of(argument.getUsers(),
                       [&](Operation *user) { return slice.contains(user); })) {
        types.push_back(argument.getType());
        attributes.push_back(forward.getArgAttrDict(argument.getArgNumber()));
        arguments.push_back(argument);
      }
    OpBuilder builder(forward);
    builder.setInsertionPointAfter(forward);
    auto entry = func::FuncOp::create(
        builder, hash.getLoc(), name,
        builder.getFunctionType(types, hash.getResult().getType()));
    entry->setAttr(hostAttrName, builder.getUnitAttr());
    entry.setAllArgAttrs(attributes);
    entry.setResultAttr(0, nameAttrName, builder.getStringAttr("engram_rows"));
    entry.setResultAttr(0, dimAttrName, builder.getStringAttr("rows"));

    builder.setInsertionPointToStart(entry.addEntryBlock());
    IRMapping mapping;
    mapping.map(arguments, entry.getArguments());
    for (Operation *op : slice)
      builder.clone(*op, mapping);
    func::ReturnOp::create(builder, hash.getLoc(),
                           mapping.lookup(hash.getResult()));
  }
};
} // namespace
