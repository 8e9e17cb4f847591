//===- LaunchRequests.cpp - Bytes that a launch asks for ------------------===//

#include "LaunchRequests.h"
#include "LaunchTraffic.h"
#include "dsflash/Kernels/BlockAttention.h"
#include "dsflash/Kernels/BlockProduct.h"
#include "dsflash/Kernels/TensorProduct.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace {

constexpr double kAddress = 8, kFloat = 4, kId = 4;

class Formula {
public:
  Formula(LaunchWork work, BlockAttr block, ConfigAttr config)
      : work(work), name(work.dispatch.getKernel()),
        inputs(work.dispatch.getInputs()), inits(work.dispatch.getInits()),
        config(config), threads(double(block.getThreads())), block(block) {}

  std::optional<double> get() {
    if (name.starts_with("csa2_scores"))
      return getScores();
    if (name.starts_with("csa2_values"))
      return getValues();
    if (name.starts_with("attention_softmax"))
      return getSoftmax();
    if (name.starts_with("indexer") || name.starts_with("candidate_indexer"))
      return getScan();
    for (Value input : inputs)
      if (auto weight = dyn_cast<WeightType>(input.getType());
          weight &&
          (name.contains("linear_") || name.contains("mix_product_") ||
           name.starts_with("project_")))
        return getProduct(weight);
    return std::nullopt;
  }

private:
  double elementsOf(Value buffer) {
    double elements = 1;
    for (int64_t extent : work.shapeOf(buffer))
      elements *= double(extent);
    return elements;
  }
  double columnsOf(Value buffer) { return double(work.shapeOf(buffer).back()); }
  double rowsOf(Value buffer) { return double(work.shapeOf(buffer)[0]); }

  /// A block takes the weights of its outputs once for its rows, and the inputs
  /// of its rows once for its outputs; every thread looks up the addresses.
  std::optional<double> getProduct(WeightType weight) {
    double outputs = elementsOf(inits[0]),
           columns = double(weight.getColumns());
    double rows = outputs / double(weight.getRows());
    // Groups see a part of the input's columns each.
    auto groups = int64_t(elementsOf(inputs[0]) / rows / columns);
    bool isExperts = weight.getExperts() > 1;
    if (isExperts)
      groups = 1;
    double experts = isExperts ? double(weight.getExperts()) : 1;
    double chosen = std::min(experts, rows);
    TensorProduct tensor(weight, groups, /*rounded=*/false, config);
    double tiles, tileRows, repeated = 1;
    if (tensor.isPossible() && tensor.getBlock() == block) {
      tiles = double(tensor.getTiles());
      tileRows = double(tensor.getTileRows());
    } else {
      auto matches = [&](FloatType sum) -> std::optional<BlockProduct> {
        BlockProduct product(weight, groups, /*rounded=*/false, sum, config);
        if (product.isPossible() && product.getBlock() == block)
          return product;
        return std::nullopt;
      };
      MLIRContext *context = weight.getContext();
      auto product = matches(Float32Type::get(context));
      if (!product)
        product = matches(Float64Type::get(context));
      if (!product)
        return std::nullopt;
      tiles = double(product->getTiles());
      tileRows = double(BlockProduct::tileRows);
      // More rows than one fill the tile up by repeating the last.
      if (rows > 1)
        repeated = std::ceil(rows / tileRows) * tileRows / rows;
    }
    double rowTiles = isExperts ? chosen : std::ceil(rows / tileRows);
    double lookUps =
        threads * kAddress * double(1 + weight.getPlanes()) * tiles * rowTiles;
    if (isExperts) // Where the slots of an expert lie, and which they are.
      lookUps +=
          threads * 2 * kId * tiles * experts + tileRows * kId * tiles * chosen;
    return rows * columns * kFloat * tiles * repeated +
           getTensorBytes(weight) * rowTiles + outputs * kFloat + lookUps;
  }

  //===--- attention ------------------------------------------------------===//

  /// A row's sequence, position and first row, and the addresses of its states.
  static constexpr double kRowLookUp = 3 * kId + 2 * kAddress;

  /// Of the selection, which comes behind the global rows; 0 without.
  double getSelection() {
    for (auto [i, input] : llvm::enumerate(inputs))
      if (isa<GlobalKVType>(input.getType()))
        return elementsOf(inputs[i + 1]) * kId;
    return 0;
  }
  /// The features of all keys once: those of the call are f32.
  double getKeys() { return work.stateBytes + elementsOf(inputs[0]) * kFloat; }

  /// A block takes the queries once for its keys, and looks through the whole
  /// selection.
  double getScores() {
    double rows = rowsOf(inputs[0]), query = elementsOf(inputs.back()) * kFloat;
    double heads = columnsOf(inputs.back()) / columnsOf(inputs[0]);
    double groups = std::ceil(heads / BlockAttention::tileHeads);
    double pitch = columnsOf(inits[0]) / heads;
    double items = rows * groups * pitch / BlockAttention::tileKeys;
    return query / rows * getTiledKeys() / BlockAttention::tileKeys +
           groups * getKeys() + items * getSelection() / rows +
           items * threads * kRowLookUp + getTiledKeys() * heads * kFloat +
           (inits.size() > 2 ? getKeyScales(inits[2], pitch) : 0);
  }
  /// A warp reads the scores of a head for their maximum, then for their sum.
  double getSoftmax() {
    double heads = elementsOf(inits[1]);
    double ofKey = kFloat * 2 + bytesOf(inits[0]);
    // Addresses, the number of keys, and the sink.
    double lookUp = 2 * kAddress + 2 * kId;
    return heads / rowsOf(inits[1]) * getTiledKeys() * ofKey +
           heads * threads * lookUp;
  }
  /// A block takes the probabilities once for its features.
  double getValues() {
    double rows = rowsOf(inputs[0]), dim = columnsOf(inputs[0]);
    double heads = columnsOf(inits[0]) / dim;
    double groups = std::ceil(heads / BlockAttention::tileHeads);
    double slices = std::ceil(dim / BlockAttention::tileFeatures);
    // Threads of heads that there are take the denominators of two.
    double used = heads / (groups * BlockAttention::tileHeads);
    double bounds = getSelection() > 0 ? 2 : 1;
    bool hasScales = columnsOf(inputs.back()) > 2;
    Value probabilities = inputs[inputs.size() - (hasScales ? 4 : 3)];
    double pitch = columnsOf(probabilities) / heads;
    double items = rows * groups * slices;
    return heads * getTiledKeys() * slices * bytesOf(probabilities) +
           groups * getKeys() + groups * slices * getSelection() +
           (hasScales ? groups * getKeyScales(inputs.back(), pitch) : 0) +
           items * threads * (kRowLookUp + bounds * kId + 2 * kFloat * used) +
           elementsOf(inits[0]) * kFloat;
  }
  /// Words of scales, some for each key that has a place in a row.
  double getKeyScales(Value scales, double pitch) {
    return work.keys * columnsOf(scales) / pitch * kId;
  }
  double getTiledKeys() {
    double rows = rowsOf(inputs[0]), step = BlockAttention::keyStep;
    return std::ceil(work.keys / rows / step) * step * rows;
  }
  static double bytesOf(Value buffer) {
    return cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8.0;
  }

  //===--- indexer --------------------------------------------------------===//

  /// A block takes the query once for the keys of its part.
  double getScan() {
    double rows = rowsOf(inputs[0]);
    double query = (columnsOf(inputs[0]) + columnsOf(inputs[1])) * kFloat;
    constexpr double items = 128;
    double parts = rows * std::floor((rows + items - 1) / rows);
    double scan = work.stateBytes + work.parts * query + work.written +
                  parts * threads * (2 * kId + 2 * kAddress);
    // A thread looks up the first block of each tile and, where there is one,
    // its own.
    if (work.candidates)
      scan += (work.candidates + work.stateBytes / double(getKeyBytes())) * kId;
    return scan;
  }
  int64_t getKeyBytes() {
    return getRowBytes(cast<StateTypeInterface>(inputs[2].getType()));
  }

  LaunchWork work;
  StringRef name;
  OperandRange inputs, inits;
  ConfigAttr config;
  double threads;
  BlockAttr block;
};

} // namespace

std::optional<double> getRequestedBytes(LaunchWork work) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      work.dispatch, work.dispatch.getKernelAttr());
  auto module = work.dispatch->getParentOfType<ModuleOp>();
  auto config = module->getAttrOfType<ConfigAttr>(configAttrName);
  auto block =
      kernel ? kernel->getAttrOfType<BlockAttr>(blockAttrName) : BlockAttr();
  if (!config || !block)
    return std::nullopt;
  return Formula(work, block, config).get();
}
