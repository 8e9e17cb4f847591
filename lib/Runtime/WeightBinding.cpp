//===- WeightBinding.cpp - Checkpoint tensors to a model's slots ----------===//

#include "dsflash/Runtime/WeightBinding.h"
#include "dsflash/Support/Hash.h"
#include "dsflash/Tokens/TokenMap.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>

using namespace dsflash;

bool dsflash::isEngramTable(const std::string &tensor) {
  return tensor.find(".engram.embed.") != tensor.npos;
}

namespace {

using Shape = std::vector<int64_t>;

std::optional<DType> storedType(uint32_t type) {
  switch (type) {
  case DSF_F32:
    return DType::F32;
  case DSF_BF16:
    return DType::BF16;
  case DSF_E4M3:
    return DType::F8_E4M3;
  case DSF_E2M1:
    return DType::I8;
  case DSF_E8M0:
    return DType::F8_E8M0;
  case DSF_I32:
    return DType::I32;
  case DSF_I64:
    return DType::I64;
  default:
    return std::nullopt;
  }
}

int64_t ceilDiv(int64_t value, int64_t divisor) {
  return divisor > 0 ? (value + divisor - 1) / divisor : value;
}

Shape payloadShape(const dsf_weight &weight) {
  return {weight.rows,
          weight.type == DSF_E2M1 ? weight.columns / 2 : weight.columns};
}

Shape scaleShape(const dsf_weight &weight) {
  return {ceilDiv(weight.rows, weight.block_rows),
          ceilDiv(weight.columns, weight.block_columns)};
}

/// Finds the tensors of a module in a checkpoint and collects what is wrong.
class Binder {
public:
  Binder(const CheckpointIndex &checkpoint, const std::string &engramPath,
         const SafetensorsFile *engram, std::vector<const void *> &slots)
      : checkpoint(checkpoint), engramPath(engramPath), engram(engram),
        slots(slots) {}

  void bindTensors(const dsf_weight &weight) {
    forEachTensor(weight, [&](const WeightTensor &tensor) {
      slots[tensor.slot] = find(tensor.name, tensor.type, tensor.shape);
    });
  }

  void bindTokenMap(const dsf_weight &weight, const Tokenizer *tokenizer,
                    std::vector<std::vector<int32_t>> &maps) {
    if (!tokenizer)
      return faults.add(checkpoint.folder(),
                        "no tokenizer.json, from which the model needs '" +
                            std::string(weight.tensor) + "'");
    Result<EngramTokenMap> map = engramTokenMap(*tokenizer);
    if (!map)
      return faults.add(map.status());
    if (int64_t(map->compressedIds.size()) != weight.columns)
      return faults.add("tokenizer.json",
                        std::to_string(map->compressedIds.size()) +
                            " tokens, the model was compiled for " +
                            std::to_string(weight.columns));
    maps.push_back(std::move(map->compressedIds));
    slots[weight.slot] = maps.back().data();
  }

  Status faults;

private:
  const void *find(const std::string &name, uint32_t type, const Shape &shape) {
    if (engram && isEngramTable(name)) {
      const TensorInfo *tensor = engram->find(name);
      if (!tensor) {
        faults.add(engramPath, "tensor '" + name + "' is missing");
        return nullptr;
      }
      check(engramPath, *tensor, type, shape);
      return engram->data(*tensor);
    }
    const CheckpointIndex::Entry *entry = checkpoint.find(name);
    if (!entry) {
      faults.add(checkpoint.folder(), "tensor '" + name + "' is missing");
      return nullptr;
    }
    check(checkpoint.filePath(entry->file), *entry->tensor, type, shape);
    return checkpoint.files()[entry->file].data(*entry->tensor);
  }

  void check(const std::string &file, const TensorInfo &tensor, uint32_t type,
             const Shape &shape) {
    DType expected = *storedType(type);
    if (tensor.dtype != expected)
      faults.add(file,
                 "tensor '" + tensor.name + "' is " + dtypeName(tensor.dtype) +
                     ", the model was compiled for " + dtypeName(expected));
    bool vector = shape[0] == 1 && tensor.shape == Shape{shape[1]};
    if (tensor.shape != shape && !vector)
      faults.add(file, "tensor '" + tensor.name + "' has shape " +
                           shapeString(tensor.shape) +
                           ", the model was compiled for " +
                           shapeString(shape));
  }

  const CheckpointIndex &checkpoint;
  const std::string &engramPath;
  const SafetensorsFile *engram;
  std::vector<const void *> &slots;
};

void replaceAll(std::string &text, std::string_view from,
                const std::string &to) {
  for (size_t at = text.find(from); at != text.npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

} // namespace

std::string dsflash::expandName(std::string_view pattern, int64_t layer,
                                int64_t expert) {
  std::string name(pattern);
  replaceAll(name, "{l}", std::to_string(layer));
  replaceAll(name, "{e}", std::to_string(expert));
  return name;
}

int64_t WeightTensor::bytes() const {
  return shape[0] * shape[1] * int64_t(dtypeSize(*storedType(type)));
}

void dsflash::forEachTensor(
    const dsf_weight &weight,
    const std::function<void(const WeightTensor &)> &visit) {
  uint32_t layers = weight.layers ? weight.layer_count : 1;
  for (uint32_t i = 0; i < layers; ++i) {
    int64_t layer = weight.layers ? weight.layers[i] : 0;
    for (uint32_t expert = 0; expert < weight.experts; ++expert) {
      size_t slot =
          weight.slot + (layer * weight.experts + expert) * weight.planes;
      visit({expandName(weight.tensor, layer, expert), weight.type,
             payloadShape(weight), slot});
      if (weight.planes == 2)
        visit({expandName(weight.scale, layer, expert), weight.scale_type,
               scaleShape(weight), slot + 1});
    }
  }
}

static bool hasEngramTables(const dsf_module &module) {
  return std::any_of(
      module.weights, module.weights + module.weight_count,
      [](const dsf_weight &weight) { return isEngramTable(weight.tensor); });
}

Result<BoundWeights> BoundWeights::bind(const dsf_module &module,
                                        const std::string &folder,
                                        const Tokenizer *tokenizer,
                                        const std::string &engramFile) {
  Result<CheckpointIndex> index = CheckpointIndex::open(folder);
  if (!index)
    return index.status();
  return bind(module, std::move(*index), tokenizer, engramFile);
}

Result<BoundWeights> BoundWeights::bind(const dsf_module &module,
                                        CheckpointIndex checkpoint,
                                        const Tokenizer *tokenizer,
                                        const std::string &engramFile) {
  BoundWeights bound(std::move(checkpoint));
  bound.addresses.assign(size_t(module.weight_slots), nullptr);
  bound.engramPath = engramFile;
  if (!engramFile.empty()) {
    Result<SafetensorsFile> file = SafetensorsFile::open(engramFile);
    if (!file)
      return file.status();
    bound.engram = std::move(*file);
  }
  Binder binder(bound.checkpoint, engramFile,
                bound.engram ? &*bound.engram : nullptr, bound.addresses);
  for (int64_t i = 0; i < module.weight_count; ++i) {
    const dsf_weight &weight = module.weights[i];
    if (weight.source == DSF_FROM_TOKENIZER)
      binder.bindTokenMap(weight, tokenizer, bound.tokenMaps);
    else
      binder.bindTensors(weight);
  }
  if (!engramFile.empty() && !hasEngramTables(module))
    binder.faults.add(engramFile, "the model has no Engram tables");
  if (!binder.faults)
    return binder.faults;
  return bound;
}

BoundWeights::Place BoundWeights::placeOf(const std::string &tensor) const {
  if (engram && isEngramTable(tensor)) {
    const TensorInfo &info = *engram->find(tensor);
    return {engramPath, engram->dataOffset() + info.begin, info.size()};
  }
  const CheckpointIndex::Entry &entry = *checkpoint.find(tensor);
  return {checkpoint.filePath(entry.file),
          checkpoint.files()[entry.file].dataOffset() + entry.tensor->begin,
          entry.tensor->size()};
}

/// The bytes at a place of a file.
static Status readPlace(const BoundWeights::Place &place,
                        std::vector<char> &bytes) {
  std::ifstream file(place.path, std::ios::binary);
  bytes.resize(place.bytes);
  if (file.seekg(std::streamoff(place.offset)) &&
      file.read(bytes.data(), std::streamsize(bytes.size())))
    return Status();
  return Status::error(place.path,
                       "cannot read " + std::to_string(place.bytes) +
                           " bytes at " + std::to_string(place.offset));
}

Status BoundWeights::holdEngramTables(const dsf_module &module) {
  Status faults;
  for (int64_t i = 0; i < module.weight_count; ++i) {
    const dsf_weight &weight = module.weights[i];
    if (!isEngramTable(weight.tensor))
      continue;
    const char *const planes[] = {weight.tensor, weight.scale};
    for (uint32_t plane = 0; plane < weight.planes; ++plane) {
      std::vector<char> &bytes = heldTables.emplace_back();
      faults.add(readPlace(placeOf(planes[plane]), bytes));
      addresses[weight.slot + plane] = bytes.data();
    }
  }
  return faults;
}

/// What a tensor is, in whatever layer and of whatever expert.
static std::string kindOf(std::string name) {
  name.erase(std::remove_if(name.begin(), name.end(),
                            [](char c) { return '0' <= c && c <= '9'; }),
             name.end());
  return name;
}

std::string BoundWeights::fingerprint() const {
  constexpr size_t kSampledTensors = 8, kSampledBytes = 4096;
  Hash hash;
  std::map<std::string, std::vector<const CheckpointIndex::Entry *>> kinds;
  for (const CheckpointIndex::Entry &entry : checkpoint.tensors()) {
    const TensorInfo &tensor = *entry.tensor;
    hash.add(tensor.name).add(dtypeName(tensor.dtype));
    hash.add(shapeString(tensor.shape));
    kinds[kindOf(tensor.name)].push_back(&entry);
  }
  for (const auto &[kind, entries] : kinds) {
    size_t stride = (entries.size() + kSampledTensors - 1) / kSampledTensors;
    for (size_t i = 0; i < entries.size(); i += stride) {
      const TensorInfo &tensor = *entries[i]->tensor;
      hash.add({checkpoint.files()[entries[i]->file].data(tensor),
                std::min(size_t(tensor.size()), kSampledBytes)});
    }
  }
  return hash.hexDigest();
}

bool BoundWeights::uses(const std::string &tensor) const {
  const void *data = checkpoint.data(tensor);
  return data &&
         std::find(addresses.begin(), addresses.end(), data) != addresses.end();
}

int64_t BoundWeights::bytesRead() const {
  std::vector<uintptr_t> shards;
  for (const SafetensorsFile &file : checkpoint.files())
    if (!file.tensors().empty())
      shards.push_back(uintptr_t(file.data(file.tensors().front())));

  std::ifstream smaps("/proc/self/smaps");
  int64_t kibibytes = 0;
  bool isShard = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long begin, end;
    long resident;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      isShard =
          std::any_of(shards.begin(), shards.end(), [&](uintptr_t address) {
            return begin <= address && address < end;
          });
    else if (isShard &&
             std::sscanf(line.c_str(), "Rss: %ld kB", &resident) == 1)
      kibibytes += resident;
  }
  return kibibytes * 1024;
}
