//===- ForwardEntry.cpp - New rows through the backbone -------------------===//

#include "EntryBuilder.h"
#include "dsflash/Model/Engram.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace dsflash {

SmallVector<Value *> EntryBuilder::carried(Stack &stack) {
  SmallVector<Value *> values{&stack.stream, &stack.pre, &stack.window};
  if (stack.features)
    values.push_back(&stack.features);
  for (auto &[layer, owner] : stack.owners)
    for (Value *state : {&owner.globalKV, &owner.keys, &owner.pending})
      if (*state)
        values.push_back(state);
  return values;
}

void EntryBuilder::runEngram(int64_t layer, const Shared &shared,
                             Stack &stack) {
  if (!c.hasEngram(layer))
    return;
  Value number = b.layerIndex(layer), rows = shared.engramRows.lookup(layer);
  func::FuncOp engram = layers.engramLayer(layer);
  stack.stream =
      func::CallOp::create(b, engram, ValueRange{number, stack.stream, rows})
          .getResult(0);
}

void EntryBuilder::runLayer(int64_t layer, const Shared &shared, Stack &stack) {
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
void EntryBuilder::runStack(int64_t begin, int64_t end, const Shared &shared,
                            Stack &stack) {
  SmallVector<Type> types;
  for (Value *value : carried(stack))
    types.push_back(value->getType());
  auto region = RegionOp::create(b, types);
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&region.getBody());
    if (std::is_same_v<RegionOp, EncoderOp>)
      runEngram(begin, shared, stack);
    for (int64_t layer = begin; layer < end; ++layer) {
      runLayer(layer, shared, stack);
      runEngram(layer + 1, shared, stack);
    }
    SmallVector<Value> yielded;
    for (Value *value : carried(stack))
      yielded.push_back(*value);
    YieldOp::create(b, yielded);
  }
  for (auto [value, result] : llvm::zip(carried(stack), region.getResults()))
    *value = result;
}

void EntryBuilder::buildForward() {
  int64_t lookBack =
      c.engram_layer_ids.empty() ? 0 : c.engram_max_ngram_size - 1;
  Signature inputs(b), results(b);
  size_t tokens = inputs.add(b.ids(), "tokens", "rows");
  size_t rows = inputs.addRows();
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

} // namespace dsflash
