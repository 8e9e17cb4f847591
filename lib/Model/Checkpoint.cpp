//===- Checkpoint.cpp - Names and shapes of a checkpoint ------------------===//

#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Support/Json.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <tuple>
#include <unordered_set>

using namespace dsflash;
using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char *kIndexName = "model.safetensors.index.json";

/// Of an index file; one that is all wrong is not repeated as a message.
constexpr size_t kMaxListedFaults = 100;

/// Most shards that an index may name.
constexpr size_t kMaxShards = 10000;

/// Hands on each tensor of an index file with the file that it is said to be
/// in.
static Status readWeightMap(
    const std::string &path,
    const std::function<void(const std::string &name, const json &shard)>
        &take) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  Result<json> document = parseJson(
      file->text(), path, {{{"weight_map"}, json::value_t::object, take}});
  if (!document)
    return document.status();
  auto map = document->find("weight_map");
  if (map == document->end() || !map->is_object())
    return Status::error(path, "has no object \"weight_map\"");
  return {};
}

/// The shards that an index file names, in the order of their names.
static Result<std::set<std::string>> readShardNames(const std::string &path) {
  Status status;
  std::set<std::string> shards;
  Status read = readWeightMap(path, [&](const std::string &name,
                                        const json &shard) {
    std::string where = path + ": weight_map." + name;
    if (status.faults().size() == kMaxListedFaults)
      return;
    if (!shard.is_string())
      return status.add(where, "expected a file name");
    fs::path file = shard.get_ref<const std::string &>();
    if (file.empty() || file != file.filename() || file == "..")
      status.add(where, shard.dump() + " is not a file of this folder");
    else if (shards.insert(file).second && shards.size() > kMaxShards)
      status.add(where, "more than " + std::to_string(kMaxShards) + " files");
  });
  if (!read)
    return read;
  if (!status)
    return status;
  return shards;
}

/// Shards of a folder without index: `model*.safetensors`, or any other if
/// there is none of that name.
static std::vector<std::string> findShards(const std::string &folder) {
  std::vector<std::string> model, other;
  std::error_code ignored;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder, ignored)) {
    std::string name = entry.path().filename();
    if (entry.path().extension() != ".safetensors")
      continue;
    (name.compare(0, 5, "model") == 0 ? model : other).push_back(name);
  }
  std::vector<std::string> &shards = model.empty() ? other : model;
  std::sort(shards.begin(), shards.end());
  return shards;
}

Result<CheckpointIndex> CheckpointIndex::open(const std::string &folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    return Status::error(folder, "no such folder");
  CheckpointIndex index;
  index.path = folder;
  std::string indexPath = fs::path(folder) / kIndexName;
  bool hasIndex = fs::exists(indexPath, ignored);
  std::vector<std::string> names;
  if (hasIndex) {
    Result<std::set<std::string>> listed = readShardNames(indexPath);
    if (!listed)
      return listed.status();
    names.assign(listed->begin(), listed->end());
  } else {
    names = findShards(folder);
  }
  if (names.empty())
    return Status::error(folder, "holds no *.safetensors file");
  for (std::string &name : names)
    name = fs::path(folder) / name;
  Status status = index.addShards(names);
  if (status && hasIndex)
    status = index.checkIndex(indexPath);
  if (!status)
    return status;
  return index;
}

Result<CheckpointIndex> CheckpointIndex::openFile(const std::string &path) {
  CheckpointIndex index;
  index.path = path;
  if (Status status = index.addShards({path}); !status)
    return status;
  return index;
}

/// Opens shards. No two may have a tensor of the same name.
Status CheckpointIndex::addShards(const std::vector<std::string> &paths) {
  Status status;
  size_t count = 0;
  for (const std::string &shardPath : paths) {
    Result<SafetensorsFile> shard = SafetensorsFile::open(shardPath);
    if (!shard) {
      status.add(shard.status());
      continue;
    }
    count += shard->tensors().size();
    shards.push_back(std::move(*shard));
    shardPaths.push_back(shardPath);
  }
  entries.reserve(count);
  for (size_t file = 0; file < shards.size(); ++file)
    for (const TensorInfo &tensor : shards[file].tensors())
      entries.push_back({&tensor, file});
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.tensor->name, a.file) < std::tie(b.tensor->name, b.file);
  });
  for (size_t i = 1; i < entries.size(); ++i)
    if (entries[i].tensor->name == entries[i - 1].tensor->name)
      status.add(shardPaths[entries[i].file] + ": " + entries[i].tensor->name,
                 "is also in " + shardPaths[entries[i - 1].file]);
  return status;
}

/// Compares an index file with what the shards hold.
Status CheckpointIndex::checkIndex(const std::string &indexPath) const {
  Status status;
  auto add = [&](const std::string &name, const std::string &why) {
    if (status.faults().size() < kMaxListedFaults)
      status.add(indexPath + ": " + name, why);
  };
  auto shardName = [&](const Entry &entry) {
    return fs::path(shardPaths[entry.file]).filename().string();
  };
  std::vector<bool> isListed(entries.size());
  Status read =
      readWeightMap(indexPath, [&](const std::string &name, const json &shard) {
        const std::string &listed = shard.get_ref<const std::string &>();
        const Entry *entry = find(name);
        if (!entry)
          return add(name, "not in " + listed);
        if (isListed[entry - entries.data()])
          return add(name, "is listed twice");
        isListed[entry - entries.data()] = true;
        if (shardName(*entry) != listed)
          add(name, "listed in " + listed + ", but " + shardName(*entry) +
                        " holds it");
      });
  for (size_t i = 0; i < entries.size(); ++i)
    if (!isListed[i])
      add(entries[i].tensor->name,
          "not listed, but " + shardName(entries[i]) + " holds it");
  status.add(read);
  return status;
}

const CheckpointIndex::Entry *
CheckpointIndex::find(std::string_view name) const {
  auto found = std::lower_bound(entries.begin(), entries.end(), name,
                                [](const Entry &entry, std::string_view n) {
                                  return entry.tensor->name < n;
                                });
  bool isThere = found != entries.end() && found->tensor->name == name;
  return isThere ? &*found : nullptr;
}

const char *CheckpointIndex::data(std::string_view name) const {
  const Entry *entry = find(name);
  return entry ? shards[entry->file].data(*entry->tensor) : nullptr;
}

static std::string describe(DType dtype, const std::vector<int64_t> &shape) {
  return std::string(dtypeName(dtype)) + " " + shapeString(shape);
}

Status dsflash::checkWeights(const ModelConfig &config,
                             const CheckpointIndex &index) {
  Status status;
  std::unordered_set<std::string_view> planned;
  std::vector<TensorSpec> plan = tensorPlan(config);
  planned.reserve(plan.size());
  for (const TensorSpec &spec : plan) {
    planned.insert(spec.name);
    std::string needed = describe(spec.dtype, spec.shape);
    const CheckpointIndex::Entry *entry = index.find(spec.name);
    if (!entry)
      status.add(index.folder() + ": " + spec.name,
                 "missing, the config needs " + needed);
    else if (entry->tensor->dtype != spec.dtype ||
             entry->tensor->shape != spec.shape)
      status.add(index.folder() + ": " + spec.name,
                 "is " + describe(entry->tensor->dtype, entry->tensor->shape) +
                     ", the config needs " + needed);
  }
  for (const CheckpointIndex::Entry &entry : index.tensors())
    if (!planned.count(entry.tensor->name))
      status.add(index.folder() + ": " + entry.tensor->name,
                 "is no tensor of this config");
  return status;
}
