//===- StateFormats.cpp - The format of rows of the state -----------------===//

#include "StateFormats.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dsflash;

bool mlir::dsflash::hasPackedRows(Type type) {
  auto state = dyn_cast<StateTypeInterface>(type);
  return state && state.getRowFormat().getElement() != Element::F32;
}

static Type withFormat(Type type, FormatAttr format) {
  MLIRContext *context = type.getContext();
  return TypeSwitch<Type, Type>(type)
      .Case([&](WindowType window) {
        return WindowType::get(context, window.getLayers(), window.getSlots(),
                               window.getDim(), format, window.getPositions());
      })
      .Case<GlobalKVType, IndexKeysType>([&](auto global) {
        return decltype(global)::get(context, global.getRows(), global.getDim(),
                                     global.getRatio(), format);
      })
      .Default(type);
}

bool mlir::dsflash::unpackStateRows(ModuleOp module,
                                    function_ref<bool(Type)> selects) {
  bool found = false;
  auto f32 =
      FormatAttr::get(module.getContext(), Element::F32, Element::None, 0, 0);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](Type type) -> std::optional<Type> {
    if (!hasPackedRows(type) || !selects(type))
      return std::nullopt;
    found = true;
    return withFormat(type, f32);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return found;
}
