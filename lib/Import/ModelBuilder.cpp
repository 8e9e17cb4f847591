//===- ModelBuilder.cpp - The entries of a model --------------------------===//
//
// forward runs new rows through the backbone; draft_context puts accepted
// positions into the draft rings; draft runs a block of noise through the draft
// layers; markov turns its logits into those of one drafted position.
//
//===----------------------------------------------------------------------===//

#include "dsflash/Import/ModelBuilder.h"
#include "LayerBuilder.h"
#include "dsflash/Model/Engram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace dsflash {
namespace {

/// Collects an entry's signature: what each argument or result is called in
/// the ABI and what its leading extent counts.
class Signature {
public:
  explicit Signature(GraphBuilder &b) : b(b) {}

  /// Adds an argument or result; gives its number.
  size_t add(Type type, const Twine &name, StringRef dim = "") {
    types.push_back(type);
    SmallVector<NamedAttribute> attributes{
        b.getNamedAttr("dsflash.name", b.getStringAttr(name))};
    if (!dim.empty())
      attributes.push_back(b.getNamedAttr("dsflash.dim", b.getStringAttr(dim)));
    dictionaries.push_back(b.getDictionaryAttr(attributes));
    return types.size() - 1;
  }

  SmallVector<Type> types;
  SmallVector<Attribute> dictionaries;

private:
  GraphBuilder &b;
};

/// The state of one owner of global KV.
struct Owner {
  Value globalKV, keys, pending;
};

class ModelBuilder {
public:
  ModelBuilder(ModuleOp module, const ModelConfig &config)
      : c(config), b(module, config), layers(b) {}

  void buildForward();
  void buildDraftContext();
  void buildDraft();
  void buildMarkov();

private:
  /// What travels along the backbone.
  struct Stack {
    Value stream, pre, window, features;
    llvm::MapVector<int64_t, Owner> owners;
    DenseMap<int64_t, Value> selections; ///< by index source
    Value candidates;
  };
  /// Inputs that every layer of a call shares.
  struct Shared {
    Rows rows;
    Value localRope, rope, groupRope;
    DenseMap<int64_t, Value> engramRows;
  };

  func::FuncOp startEntry(StringRef name, const Signature &inputs,
                          const Signature &results);
  /// Adds what Engram has in front of a layer, if it has one there.
  void addEngram(int64_t layer, const Shared &shared, Stack &stack);
  void runLayer(int64_t layer, const Shared &shared, Stack &stack);
  /// Runs layers [begin, end) inside an encoder or decoder operation.
  template <typename RegionOp>
  void runStack(int64_t begin, int64_t end, const Shared &shared, Stack &stack);
  SmallVector<Value *> carried(Stack &stack);
  Value collapseHead(Value stream, Value pre);
  Type featureType() {
    return b.tensor(
        {int64_t(c.dspark_target_layer_ids.size()) * c.hidden_size});
  }
  bool drafts() const { return c.draftLayers() > 0; }
  /// A tensor of the last draft layer, which holds the draft heads.
  std::string lastDraft(StringRef name) const {
    return ("mtp." + Twine(c.draftLayers() - 1) + "." + name).str();
  }

  const ModelConfig &c;
  GraphBuilder b;
  LayerBuilder layers;
};

func::FuncOp ModelBuilder::startEntry(StringRef name, const Signature &inputs,
                                      const Signature &results) {
  func::FuncOp entry =
      b.startFunction(name, inputs.types, results.types, /*exported=*/true);
  entry.setAllArgAttrs(inputs.dictionaries);
  entry.setAllResultAttrs(results.dictionaries);
  return entry;
}

//===----------------------------------------------------------------------===//
// forward
//===----------------------------------------------------------------------===//

/// The values that leave an encoder or decoder, in order.
SmallVector<Value *> ModelBuilder::carried(Stack &stack) {
  SmallVector<Value *> values{&stack.stream, &stack.pre, &stack.window};
  if (stack.features)
    values.push_back(&stack.features);
  for (auto &[layer, owner] : stack.owners)
    for (Value *state : {&owner.globalKV, &owner.keys, &owner.pending})
      if (*state)
        values.push_back(state);
  return values;
}

void ModelBuilder::addEngram(int64_t layer, const Shared &shared,
                             Stack &stack) {
  if (!c.hasEngram(layer))
    return;
  Value number = b.layerIndex(layer), rows = shared.engramRows.lookup(layer);
  func::FuncOp engram = layers.engramLayer(layer);
  stack.stream =
      func::CallOp::create(b, engram, ValueRange{number, stack.stream, rows})
          .getResult(0);
}

void ModelBuilder::runLayer(int64_t layer, const Shared &shared, Stack &stack) {
  Value number = b.layerIndex(layer);
  const auto &targets = c.dspark_target_layer_ids;
  auto slot = llvm::find(targets, layer);
  if (drafts() && slot != targets.end()) {
    Value mean = StreamMeanOp::create(b, b.tensor({c.hidden_size}),
                                      stack.stream, /*rounded=*/false);
    stack.features = InsertFeatureOp::create(
        b, stack.features.getType(), b.round(mean, "features.mean"),
        stack.features, /*rows=*/Value(), slot - targets.begin());
  }

  LayerKind kind = layerKind(c, layer);
  bool full = kind.mode == LayerMode::Full;
  bool selects = full || kind.mode == LayerMode::Reindex;
  func::FuncOp function = layers.backboneLayer(kind);
  Value rope = kind.ratio ? shared.rope : shared.localRope;
  SmallVector<Value> inputs{number,
                            stack.stream,
                            stack.pre,
                            rope,
                            shared.rows.sequence,
                            shared.rows.position,
                            shared.rows.extents,
                            stack.window};
  Value globalKV, selection, candidates;
  if (kind.mode != LayerMode::Window) {
    Owner &owner = stack.owners[c.kvSource(layer)];
    if (full && kind.ratio > 1)
      inputs.push_back(shared.groupRope);
    if (selects)
      inputs.push_back(owner.keys);
    if (full && kind.ratio > 1)
      inputs.push_back(owner.pending);
    globalKV = owner.globalKV;
    if (kind.mode == LayerMode::Reuse)
      selection = stack.selections.lookup(c.indexSource(layer));
    if (kind.readsCandidates)
      candidates = stack.candidates;
  }
  auto call = LayerOp::create(
      b, function.getResultTypes(), static_cast<Mode>(kind.mode),
      function.getSymName(), inputs, globalKV, selection, candidates);
  auto results = call.getResults();
  stack.stream = results[0];
  stack.pre = results[1];
  stack.window = results[2];
  size_t next = 3;
  if (full) {
    Owner &owner = stack.owners[layer];
    owner.globalKV = results[next++];
    owner.keys = results[next++];
    if (owner.pending)
      owner.pending = results[next++];
  }
  if (selects)
    stack.selections[layer] = results[next++];
  if (kind.keepsCandidates)
    stack.candidates = results[next++];
}

template <typename RegionOp>
void ModelBuilder::runStack(int64_t begin, int64_t end, const Shared &shared,
                            Stack &stack) {
  SmallVector<Type> types;
  for (Value *value : carried(stack))
    types.push_back(value->getType());
  auto region = RegionOp::create(b, types);
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&region.getBody());
    // Engram in front of the decoder belongs to the encoder: KV and keys of
    // every position come behind it.
    if (std::is_same_v<RegionOp, EncoderOp>)
      addEngram(begin, shared, stack);
    for (int64_t layer = begin; layer < end; ++layer) {
      runLayer(layer, shared, stack);
      addEngram(layer + 1, shared, stack);
    }
    SmallVector<Value> yielded;
    for (Value *value : carried(stack))
      yielded.push_back(*value);
    YieldOp::create(b, yielded);
  }
  for (auto [value, result] : llvm::zip(carried(stack), region.getResults()))
    *value = result;
}

/// Input of a head, before its norm.
Value ModelBuilder::collapseHead(Value stream, Value pre) {
  return b.round(HCCollapseOp::create(b, b.tensor({c.hidden_size}), stream, pre,
                                      /*rounded=*/false),
                 "head.collapse");
}

Rows addedRows(func::FuncOp entry, size_t first) {
  return {entry.getArgument(first), entry.getArgument(first + 1),
          entry.getArgument(first + 2)};
}

/// The arguments that say which rows a call has; addedRows finds them again.
size_t addRowArguments(GraphBuilder &b, Signature &inputs) {
  size_t first = inputs.add(b.ids(), "sequence", "rows");
  inputs.add(b.ids(), "position", "rows");
  inputs.add(b.tensor({2}, b.getI32Type()), "extents", "sequences");
  return first;
}

void ModelBuilder::buildForward() {
  int64_t lookBack =
      c.engram_layer_ids.empty() ? 0 : c.engram_max_ngram_size - 1;
  Signature inputs(b), results(b);
  size_t tokens = inputs.add(b.ids(), "tokens", "rows");
  size_t rows = addRowArguments(b, inputs);
  size_t earlier = 0;
  if (lookBack)
    earlier = inputs.add(b.tensor({lookBack}, b.getI32Type()), "lookback",
                         "sequences");
  size_t outputs = inputs.add(b.ids(), "outputs", "outputs");
  results.add(b.tensor({c.vocab_size}), "logits", "outputs");
  if (drafts())
    results.add(featureType(), "features", "rows");
  size_t states = inputs.types.size();
  auto addState = [&](Type type, const Twine &name) {
    inputs.add(type, name);
    results.add(type, name);
  };
  addState(b.windowType(), "window");
  for (int64_t layer : c.kv_source_layer_ids) {
    int64_t ratio = c.ratio(layer);
    addState(b.globalKVType(ratio), "kv." + Twine(layer));
    addState(b.indexKeysType(ratio), "keys." + Twine(layer));
    if (ratio > 1)
      addState(b.pendingType(ratio), "pending." + Twine(layer));
  }

  func::FuncOp entry = startEntry("forward", inputs, results);
  Shared shared;
  shared.rows = addedRows(entry, rows);
  Stack stack;
  stack.window = entry.getArgument(states++);
  for (int64_t layer : c.kv_source_layer_ids) {
    Owner &owner = stack.owners[layer];
    owner.globalKV = entry.getArgument(states++);
    owner.keys = entry.getArgument(states++);
    if (c.ratio(layer) > 1)
      owner.pending = entry.getArgument(states++);
  }

  Value position = shared.rows.position;
  auto ratios = [&](auto predicate) {
    return llvm::any_of(
        llvm::seq<int64_t>(0, c.num_hidden_layers),
        [&](int64_t layer) { return predicate(c.ratio(layer)); });
  };
  if (ratios([](int64_t ratio) { return ratio == 0; }))
    shared.localRope = b.ropeTable(position, /*compressed=*/false);
  if (ratios([](int64_t ratio) { return ratio > 0; }))
    shared.rope = b.ropeTable(position, /*compressed=*/true);
  // Ratios are 0, 1 or 2 (SPEC section 1): there is one kind of group.
  for (int64_t layer : c.kv_source_layer_ids)
    if (c.ratio(layer) > 1 && !shared.groupRope)
      shared.groupRope =
          b.ropeTable(position, /*compressed=*/true, c.ratio(layer));

  std::vector<EngramHash> hashes;
  if (lookBack)
    hashes = engramHashes(c);
  IntegerAttr imageToken;
  if (c.image_token_id)
    imageToken = b.getI64IntegerAttr(*c.image_token_id);
  for (auto [slot, layer] : llvm::enumerate(c.engram_layer_ids))
    shared.engramRows[layer] = EngramHashOp::create(
        b, b.tensor({c.engramColumns()}, b.getI64Type()),
        entry.getArgument(tokens), entry.getArgument(earlier), b.tokenMap(),
        shared.rows.sequence, shared.rows.extents, hashes[slot].multipliers,
        hashes[slot].primes, c.engram_pad_token_id, imageToken);

  Value embedded = EmbedOp::create(
      b, b.tensor({c.hidden_size}), entry.getArgument(tokens),
      b.bf16({"", {}}, "embed.weight", {c.vocab_size, c.hidden_size}));
  auto start =
      HCInitOp::create(b, b.streamType(), b.tensor({c.hc_mult}), embedded);
  stack.stream = start.getStream();
  stack.pre = start.getPre();
  if (drafts()) {
    Value zero = b.layerIndex(0);
    Value count = tensor::DimOp::create(b, entry.getArgument(tokens), zero);
    stack.features =
        tensor::EmptyOp::create(b, featureType(), ValueRange{count});
  }

  int64_t encoder = c.encoderLayers();
  runStack<EncoderOp>(0, encoder, shared, stack);
  if (encoder < c.num_hidden_layers)
    runStack<DecoderOp>(encoder, c.num_hidden_layers, shared, stack);

  Value stream = b.probe(stack.stream, "head.stream");
  Value pre = b.probe(stack.pre, "head.pre");
  Value x =
      b.norm(collapseHead(stream, pre),
             b.bf16({"", {}}, "norm.weight", {1, c.hidden_size}), "head.norm");
  Value wanted = entry.getArgument(outputs);
  x = GatherRowsOp::create(b, x.getType(), x, wanted);
  Value logits = b.product(
      x, b.bf16({"", {}}, "head.weight", {c.vocab_size, c.hidden_size}));

  SmallVector<Value> values{logits};
  if (drafts())
    values.push_back(stack.features);
  values.push_back(stack.window);
  for (auto &[layer, owner] : stack.owners) {
    values.append({owner.globalKV, owner.keys});
    if (owner.pending)
      values.push_back(owner.pending);
  }
  func::ReturnOp::create(b, values);
}

//===----------------------------------------------------------------------===//
// DSpark
//===----------------------------------------------------------------------===//

void ModelBuilder::buildDraftContext() {
  Signature inputs(b), results(b);
  size_t features = inputs.add(featureType(), "features", "rows");
  size_t rowArguments = addRowArguments(b, inputs);
  size_t window = inputs.add(b.windowType(), "window");
  results.add(b.windowType(), "window");
  func::FuncOp entry = startEntry("draft_context", inputs, results);
  Rows rows = addedRows(entry, rowArguments);

  Value rope = b.ropeTable(rows.position, /*compressed=*/false);
  int64_t width = c.dspark_target_layer_ids.size() * c.hidden_size;
  Value x = b.quantize(entry.getArgument(features), "features.x");
  x = b.linear(x, b.fp8({"", {}}, "mtp.0.main_proj", c.hidden_size, width),
               "features.main_proj");
  x = b.norm(x, b.bf16({"", {}}, "mtp.0.main_norm.weight", {1, c.hidden_size}),
             "features.main_norm");
  Value ring = entry.getArgument(window);
  func::FuncOp insert = layers.draftContextLayer();
  for (int64_t stage = 0; stage < c.draftLayers(); ++stage)
    ring = func::CallOp::create(b, insert,
                                ValueRange{b.layerIndex(stage), x, rope,
                                           rows.sequence, rows.position,
                                           rows.extents, ring})
               .getResult(0);
  func::ReturnOp::create(b, ring);
}

void ModelBuilder::buildDraft() {
  Signature inputs(b), results(b);
  size_t last = inputs.add(b.ids(), "tokens", "sequences");
  size_t rowArguments = addRowArguments(b, inputs);
  size_t window = inputs.add(b.windowType(), "window");
  results.add(b.tensor({c.vocab_size}), "logits", "rows");
  results.add(b.tensor({c.hidden_size}), "hidden", "rows");
  func::FuncOp entry = startEntry("draft", inputs, results);
  Rows rows = addedRows(entry, rowArguments);

  Value tokens =
      DraftTokensOp::create(b, b.ids(), entry.getArgument(last), rows.sequence,
                            rows.extents, c.dspark_noise_token_id);
  Value embedded = EmbedOp::create(
      b, b.tensor({c.hidden_size}), tokens,
      b.bf16({"", {}}, "embed.weight", {c.vocab_size, c.hidden_size}));
  auto start =
      HCInitOp::create(b, b.streamType(), b.tensor({c.hc_mult}), embedded);
  Value stream = start.getStream(), pre = start.getPre();
  Value rope = b.ropeTable(rows.position, /*compressed=*/false);
  func::FuncOp layer = layers.draftLayer();
  for (int64_t stage = 0; stage < c.draftLayers(); ++stage) {
    auto call = LayerOp::create(
        b, layer.getResultTypes(), Mode::Window, layer.getSymName(),
        ValueRange{b.layerIndex(stage), stream, pre, rope, rows.sequence,
                   rows.position, rows.extents, entry.getArgument(window)},
        Value(), Value(), Value());
    stream = call.getResult(0);
    pre = call.getResult(1);
  }
  Value hidden = collapseHead(stream, pre);
  Value x = b.norm(
      hidden, b.bf16({"", {}}, lastDraft("norm.weight"), {1, c.hidden_size}),
      "head.norm");
  Value logits = b.product(
      x, b.bf16({"", {}}, "head.weight", {c.vocab_size, c.hidden_size}));
  func::ReturnOp::create(b, ValueRange{logits, hidden});
}

void ModelBuilder::buildMarkov() {
  Signature inputs(b), results(b);
  size_t previous = inputs.add(b.ids(), "previous", "outputs");
  size_t outputs = inputs.add(b.ids(), "outputs", "outputs");
  size_t logits = inputs.add(b.tensor({c.vocab_size}), "logits", "rows");
  size_t hidden = inputs.add(b.tensor({c.hidden_size}), "hidden", "rows");
  results.add(b.tensor({c.vocab_size}), "logits", "rows");
  results.add(b.tensor({}), "confidence", "rows");
  func::FuncOp entry = startEntry("markov", inputs, results);
  Value rows = entry.getArgument(outputs);

  int64_t rank = c.dspark_markov_rank;
  Value embedded =
      EmbedOp::create(b, b.tensor({rank}), entry.getArgument(previous),
                      b.bf16({"", {}}, lastDraft("markov_head.embed.weight"),
                             {c.vocab_size, rank}));
  Value term =
      b.product(embedded, b.bf16({"", {}}, lastDraft("markov_head.head.weight"),
                                 {c.vocab_size, rank}));
  Value added = AddRowsOp::create(b, b.tensor({c.vocab_size}), term,
                                  entry.getArgument(logits), rows);
  Value confidence = ConfidenceOp::create(
      b, b.tensor({}), entry.getArgument(hidden), embedded,
      b.bf16({"", {}}, lastDraft("confidence_head.proj.weight"),
             {1, c.hidden_size + rank}),
      rows);
  func::ReturnOp::create(b, ValueRange{added, confidence});
}

} // namespace

OwningOpRef<ModuleOp> buildModel(MLIRContext *context,
                                 const ModelConfig &config) {
  context->loadDialect<DSFlashDialect, func::FuncDialect, arith::ArithDialect,
                       tensor::TensorDialect>();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(context), "model");
  Builder attributes(context);
  auto set = [&](StringRef name, int64_t value) {
    (*module)->setAttr(("dsflash." + name).str(),
                       attributes.getI64IntegerAttr(value));
  };
  bool drafts = config.draftLayers() > 0;
  set("vocab_size", config.vocab_size);
  set("max_positions", config.max_position_embeddings);
  set("draft_block", drafts ? config.dspark_block_size : 0);
  set("look_back",
      config.engram_layer_ids.empty() ? 0 : config.engram_max_ngram_size - 1);
  set("sliding_window", config.sliding_window);

  ModelBuilder builder(*module, config);
  builder.buildForward();
  if (drafts) {
    builder.buildDraftContext();
    builder.buildDraft();
    builder.buildMarkov();
  }
  return module;
}

} // namespace dsflash
