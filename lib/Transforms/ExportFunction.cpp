//===- ExportFunction.cpp - One function as the only entry ----------------===//

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "dsflash/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::dsflash {
#define GEN_PASS_DEF_EXPORTFUNCTIONPASS
#include "dsflash/Transforms/Passes.h.inc"
} // namespace mlir::dsflash

using namespace mlir;
using namespace mlir::dsflash;

//===----------------------------------------------------------------------===//
// Names and dims
//===----------------------------------------------------------------------===//

/// What a caller passes as argument `number` and has from its own caller, if
/// all callers agree on the attribute.
static StringAttr getFromCallers(func::FuncOp function, unsigned number,
                                 StringRef attribute) {
  auto uses = SymbolTable::getSymbolUses(function,
                                         function->getParentOfType<ModuleOp>());
  if (!uses)
    return nullptr;
  StringAttr found;
  for (SymbolTable::SymbolUse use : *uses) {
    Operation *call = use.getUser();
    if (!isa<func::CallOp, LayerOp>(call))
      continue;
    auto passed = dyn_cast<BlockArgument>(call->getOperand(number));
    auto caller = call->getParentOfType<func::FuncOp>();
    if (!passed || passed.getOwner() != &caller.front())
      return nullptr;
    auto said =
        caller.getArgAttrOfType<StringAttr>(passed.getArgNumber(), attribute);
    if (!said || (found && found != said))
      return nullptr;
    found = said;
  }
  return found;
}

/// An argument without name or dim takes those of its callers; what is left
/// is called by its number and counts rows.
static void nameArguments(func::FuncOp function) {
  Builder builder(function.getContext());
  llvm::StringSet<> taken;
  auto adopt = [&](unsigned i, StringRef attribute) {
    auto said = function.getArgAttrOfType<StringAttr>(i, attribute);
    return said ? said : getFromCallers(function, i, attribute);
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (function.getArgAttr(i, workspaceAttrName))
      continue;
    StringAttr name = adopt(i, nameAttrName);
    if (!name || !taken.insert(name.getValue()).second)
      name = builder.getStringAttr("arg" + Twine(i));
    function.setArgAttr(i, nameAttrName, name);
    if (!isa<ShapedType>(function.getArgument(i).getType()))
      continue;
    StringAttr dim = adopt(i, dimAttrName);
    function.setArgAttr(i, dimAttrName,
                        dim ? dim : builder.getStringAttr("rows"));
  }
}

static void nameResults(func::FuncOp function) {
  Builder builder(function.getContext());
  auto setDefault = [&](unsigned i, StringRef attribute, const Twine &value) {
    if (!function.getResultAttr(i, attribute))
      function.setResultAttr(i, attribute, builder.getStringAttr(value));
  };
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    if (!isa<ShapedType>(type))
      continue;
    setDefault(i, nameAttrName, "result" + Twine(i));
    setDefault(i, dimAttrName, "rows");
    function.setResultAttr(i, accessAttrName, builder.getStringAttr("write"));
  }
}

//===----------------------------------------------------------------------===//
// Arguments that no entry has
//===----------------------------------------------------------------------===//

/// A number is the first element of a column that has one for each sequence.
static LogicalResult replaceIndex(func::FuncOp function, unsigned number,
                                  bool onBuffers) {
  OpBuilder b(function.getContext());
  Location loc = function.getArgument(number).getLoc();
  Type element = b.getI32Type();
  Type type =
      onBuffers ? Type(MemRefType::get({ShapedType::kDynamic}, element))
                : Type(RankedTensorType::get({ShapedType::kDynamic}, element));
  NamedAttrList attributes(function.getArgAttrDict(number));
  attributes.set(dimAttrName, b.getStringAttr("sequences"));
  if (failed(function.insertArgument(
          number, type, attributes.getDictionary(b.getContext()), loc)))
    return failure();
  b.setInsertionPointToStart(&function.front());
  Value column = function.getArgument(number);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value first =
      onBuffers ? memref::LoadOp::create(b, loc, column, zero).getResult()
                : tensor::ExtractOp::create(b, loc, column, zero).getResult();
  Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), first);
  function.getArgument(number + 1).replaceAllUsesWith(index);
  return function.eraseArgument(number + 1);
}

/// A weight is a parameter with the argument's name.
static LogicalResult replaceWeight(func::FuncOp function, unsigned number,
                                   SymbolTable &symbols) {
  OpBuilder b(function);
  BlockArgument argument = function.getArgument(number);
  auto type = cast<WeightType>(argument.getType());
  std::string name =
      function.getArgAttrOfType<StringAttr>(number, nameAttrName).str();
  if (type.getShape().size() == 3 && !StringRef(name).contains("{e}"))
    name += ".{e}";
  StringAttr scale =
      type.getFormat().hasScale() ? b.getStringAttr(name + ".scale") : nullptr;
  auto param = ParamOp::create(b, argument.getLoc(), b.getStringAttr(name),
                               b.getStringAttr(name), scale, /*layers=*/nullptr,
                               /*from_tokenizer=*/nullptr, TypeAttr::get(type));
  symbols.insert(param);
  b.setInsertionPointToStart(&function.front());
  argument.replaceAllUsesWith(ParamRefOp::create(b, argument.getLoc(), type,
                                                 param.getSymName(),
                                                 /*layer=*/Value())
                                  .getResult());
  return function.eraseArgument(number);
}

static LogicalResult replaceArguments(func::FuncOp function,
                                      SymbolTable &symbols) {
  bool onBuffers =
      llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<MemRefType>);
  for (unsigned i = function.getNumArguments(); i-- > 0;) {
    Type type = function.getArgument(i).getType();
    if (type.isIndex() && failed(replaceIndex(function, i, onBuffers)))
      return failure();
    if (isa<WeightType>(type) && failed(replaceWeight(function, i, symbols)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct ExportFunction : dsflash::impl::ExportFunctionPassBase<ExportFunction> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    auto exported = symbols.lookup<func::FuncOp>(function);
    if (failed(check(exported)))
      return signalPassFailure();
    nameArguments(exported);
    nameResults(exported);
    if (failed(replaceArguments(exported, symbols)) ||
        failed(dropOthers(exported)))
      return signalPassFailure();
  }

private:
  LogicalResult check(func::FuncOp exported) {
    if (!exported)
      return getOperation().emitError("has no function @") << function;
    if (exported.isExternal())
      return exported.emitError("@") << function << " has no body";
    if (exported->hasAttr(kernelAttrName))
      return exported.emitError("@")
             << function
             << " is a kernel, which runs on a part of a launch; expected a "
                "function that launches it";
    return success();
  }

  /// Leaves what the exported function reaches.
  LogicalResult dropOthers(func::FuncOp exported) {
    for (auto other : getOperation().getOps<func::FuncOp>())
      other.setVisibility(other == exported ? SymbolTable::Visibility::Public
                                            : SymbolTable::Visibility::Private);
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createSymbolDCEPass());
    if (failed(runPipeline(passes, getOperation())))
      return failure();
    for (auto param :
         llvm::make_early_inc_range(getOperation().getOps<ParamOp>()))
      if (SymbolTable::symbolKnownUseEmpty(param, getOperation()))
        param.erase();
    return success();
  }
};
} // namespace
