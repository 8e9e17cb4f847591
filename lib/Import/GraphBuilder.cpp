//===- GraphBuilder.cpp - Writing model operations ------------------------===//

#include "GraphBuilder.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Model/Engram.h"
#include "dsflash/Model/Rope.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace dsflash {

GraphBuilder::GraphBuilder(ModuleOp module, const ModelConfig &config)
    : ImplicitLocOpBuilder(module.getLoc(), module.getBodyRegion()),
      config(config), module(module) {
  for (const WeightInfo &weight : weightPlan(config)) {
    llvm::StringRef name = weight.name;
    auto [family, rest] = name.split('.');
    if (family != "layers" && family != "mtp")
      continue;
    auto [number, suffix] = rest.split('.');
    int32_t layer;
    if (number.getAsInteger(10, layer))
      continue;
    auto &layers = layersOf[(family + "." + suffix).str()];
    if (layers.empty() || layers.back() != layer)
      layers.push_back(layer);
  }
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

RankedTensorType GraphBuilder::tensor(ArrayRef<int64_t> rowExtents,
                                      Type element) {
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  llvm::append_range(shape, rowExtents);
  return RankedTensorType::get(shape, element);
}

RankedTensorType GraphBuilder::tensor(ArrayRef<int64_t> rowExtents) {
  return tensor(rowExtents, getF32Type());
}

RankedTensorType GraphBuilder::streamType() {
  return tensor({config.hc_mult, config.hidden_size});
}

FormatAttr GraphBuilder::format(Element element) {
  return format(element, Element::None, 0, 0);
}

FormatAttr GraphBuilder::format(Element element, Element scale,
                                int64_t blockRows, int64_t blockColumns) {
  return FormatAttr::get(getContext(), element, scale, blockRows, blockColumns);
}

FormatAttr GraphBuilder::activationFormat() {
  return format(Element::E4M3, Element::E8M0, 1, 32);
}

FormatAttr GraphBuilder::indexFormat() {
  return format(Element::E2M1, Element::E8M0, 1, 32);
}

WindowType GraphBuilder::windowType() {
  return WindowType::get(getContext(), config.allLayers(),
                         config.sliding_window + slack(), config.head_dim,
                         activationFormat(), /*positions=*/false);
}

GlobalKVType GraphBuilder::globalKVType(int64_t ratio) {
  return GlobalKVType::get(
      getContext(), llvm::divideCeil(config.max_position_embeddings, ratio),
      config.head_dim, ratio, format(Element::E2M1, Element::E4M3, 1, 16));
}

IndexKeysType GraphBuilder::indexKeysType(int64_t ratio) {
  return IndexKeysType::get(
      getContext(), llvm::divideCeil(config.max_position_embeddings, ratio),
      config.index_head_dim, ratio, indexFormat());
}

PendingType GraphBuilder::pendingType(int64_t ratio) {
  return PendingType::get(getContext(), ratio + slack(), config.head_dim);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

SmallVector<int32_t> GraphBuilder::owners(StringRef prefix, StringRef name) {
  // All experts of a layer come with it: the first one stands for them.
  std::string first = name.str();
  if (size_t hole = first.find("{e}"); hole != std::string::npos)
    first.replace(hole, 3, "0");
  return layersOf.lookup((prefix + "." + first).str());
}

Value GraphBuilder::param(const Family &family, StringRef name,
                          WeightType type) {
  std::string symbol = name.str();
  if (size_t hole = symbol.find(".{e}"); hole != std::string::npos)
    symbol.erase(hole, 4);
  if (family.prefix == "mtp")
    symbol = "mtp." + symbol;
  if (StringRef(symbol).ends_with(".weight"))
    symbol.resize(symbol.size() - 7);

  ParamOp &param = params[symbol];
  if (!param) {
    OpBuilder::InsertionGuard guard(*this);
    if (lastParam)
      setInsertionPointAfter(lastParam);
    else
      setInsertionPointToStart(module.getBody());
    std::string tensor =
        (family.prefix.empty() ? name : family.prefix + ".{l}." + name).str();
    StringAttr scale;
    if (type.getFormat().hasScale())
      scale = getStringAttr(StringRef(tensor).drop_back(6) + "scale");
    DenseI32ArrayAttr layers;
    if (!family.prefix.empty())
      layers = getDenseI32ArrayAttr(owners(family.prefix, name));
    bool fromTokenizer = type.getFormat().getElement() == Element::I32;
    param = ParamOp::create(*this, symbol, tensor, scale, layers, fromTokenizer,
                            type);
    lastParam = param;
  }
  return ParamRefOp::create(*this, type, symbol,
                            family.prefix.empty() ? Value() : family.layer);
}

Value GraphBuilder::bf16(const Family &family, StringRef name,
                         ArrayRef<int64_t> shape) {
  return param(family, name,
               WeightType::get(getContext(), shape, format(Element::BF16)));
}

Value GraphBuilder::f32(const Family &family, StringRef name,
                        ArrayRef<int64_t> shape) {
  return param(family, name,
               WeightType::get(getContext(), shape, format(Element::F32)));
}

Value GraphBuilder::fp8(const Family &family, StringRef name, int64_t rows,
                        int64_t columns) {
  return param(family, (name + ".weight").str(),
               WeightType::get(getContext(), {rows, columns},
                               format(Element::E4M3, Element::E8M0, 32, 32)));
}

Value GraphBuilder::fp4(const Family &family, StringRef name, int64_t experts,
                        int64_t rows, int64_t columns) {
  return param(family, (name + ".weight").str(),
               WeightType::get(getContext(), {experts, rows, columns},
                               format(Element::E2M1, Element::E8M0, 1, 32)));
}

Value GraphBuilder::engramTable(const Family &family, int64_t layer) {
  // Tables differ in length from layer to layer: each is a parameter.
  std::string name = "layers." + std::to_string(layer) + ".engram.embed.weight";
  int64_t rows = config.engram_num_embeddings[config.engramSlot(layer)];
  return param({"", {}}, name,
               WeightType::get(getContext(), {rows, config.engram_head_dim},
                               format(Element::E4M3, Element::E8M0, 1, 32)));
}

Value GraphBuilder::tokenMap() {
  return param({"", {}}, "engram.token_map",
               WeightType::get(getContext(), {1, config.vocab_size},
                               format(Element::I32)));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Value GraphBuilder::layerIndex(int64_t layer) {
  return arith::ConstantIndexOp::create(*this, layer);
}

Value GraphBuilder::round(Value value, StringRef point) {
  return RoundOp::create(*this, value.getType(), value, point);
}

Value GraphBuilder::quantize(Value value, FormatAttr format, StringRef point) {
  return QuantizeOp::create(*this, value.getType(), value, format, point);
}

Value GraphBuilder::quantize(Value value, StringRef point) {
  return quantize(value, activationFormat(), point);
}

Value GraphBuilder::norm(Value value, Value weight, StringRef point) {
  Value normed =
      RMSNormOp::create(*this, value.getType(), value, weight,
                        APFloat(float(config.rms_norm_eps)), /*rounded=*/false);
  return round(normed, point);
}

Value GraphBuilder::product(Value value, Value weight,
                            Accumulation accumulation) {
  int64_t features = cast<WeightType>(weight.getType()).getRows();
  return LinearOp::create(*this, tensor({features}), value, weight,
                          /*rounded=*/false, accumulation == Accumulation::F64);
}

Value GraphBuilder::linear(Value value, Value weight, StringRef point,
                           Accumulation accumulation) {
  return round(product(value, weight, accumulation), point);
}

Value GraphBuilder::rotate(Value value, Value table, int64_t headDim,
                           StringRef point, bool inverse) {
  Value rotated = RotateOp::create(*this, value.getType(), value, table,
                                   headDim, inverse, /*rounded=*/false);
  return round(rotated, point);
}

Value GraphBuilder::ropeTable(Value position, bool compressed, int64_t ratio) {
  std::vector<float> frequencies = ropeFrequencies(config, compressed);
  int64_t pairs = frequencies.size();
  return RopeTableOp::create(*this, tensor({pairs, 2}), position, frequencies,
                             ratio);
}

Value GraphBuilder::probe(Value value, StringRef name, Value layer,
                          int64_t positionsPerRow) {
  return ProbeOp::create(*this, value.getType(), value, name, layer,
                         positionsPerRow)
      .getResult();
}

func::FuncOp GraphBuilder::startFunction(StringRef name, TypeRange inputs,
                                         TypeRange results, bool exported) {
  setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(*this, name, getFunctionType(inputs, results));
  if (!exported)
    function.setPrivate();
  setInsertionPointToStart(function.addEntryBlock());
  return function;
}

} // namespace dsflash
