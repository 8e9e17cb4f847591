//===- WeightPlan.cpp - The tensors that a config demands -----------------===//

#include "dsflash/Model/Checkpoint.h"

using namespace dsflash;

constexpr int64_t kScaleGroup = 32;

static int64_t product(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t WeightInfo::elements() const { return product(shape); }

int64_t TensorSpec::bytes() const {
  return product(shape) * int64_t(dtypeSize(dtype));
}

namespace {

/// Lists the weights of a model, part by part.
class WeightLister {
public:
  explicit WeightLister(const ModelConfig &config) : c(config) {}

  std::vector<WeightInfo> list() {
    part = ModelPart::Backbone;
    bf16("embed.weight", {c.vocab_size, c.hidden_size});
    for (int64_t layer = 0; layer < c.allLayers(); ++layer)
      addLayer(layer);
    part = ModelPart::Backbone;
    bf16("norm.weight", {c.hidden_size});
    bf16("head.weight", {c.vocab_size, c.hidden_size});
    if (c.vision)
      addVision(*c.vision);
    return std::move(weights);
  }

private:
  using Shape = std::vector<int64_t>;

  void add(std::string name, WeightFormat format, Shape shape) {
    weights.push_back({std::move(name), format, std::move(shape), part});
  }
  void bf16(std::string name, Shape shape) {
    add(std::move(name), WeightFormat::BF16, std::move(shape));
  }
  void f32(std::string name, Shape shape) {
    add(std::move(name), WeightFormat::F32, std::move(shape));
  }
  void fp8(const std::string &name, int64_t out, int64_t in) {
    add(name + ".weight", WeightFormat::FP8Block, {out, in});
  }

  void addLayer(int64_t layer) {
    bool draft = c.isDraft(layer);
    int64_t stage = layer - c.num_hidden_layers;
    part = draft ? ModelPart::Draft : ModelPart::Backbone;
    std::string prefix = draft ? "mtp." + std::to_string(stage) + "."
                               : "layers." + std::to_string(layer) + ".";
    if (draft && stage == 0)
      addDraftInput(prefix);
    if (c.hasEngram(layer))
      addEngram(layer, prefix + "engram.");
    bf16(prefix + "attn_norm.weight", {c.hidden_size});
    bf16(prefix + "ffn_norm.weight", {c.hidden_size});
    addAttention(prefix + "attn.");
    if (!draft)
      addSources(layer, prefix + "attn.");
    addExperts(layer, prefix + "ffn.");
    addMixes(prefix);
    if (draft && stage == c.draftLayers() - 1)
      addDraftHeads(prefix);
  }

  void addDraftInput(const std::string &prefix) {
    fp8(prefix + "main_proj", c.hidden_size,
        c.hidden_size * int64_t(c.dspark_target_layer_ids.size()));
    bf16(prefix + "main_norm.weight", {c.hidden_size});
  }

  void addDraftHeads(const std::string &prefix) {
    bf16(prefix + "norm.weight", {c.hidden_size});
    bf16(prefix + "markov_head.embed.weight",
         {c.vocab_size, c.dspark_markov_rank});
    bf16(prefix + "markov_head.head.weight",
         {c.vocab_size, c.dspark_markov_rank});
    bf16(prefix + "confidence_head.proj.weight",
         {1, c.hidden_size + c.dspark_markov_rank});
  }

  void addEngram(int64_t layer, const std::string &prefix) {
    part = ModelPart::Engram;
    add(prefix + "embed.weight", WeightFormat::FP8Row,
        {c.engram_num_embeddings[c.engramSlot(layer)], c.engram_head_dim});
    fp8(prefix + "wkv", c.hidden_size * (c.hc_mult + 1),
        c.engramColumns() * c.engram_head_dim);
    bf16(prefix + "q_weight", {c.hc_mult, c.hidden_size});
    bf16(prefix + "k_weight", {c.hc_mult, c.hidden_size});
    part = ModelPart::Backbone;
  }

  void addAttention(const std::string &prefix) {
    f32(prefix + "attn_sink", {c.num_attention_heads});
    fp8(prefix + "wq_a", c.q_lora_rank, c.hidden_size);
    bf16(prefix + "q_norm.weight", {c.q_lora_rank});
    fp8(prefix + "wq_b", c.num_attention_heads * c.head_dim, c.q_lora_rank);
    fp8(prefix + "wkv", c.head_dim, c.hidden_size);
    bf16(prefix + "kv_norm.weight", {c.head_dim});
    fp8(prefix + "wo_a", c.o_groups * c.o_lora_rank, c.outputGroupSize());
    fp8(prefix + "wo_b", c.hidden_size, c.o_groups * c.o_lora_rank);
  }

  /// Compressor and indexer of the layers that have one.
  void addSources(int64_t layer, const std::string &prefix) {
    if (c.isKvSource(layer)) {
      bf16(prefix + "compressor.wkv.weight", {c.head_dim, c.hidden_size});
      if (c.ratio(layer) > 1)
        bf16(prefix + "compressor.wgate.weight", {c.head_dim, c.hidden_size});
      bf16(prefix + "compressor.norm.weight", {c.head_dim});
    }
    if (!c.isIndexSource(layer))
      return;
    fp8(prefix + "indexer.wq_b", c.index_n_heads * c.index_head_dim,
        c.q_lora_rank);
    bf16(prefix + "indexer.weights_proj.weight",
         {c.index_n_heads, c.hidden_size});
    if (c.isKvSource(layer)) {
      bf16(prefix + "indexer.wk.weight", {c.index_head_dim, c.head_dim});
      bf16(prefix + "indexer.k_norm.weight", {c.index_head_dim});
    }
  }

  void addExperts(int64_t layer, const std::string &prefix) {
    int64_t experts = c.experts(layer);
    bf16(prefix + "gate.weight", {experts, c.hidden_size});
    f32(prefix + "gate.bias", {experts});
    if (c.vision)
      f32(prefix + "gate.bias_vl", {experts});
    for (int64_t expert = 0; expert < experts; ++expert)
      addExpert(prefix + "experts." + std::to_string(expert) + ".",
                WeightFormat::FP4);
    addExpert(prefix + "shared_experts.", WeightFormat::FP8Block);
  }

  void addExpert(const std::string &prefix, WeightFormat format) {
    int64_t inner = c.moe_intermediate_size;
    add(prefix + "w1.weight", format, {inner, c.hidden_size});
    add(prefix + "w2.weight", format, {c.hidden_size, inner});
    add(prefix + "w3.weight", format, {inner, c.hidden_size});
  }

  void addMixes(const std::string &prefix) {
    int64_t mix = (2 + c.hc_mult) * c.hc_mult;
    for (const char *half : {"attn", "ffn"}) {
      std::string name = prefix + "hc_" + half;
      f32(name + "_fn", {mix, c.hc_mult * c.hidden_size});
      f32(name + "_base", {mix});
      f32(name + "_scale", {3});
    }
  }

  void bf16Linear(const std::string &name, int64_t out, int64_t in,
                  bool bias = true) {
    bf16(name + ".weight", {out, in});
    if (bias)
      bf16(name + ".bias", {out});
  }

  void addVision(const VisionConfig &v) {
    part = ModelPart::Vision;
    int64_t width = v.hidden_size;
    constexpr int64_t kColours = 3;
    bf16Linear("vision.patch_embed.proj", width,
               kColours * v.patch_size * v.patch_size);
    for (int64_t block = 0; block < v.num_hidden_layers; ++block) {
      std::string prefix = "vision.blocks." + std::to_string(block) + ".";
      bf16(prefix + "norm1.weight", {width});
      bf16Linear(prefix + "attn.wqkv", 3 * width, width);
      bf16Linear(prefix + "attn.wo", width, width);
      bf16(prefix + "norm2.weight", {width});
      bf16Linear(prefix + "mlp.w1", 2 * v.intermediate_size, width, false);
      bf16Linear(prefix + "mlp.w2", width, v.intermediate_size, false);
    }
    bf16("vision.norm.weight", {width});
    bf16Linear("aligner.w1", c.hidden_size,
               width * v.downsample_ratio * v.downsample_ratio);
    bf16Linear("aligner.w2", c.hidden_size, c.hidden_size);
    for (const char *mark : {"image_start", "image_end", "image_newline"})
      bf16(mark, {c.hidden_size});
  }

  const ModelConfig &c;
  ModelPart part = ModelPart::Backbone;
  std::vector<WeightInfo> weights;
};

} // namespace

std::vector<WeightInfo> dsflash::weightPlan(const ModelConfig &config) {
  return WeightLister(config).list();
}

static int64_t groups(int64_t extent) {
  return (extent + kScaleGroup - 1) / kScaleGroup;
}

std::vector<TensorSpec> dsflash::storedTensors(const WeightInfo &weight) {
  const std::vector<int64_t> &shape = weight.shape;
  auto quantized = [&](DType dtype, int64_t columns, int64_t scaleRows) {
    constexpr size_t kSuffix = sizeof("weight") - 1;
    std::string scale = weight.name;
    scale.replace(scale.size() - kSuffix, kSuffix, "scale");
    return std::vector<TensorSpec>{
        {weight.name, dtype, {shape[0], columns}},
        {std::move(scale), DType::F8_E8M0, {scaleRows, groups(shape[1])}}};
  };
  switch (weight.format) {
  case WeightFormat::BF16:
    return {{weight.name, DType::BF16, shape}};
  case WeightFormat::F32:
    return {{weight.name, DType::F32, shape}};
  case WeightFormat::FP8Block:
    return quantized(DType::F8_E4M3, shape[1], groups(shape[0]));
  case WeightFormat::FP8Row:
    return quantized(DType::F8_E4M3, shape[1], shape[0]);
  case WeightFormat::FP4:
    return quantized(DType::I8, shape[1] / 2, shape[0]);
  }
  return {};
}

std::vector<TensorSpec> dsflash::tensorPlan(const ModelConfig &config) {
  std::vector<TensorSpec> tensors;
  for (const WeightInfo &weight : weightPlan(config))
    for (TensorSpec &tensor : storedTensors(weight))
      tensors.push_back(std::move(tensor));
  return tensors;
}
