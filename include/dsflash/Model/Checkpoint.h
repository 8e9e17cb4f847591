//===- Checkpoint.h - Names and shapes of a checkpoint ----------*- C++ -*-===//
//
// Which tensors a config demands, where a checkpoint folder keeps them, and
// whether the two agree. Only headers are read, never a weight.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_MODEL_CHECKPOINT_H
#define DSFLASH_MODEL_CHECKPOINT_H

#include "dsflash/Model/ModelConfig.h"
#include "dsflash/Support/Safetensors.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsflash {

/// How a weight is stored (SPEC section 4).
enum class WeightFormat {
  BF16,
  F32,
  FP8Block, ///< E4M3 [out, in], E8M0 scale [ceil(out/32), ceil(in/32)]
  FP8Row,   ///< E4M3 [rows, cols], E8M0 scale [rows, cols/32]: Engram tables
  FP4       ///< E2M1 pairs as I8 [out, in/2], E8M0 scale [out, in/32]
};

/// Part of the model that a weight belongs to, as parameters are counted.
enum class ModelPart { Backbone, Engram, Draft, Vision };

/// One weight of the model, in elements; a quantized one is two tensors,
/// `name` ending in ".weight" and the same with ".scale".
struct WeightInfo {
  std::string name;
  WeightFormat format = WeightFormat::BF16;
  std::vector<int64_t> shape;
  ModelPart part = ModelPart::Backbone;

  int64_t elements() const;
};

/// One tensor of the checkpoint, as stored.
struct TensorSpec {
  std::string name;
  DType dtype = DType::BF16;
  std::vector<int64_t> shape;

  int64_t bytes() const;
};

/// Every weight that the config demands, vision included, in the order of the
/// model.
std::vector<WeightInfo> weightPlan(const ModelConfig &config);
/// The tensors that a weight is stored as: its payload, then its scale.
std::vector<TensorSpec> storedTensors(const WeightInfo &weight);
/// The tensors of all weights, in this order.
std::vector<TensorSpec> tensorPlan(const ModelConfig &config);

/// Where the tensors of a checkpoint folder are.
class CheckpointIndex {
public:
  struct Entry {
    const TensorInfo *tensor = nullptr;
    /// Index into files().
    size_t file = 0;
  };

  /// Opens the shards that `model.safetensors.index.json` names, or without
  /// one all `*.safetensors` of the folder, and reads their headers. Faults,
  /// all listed: missing or broken shards, a tensor in two shards, an index
  /// that does not say what the shards hold.
  static Result<CheckpointIndex> open(const std::string &folder);

  /// A single file in the place of a folder. Faults: those of its header.
  static Result<CheckpointIndex> openFile(const std::string &path);

  /// The folder, or the single file.
  const std::string &folder() const { return path; }
  /// The opened shards, each with the path it was opened by.
  const std::vector<SafetensorsFile> &files() const { return shards; }
  const std::string &filePath(size_t file) const { return shardPaths[file]; }
  /// The tensor of that name, or null.
  const Entry *find(std::string_view name) const;
  /// First byte of a tensor, or null if there is none of that name.
  const char *data(std::string_view name) const;
  /// All tensors, ordered by name.
  const std::vector<Entry> &tensors() const { return entries; }

private:
  Status addShards(const std::vector<std::string> &paths);
  Status checkIndex(const std::string &path) const;

  std::string path;
  std::vector<std::string> shardPaths;
  std::vector<SafetensorsFile> shards;
  std::vector<Entry> entries;
};

/// Compares a checkpoint with its config; lists every tensor that is missing,
/// not known, or of another dtype or shape.
Status checkWeights(const ModelConfig &config, const CheckpointIndex &index);

/// Parameters and cache bytes of a model, as published (SPEC sections 1, 4).
struct ModelSizes {
  int64_t backbone = 0; ///< all but Engram, drafts and vision
  int64_t engram = 0;   ///< tables and projections
  int64_t draft = 0;
  int64_t vision = 0;
  /// Parameters that one prompt token (encoder layers and the decoder's KV
  /// source projection) and one generated token use.
  int64_t activePrefill = 0;
  int64_t activeDecode = 0;
  /// Global KV and index keys, bytes a token.
  double kvBytesPerToken = 0;
};

ModelSizes modelSizes(const ModelConfig &config);

} // namespace dsflash

#endif // DSFLASH_MODEL_CHECKPOINT_H
