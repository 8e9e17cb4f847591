//===- RandomCheckpoint.cpp - A checkpoint of any config ------------------===//

#include "dsflash/Bench/RandomCheckpoint.h"
#include "Format.h"
#include "RandomWeights.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Support/Json.h"
#include "dsflash/Support/OutputFile.h"
#include "dsflash/Tokens/TokenMap.h"

#include <algorithm>
#include <filesystem>
#include <vector>

using namespace dsflash;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Space for the headers, config and tokenizer, beside the tensors.
constexpr int64_t kSlackBytes = int64_t(64) << 20;

/// Makes the folder; it must be empty and have room.
Status prepareFolder(const std::string &folder, int64_t bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return Status::error(folder, "cannot be made: " + error.message());
  bool isEmpty = fs::is_empty(folder, error);
  if (error || !isEmpty)
    return Status::error(folder, error ? error.message()
                                       : "is not empty; give a new folder");
  fs::space_info space = fs::space(folder, error);
  if (!error && space.available < uint64_t(bytes + kSlackBytes))
    return Status::error(
        folder, std::to_string(bytes + kSlackBytes) + " bytes are needed, " +
                    std::to_string(space.available) + " are free");
  return {};
}

/// Size of the Engram map of a tokenizer.
Result<int64_t> compressedVocabSize(const std::string &tokenizerJson) {
  Result<Tokenizer> tokenizer =
      Tokenizer::parse(tokenizerJson, "tokenizer.json");
  if (!tokenizer)
    return tokenizer.status();
  Result<EngramTokenMap> map = engramTokenMap(*tokenizer);
  if (!map)
    return map.status();
  return int64_t(map->size);
}

/// A tensor and the weight that it is a part of.
struct PlannedTensor {
  const WeightInfo *weight;
  TensorSpec tensor;
};

class CheckpointWriter {
public:
  CheckpointWriter(const ModelConfig &config, std::string folder,
                   const RandomCheckpointOptions &options)
      : folder(std::move(folder)), options(options),
        weights(weightPlan(config)), random(options.seed) {
    fillShards();
  }

  int64_t totalBytes() const { return total; }

  Status write() {
    json map = json::object();
    for (size_t i = 0; i < shards.size(); ++i) {
      std::string name = shardName(i);
      if (Status status = writeShard(shards[i], name); !status)
        return status;
      for (const PlannedTensor &planned : shards[i])
        map[planned.tensor.name] = name;
    }
    json index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
    return writeTextFile(fs::path(folder) / "model.safetensors.index.json",
                         index.dump(1));
  }

private:
  using Shard = std::vector<PlannedTensor>;

  void fillShards() {
    int64_t shardBytes = 0;
    for (const WeightInfo &weight : weights)
      for (TensorSpec &tensor : storedTensors(weight)) {
        int64_t bytes = tensor.bytes();
        if (shards.empty() || shardBytes + bytes > options.shardBytes) {
          shards.emplace_back();
          shardBytes = 0;
        }
        shards.back().push_back({&weight, std::move(tensor)});
        shardBytes += bytes;
        total += bytes;
      }
  }

  std::string shardName(size_t shard) const {
    std::string name;
    appendFormat(name, "model-%05zu-of-%05zu.safetensors", shard + 1,
                 shards.size());
    return name;
  }

  Status writeShard(const Shard &shard, const std::string &name) {
    std::vector<TensorView> views;
    for (const PlannedTensor &planned : shard)
      views.push_back({planned.tensor.name, planned.tensor.dtype,
                       planned.tensor.shape, nullptr});
    Result<SafetensorsWriter> writer = SafetensorsWriter::create(
        fs::path(folder) / name, views, {{"format", "pt"}});
    if (!writer)
      return writer.status();
    for (const PlannedTensor &planned : shard)
      if (Status status = random.write(*planned.weight, planned.tensor,
                                       [&](const void *data, size_t bytes) {
                                         done += int64_t(bytes);
                                         if (options.progress)
                                           options.progress(done, total);
                                         return writer->append(data, bytes);
                                       });
          !status)
        return status;
    return writer->finish();
  }

  std::string folder;
  const RandomCheckpointOptions &options;
  std::vector<WeightInfo> weights;
  std::vector<Shard> shards;
  RandomWeights random;
  int64_t total = 0;
  int64_t done = 0;
};

} // namespace

Status dsflash::writeRandomCheckpoint(const std::string &configPath,
                                      const std::string &folder,
                                      const RandomCheckpointOptions &options) {
  Result<json> document = readJsonFile(configPath);
  if (!document)
    return document.status();
  Result<ModelConfig> config = parseModelConfig(*document, configPath);
  if (!config)
    return config.status();
  Result<std::string> tokenizer = byteTokenizerJson(config->vocab_size);
  if (!tokenizer)
    return Status::error(configPath, tokenizer.status().str());
  if (!config->engram_layer_ids.empty()) {
    Result<int64_t> size = compressedVocabSize(*tokenizer);
    if (!size)
      return size.status();
    json &text = document->contains("text_config") ? (*document)["text_config"]
                                                   : *document;
    text["engram_compressed_vocab_size"] = *size;
  }

  CheckpointWriter writer(*config, folder, options);
  if (Status status = prepareFolder(folder, writer.totalBytes()); !status)
    return status;
  if (Status status = writer.write(); !status)
    return status;
  if (Status status =
          writeTextFile(fs::path(folder) / "tokenizer.json", *tokenizer);
      !status)
    return status;
  return writeTextFile(fs::path(folder) / "config.json",
                       document->dump(2) + "\n");
}
