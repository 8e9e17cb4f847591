//===- LayerBuilder.cpp - The functions of the layer kinds ----------------===//
//
// SPEC section 3, step by step. Rounding points and quantizers carry the names
// that docs/Numerics.md lists.
//
//===----------------------------------------------------------------------===//

#include "LayerBuilder.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace dsflash {

std::string LayerKind::name() const {
  std::string name = layerModeName(mode);
  if (ratio)
    name += "_r" + std::to_string(ratio);
  if (keepsCandidates)
    name += "_keeping";
  if (readsCandidates)
    name += "_inside";
  return name + "_layer";
}

LayerKind layerKind(const ModelConfig &config, int64_t layer) {
  LayerKind kind;
  kind.mode = config.mode(layer);
  kind.ratio = config.ratio(layer);
  kind.keepsCandidates = layer == config.candidate_source_layer_id;
  kind.readsCandidates = config.readsCandidates(layer);
  return kind;
}

Value LayerBuilder::probe(const Attention &a, Value value, StringRef name,
                          int64_t positionsPerRow) {
  if (a.prefix.empty())
    return value;
  return b.probe(value, a.prefix + name.str(), a.family.layer, positionsPerRow);
}

//===----------------------------------------------------------------------===//
// Hyper-connections
//===----------------------------------------------------------------------===//

HCMixOp LayerBuilder::mix(Value stream, const Family &family, StringRef half) {
  int64_t streams = b.config.hc_mult, mixes = (2 + streams) * streams;
  std::string name = ("hc_" + half).str();
  Value fn =
      b.f32(family, name + "_fn", {mixes, streams * b.config.hidden_size});
  Value base = b.f32(family, name + "_base", {1, mixes});
  Value scale = b.f32(family, name + "_scale", {1, 3});
  Type perStream = b.tensor({streams});
  return HCMixOp::create(b, perStream, perStream, b.tensor({streams, streams}),
                         stream, fn, base, scale, b.config.hc_sinkhorn_iters,
                         APFloat(float(b.config.hc_eps)),
                         APFloat(float(b.config.rms_norm_eps)));
}

Value LayerBuilder::collapse(Value stream, Value pre, const Family &family,
                             StringRef half) {
  int64_t features = b.config.hidden_size;
  Value collapsed =
      b.round(HCCollapseOp::create(b, b.tensor({features}), stream, pre,
                                   /*rounded=*/false),
              (half + ".collapse").str());
  Value weight = b.bf16(family, (half + "_norm.weight").str(), {1, features});
  return b.norm(collapsed, weight, (half + ".norm").str());
}

Value LayerBuilder::expand(Value output, Value stream, HCMixOp mix,
                           StringRef half) {
  return b.round(HCExpandOp::create(b, stream.getType(), output, stream,
                                    mix.getPost(), mix.getComb(),
                                    /*rounded=*/false),
                 (half + ".expand").str());
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

Value LayerBuilder::swiglu(Value gate, Value up, Value route, StringRef name) {
  Value product = SwiGLUOp::create(b, gate.getType(), gate, up, route,
                                   APFloat(float(b.config.swiglu_limit)),
                                   /*rounded=*/false);
  product = b.round(product, (name + ".swiglu").str());
  return b.quantize(product, (name + ".y").str());
}

std::pair<Value, Value> LayerBuilder::experts(const Family &family, bool probes,
                                              int64_t count, int64_t perToken,
                                              Value stream, Value pre) {
  const ModelConfig &c = b.config;
  int64_t d = c.hidden_size, inner = c.moe_intermediate_size;
  Attention a{family, probes ? "layers.{l}." : "", {}, {}};
  stream = probe(a, stream, "ffn.stream");
  pre = probe(a, pre, "ffn.pre");
  HCMixOp mixes = mix(stream, family, "ffn");
  Value x = collapse(stream, pre, family, "ffn");

  Value logits = b.product(x, b.bf16(family, "ffn.gate.weight", {count, d}),
                           Accumulation::F64);
  Value bias = b.f32(family, "ffn.gate.bias", {1, count});
  auto choices = b.tensor({perToken}, b.getI32Type());
  auto router = RouterOp::create(
      b, choices, b.tensor({perToken}), logits, bias, b.f32Attr(c.gate_temp),
      b.f32Attr(c.routed_scaling_factor),
      c.norm_topk_prob ? b.getUnitAttr() : UnitAttr());
  Value chosen = probe(a, router.getExperts(), "ffn.experts");
  Value route = probe(a, router.getWeights(), "ffn.weights");
  auto groups = GroupByExpertOp::create(
      b, choices, RankedTensorType::get({count + 1}, b.getI32Type()), chosen);

  Value quantized = b.quantize(x, "ffn.x");
  auto expertLinear = [&](Value value, StringRef matrix, int64_t out,
                          int64_t in) -> Value {
    Value weight =
        b.fp4(family, ("ffn.experts.{e}." + matrix).str(), count, out, in);
    Value result = ExpertLinearOp::create(
        b, b.tensor({perToken, out}), value, weight, groups.getOrder(),
        groups.getOffsets(), /*rounded=*/false);
    return b.round(result, ("experts." + matrix).str());
  };
  Value gate = expertLinear(quantized, "w1", inner, d);
  Value up = expertLinear(quantized, "w3", inner, d);
  Value routed =
      expertLinear(swiglu(gate, up, route, "experts"), "w2", d, inner);

  auto sharedLinear = [&](Value value, StringRef matrix, int64_t out,
                          int64_t in) {
    return b.linear(
        value, b.fp8(family, ("ffn.shared_experts." + matrix).str(), out, in),
        ("shared." + matrix).str());
  };
  gate = sharedLinear(quantized, "w1", inner, d);
  up = sharedLinear(quantized, "w3", inner, d);
  Value shared =
      sharedLinear(swiglu(gate, up, Value(), "shared"), "w2", d, inner);

  Value output = b.round(CombineOp::create(b, shared.getType(), routed, shared,
                                           /*rounded=*/false),
                         "ffn.combine");
  output = probe(a, output, "ffn.out");
  return {expand(output, stream, mixes, "ffn"), mixes.getPre()};
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

func::FuncOp LayerBuilder::backboneLayer(const LayerKind &kind) {
  func::FuncOp &function = functions[kind.name()];
  if (function)
    return function;
  OpBuilder::InsertionGuard guard(b);
  const ModelConfig &c = b.config;
  bool full = kind.mode == LayerMode::Full;
  bool selects = full || kind.mode == LayerMode::Reindex;
  bool reads = kind.mode != LayerMode::Window;
  Type ropeType = b.tensor({c.qk_rope_head_dim / 2, 2});
  Type preType = b.tensor({c.hc_mult});
  Type selectionType = b.tensor({c.index_topk}, b.getI32Type());
  Type blocksType = b.tensor({c.candidate_topk_blocks}, b.getI32Type());

  SmallVector<Type> inputs{b.getIndexType(),
                           b.streamType(),
                           preType,
                           ropeType,
                           b.ids(),
                           b.ids(),
                           b.tensor({2}, b.getI32Type()),
                           b.windowType()};
  SmallVector<Type> results{b.streamType(), preType, b.windowType()};
  bool pools = full && kind.ratio > 1;
  if (pools)
    inputs.push_back(ropeType);
  if (selects)
    inputs.push_back(b.indexKeysType(kind.ratio));
  if (pools)
    inputs.push_back(b.pendingType(kind.ratio));
  if (reads)
    inputs.push_back(b.globalKVType(kind.ratio));
  if (kind.mode == LayerMode::Reuse)
    inputs.push_back(selectionType);
  if (kind.readsCandidates)
    inputs.push_back(blocksType);
  if (full) {
    results.append({b.globalKVType(kind.ratio), b.indexKeysType(kind.ratio)});
    if (pools)
      results.push_back(b.pendingType(kind.ratio));
  }
  if (selects)
    results.push_back(selectionType);
  if (kind.keepsCandidates)
    results.push_back(blocksType);

  function = b.startFunction(kind.name(), inputs, results, /*exported=*/false);
  auto arguments = function.getArguments();
  size_t next = 8;
  auto take = [&](bool present) {
    return present ? Value(arguments[next++]) : Value();
  };
  Attention a{{"layers", arguments[0]},
              "layers.{l}.",
              arguments[3],
              {arguments[4], arguments[5], arguments[6]}};
  Value window = arguments[7];
  Value groupRope = take(pools), keys = take(selects), pending = take(pools),
        globalKV = take(reads), selection = take(kind.mode == LayerMode::Reuse),
        candidates = take(kind.readsCandidates);

  Value stream = probe(a, arguments[1], "attn.stream");
  Value pre = probe(a, arguments[2], "attn.pre");
  HCMixOp mixes = mix(stream, a.family, "attn");
  Value x = collapse(stream, pre, a.family, "attn");
  Value quantized = b.quantize(x, "attn.x");
  auto [q, lowRank] = query(a, quantized);
  Value kv = probe(a, windowKV(a.family, quantized, a.rope), "attn.kv_window");

  SmallVector<Value> owned;
  if (full) {
    owned = compress(a, kind.ratio, x, pools ? groupRope : a.rope, globalKV,
                     keys, pending);
    globalKV = owned[0];
    keys = owned[1];
  }
  Value kept;
  if (selects) {
    if (candidates)
      candidates = probe(a, candidates, "attn.candidates");
    IndexerOp indexer = select(a, kind, x, lowRank, keys, candidates);
    selection = indexer.getSelection();
    kept = indexer.getKept();
  } else if (!reads) {
    probe(a,
          NoSelectionOp::create(b, cast<RankedTensorType>(selectionType),
                                a.rows.position),
          "attn.selected");
  }
  if (selection)
    selection = probe(a, selection, "attn.selected");

  auto mode = static_cast<Mode>(kind.mode);
  Value sink = b.f32(a.family, "attn.attn_sink", {1, c.num_attention_heads});
  auto attention = CSA2Op::create(
      b, q.getType(), window.getType(), mode, q, kv, window, a.family.layer,
      sink, a.rows.sequence, a.rows.position, a.rows.extents, globalKV,
      selection, c.num_attention_heads, c.sliding_window,
      /*round_probabilities=*/true, /*within_call=*/false);
  Value output = outputProjection(a, attention.getResult());
  stream = expand(output, stream, mixes, "attn");
  auto [streamAfter, preAfter] =
      experts(a.family, /*probes=*/true, c.experts(0), c.expertsPerToken(0),
              stream, mixes.getPre());

  SmallVector<Value> values{streamAfter, preAfter, attention.getWindowAfter()};
  llvm::append_range(values, owned);
  if (selects)
    values.push_back(selection);
  if (kept)
    values.push_back(kept);
  func::ReturnOp::create(b, values);
  return function;
}

func::FuncOp LayerBuilder::engramLayer(int64_t layer) {
  OpBuilder::InsertionGuard guard(b);
  const ModelConfig &c = b.config;
  int64_t d = c.hidden_size, columns = c.engramColumns();
  auto function = b.startFunction(
      "engram_" + std::to_string(layer),
      {b.getIndexType(), b.streamType(), b.tensor({columns}, b.getI64Type())},
      {b.streamType()}, /*exported=*/false);
  Family family{"layers", function.getArgument(0)};
  Attention a{family, "layers.{l}.", {}, {}};
  Value stream = probe(a, function.getArgument(1), "engram.stream");
  Value rows = probe(a, function.getArgument(2), "engram.rows");
  int64_t width = columns * c.engram_head_dim;
  Value looked = b.round(EngramLookupOp::create(b, b.tensor({width}), rows,
                                                b.engramTable(family, layer)),
                         "engram.lookup");
  int64_t outputs = (c.hc_mult + 1) * d;
  Value kv =
      b.linear(b.quantize(looked, "engram.x"),
               b.fp8(family, "engram.wkv", outputs, width), "engram.wkv");
  Value gate =
      EngramGateOp::create(b, b.tensor({c.hc_mult}), stream, kv,
                           b.bf16(family, "engram.q_weight", {c.hc_mult, d}),
                           b.bf16(family, "engram.k_weight", {c.hc_mult, d}),
                           b.f32Attr(c.rms_norm_eps));
  gate = probe(a, gate, "engram.gate");
  Value added = EngramAddOp::create(b, stream.getType(), stream, kv, gate,
                                    /*rounded=*/false);
  func::ReturnOp::create(b, b.round(added, "engram.add"));
  return function;
}

} // namespace dsflash
