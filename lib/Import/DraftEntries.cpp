//===- DraftEntries.cpp - The entries of DSpark ---------------------------===//

#include "EntryBuilder.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace dsflash {

void EntryBuilder::buildDraftContext() {
  Signature inputs(b), results(b);
  size_t features = inputs.add(featureType(), "features", "rows");
  size_t rowArguments = inputs.addRows();
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

void EntryBuilder::buildDraft() {
  Signature inputs(b), results(b);
  size_t last = inputs.add(b.ids(), "tokens", "sequences");
  size_t rowArguments = inputs.addRows();
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

void EntryBuilder::buildMarkov() {
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

} // namespace dsflash
