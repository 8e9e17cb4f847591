//===- EntryBuilder.cpp - What the entries of a model share ---------------===//

#include "EntryBuilder.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace dsflash {

size_t Signature::add(Type type, const Twine &name, StringRef dim) {
  types.push_back(type);
  SmallVector<NamedAttribute> attributes{
      b.getNamedAttr("dsflash.name", b.getStringAttr(name))};
  if (!dim.empty())
    attributes.push_back(b.getNamedAttr("dsflash.dim", b.getStringAttr(dim)));
  dictionaries.push_back(b.getDictionaryAttr(attributes));
  return types.size() - 1;
}

size_t Signature::addRows() {
  size_t first = add(b.ids(), "sequence", "rows");
  add(b.ids(), "position", "rows");
  add(b.tensor({2}, b.getI32Type()), "extents", "sequences");
  return first;
}

func::FuncOp EntryBuilder::startEntry(StringRef name, const Signature &inputs,
                                      const Signature &results) {
  func::FuncOp entry =
      b.startFunction(name, inputs.types, results.types, /*exported=*/true);
  entry.setAllArgAttrs(inputs.dictionaries);
  entry.setAllResultAttrs(results.dictionaries);
  return entry;
}

Rows EntryBuilder::addedRows(func::FuncOp entry, size_t first) {
  return {entry.getArgument(first), entry.getArgument(first + 1),
          entry.getArgument(first + 2)};
}

Value EntryBuilder::collapseHead(Value stream, Value pre) {
  return b.round(HCCollapseOp::create(b, b.tensor({c.hidden_size}), stream, pre,
                                      /*rounded=*/false),
                 "head.collapse");
}

Type EntryBuilder::featureType() {
  return b.tensor({int64_t(c.dspark_target_layer_ids.size()) * c.hidden_size});
}

std::string EntryBuilder::lastDraft(StringRef name) const {
  return ("mtp." + Twine(c.draftLayers() - 1) + "." + name).str();
}

} // namespace dsflash
