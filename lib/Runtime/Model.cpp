//===- Model.cpp - A compiled model, opened -------------------------------===//

#include "dsflash/Runtime/Model.h"
#include "dsflash/Runtime/CpuFeatures.h"
#include "dsflash/Support/Json.h"
#include "dsflash/Support/MappedFile.h"

#include <dlfcn.h>
#include <filesystem>

using namespace dsflash;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kManifestFormat = 1;

/// Tokens as SPEC section 5 spells them, for a manifest without their ids.
constexpr std::string_view kBosText = "<｜begin▁of▁sentence｜>";
constexpr std::string_view kEosText = "<｜end▁of▁sentence｜>";

/// Reads the members of manifest.json and collects what is wrong.
class ManifestReader {
public:
  ManifestReader(const nlohmann::json &document, Status &faults,
                 std::string where)
      : document(document), faults(faults), where(std::move(where)) {}

  std::string text(const char *key) {
    const nlohmann::json *value = find(key);
    if (value && !value->is_string())
      faults.add(where, std::string("'") + key + "' must be a string");
    return value && value->is_string() ? value->get<std::string>() : "";
  }

  int64_t integer(const char *key, int64_t missing) {
    const nlohmann::json *value = find(key);
    if (!value || value->is_null())
      return missing;
    bool fits = value->is_number_integer() &&
                (!value->is_number_unsigned() ||
                 value->get<uint64_t>() <= uint64_t(INT64_MAX));
    if (!fits) {
      faults.add(where,
                 std::string("'") + key + "' must be an integer of 64 bits");
      return missing;
    }
    return value->get<int64_t>();
  }

  int32_t token(const char *key) {
    int64_t id = integer(key, -1);
    if (id < -1 || id > INT32_MAX)
      faults.add(where, std::string("'") + key + "' is no token id");
    return int32_t(id);
  }

  /// The integers of an object, by name; none if it is missing.
  std::map<std::string, int64_t> integers(const char *key) {
    std::map<std::string, int64_t> result;
    const nlohmann::json *value = find(key);
    if (!value)
      return result;
    if (!value->is_object())
      faults.add(where, std::string("'") + key + "' must be an object");
    else
      for (const auto &[name, member] : value->items())
        result[name] =
            ManifestReader(*value, faults, where).integer(name.c_str(), 0);
    return result;
  }

private:
  const nlohmann::json *find(const char *key) {
    auto it = document.find(key);
    return it == document.end() ? nullptr : &*it;
  }

  const nlohmann::json &document;
  Status &faults;
  std::string where;
};

std::string versionText(int64_t version) {
  return "ABI version " + std::to_string(version) +
         ", this runtime needs version " + std::to_string(DSF_ABI_VERSION);
}

/// A table in a module: `count` rows at `rows`.
template <typename Row> bool saneTable(const Row *rows, int64_t count) {
  return count == 0 || (count > 0 && rows);
}

bool saneWeight(const dsf_weight &weight, int64_t slots) {
  if (!weight.tensor || weight.planes < 1 || weight.planes > 2 ||
      weight.experts < 1 || weight.rows < 1 || weight.columns < 1 ||
      weight.type >= DSF_NONE)
    return false;
  if (weight.planes == 2 && (!weight.scale || weight.scale_type >= DSF_NONE))
    return false;
  if (weight.source == DSF_FROM_TOKENIZER && weight.type != DSF_I32)
    return false;
  if (!weight.layers && weight.layer_count > 0)
    return false;
  for (uint32_t i = 0; i < weight.layer_count; ++i)
    if (weight.layers[i] < 0 || uint32_t(weight.layers[i]) >= weight.layer_span)
      return false;
  int64_t span = weight.layers ? weight.layer_span : 1;
  return weight.slot + span * weight.experts * weight.planes <= slots;
}

bool saneEntry(const dsf_entry &entry) {
  return entry.name && entry.function &&
         saneTable(entry.tensors, entry.tensor_count) &&
         entry.workspace_row_bytes >= 0 && entry.workspace_fixed_bytes >= 0;
}

bool saneProbe(const dsf_probe &probe) {
  if (!probe.name || probe.rank > 2 || probe.positions_per_row < 0 ||
      (probe.type != DSF_F32 && probe.type != DSF_I32 && probe.type != DSF_I64))
    return false;
  for (uint32_t i = 0; i < probe.rank; ++i)
    if (probe.extents[i] < 0)
      return false;
  return true;
}

/// Whether a table can be used at all; what it names is checked later.
Status checkTable(const dsf_module &module, const std::string &where) {
  Status faults;
  auto require = [&](bool sane, const std::string &what) {
    if (!sane)
      faults.add(where, "the module's " + what + " is damaged");
  };
  require(module.cpu_features && module.numerics && module.target &&
              module.compiler && module.vocab_size >= 0 &&
              module.max_positions >= 0 && module.draft_block >= 0 &&
              module.look_back >= 0 && module.state_bytes >= 0 &&
              module.weight_slots >= 0,
          "header");
  require(saneTable(module.entries, module.entry_count) &&
              saneTable(module.weights, module.weight_count) &&
              saneTable(module.states, module.state_count) &&
              saneTable(module.probes, module.probe_count) &&
              saneTable(module.checks, module.check_count) &&
              saneTable(module.kernels, module.kernel_count),
          "list of tables");
  for (int64_t i = 0; i < module.code_count; ++i)
    require(module.codes && module.codes[i].target && module.codes[i].ptx,
            "device code " + std::to_string(i));
  if (!faults)
    return faults;
  for (int64_t i = 0; i < module.entry_count; ++i)
    require(saneEntry(module.entries[i]), "entry " + std::to_string(i));
  for (int64_t i = 0; i < module.kernel_count; ++i) {
    const dsf_kernel &kernel = module.kernels[i];
    require(kernel.name && kernel.threads > 0 && kernel.items_per_block > 0 &&
                kernel.entry &&
                saneTable(kernel.constants, kernel.constant_count),
            "kernel " + std::to_string(i));
  }
  for (int64_t i = 0; i < module.weight_count; ++i)
    require(saneWeight(module.weights[i], module.weight_slots),
            "weight " + std::to_string(i));
  for (int64_t i = 0; i < module.state_count; ++i) {
    const dsf_state &state = module.states[i];
    require(state.name && state.offset >= 0 && state.row_bytes >= 0 &&
                state.rows >= 0 && state.positions_per_row >= 0 &&
                state.offset + state.row_bytes * state.rows <=
                    module.state_bytes,
            "state " + std::to_string(i));
  }
  for (int64_t i = 0; i < module.probe_count; ++i)
    require(saneProbe(module.probes[i]), "probe " + std::to_string(i));
  for (int64_t i = 0; i < module.check_count; ++i)
    require(module.checks[i].name, "check " + std::to_string(i));
  return faults;
}

} // namespace

const char *dsflash::abiTypeName(uint32_t type) {
  static const char *const names[] = {"F32",     "BF16", "F8_E4M3", "F4_E2M1",
                                      "F8_E8M0", "I32",  "I64"};
  return type < DSF_NONE ? names[type] : "none";
}

Result<Manifest> dsflash::parseManifest(std::string_view json,
                                        const std::string &where) {
  Result<nlohmann::json> document = parseJson(json, where);
  if (!document)
    return document.status();
  if (!document->is_object())
    return Status::error(where, "must be an object");
  Status faults;
  ManifestReader reader(*document, faults, where);
  int64_t format = reader.integer("format", 0);
  int64_t abi = reader.integer("abi", 0);
  Manifest facts;
  facts.compiler = reader.text("compiler");
  facts.numerics = reader.text("numerics");
  facts.target = reader.text("target");
  facts.weights = reader.text("weights");
  facts.config = reader.text("config");
  facts.bosToken = reader.token("bos_token_id");
  facts.eosToken = reader.token("eos_token_id");
  facts.padToken = reader.token("pad_token_id");
  facts.operations = reader.integers("operations");
  if (format != kManifestFormat)
    faults.add(where, "format " + std::to_string(format) +
                          ", this runtime reads format " +
                          std::to_string(kManifestFormat));
  if (abi != DSF_ABI_VERSION)
    faults.add(where, "the model was compiled for " + versionText(abi));
  if (!faults)
    return faults;
  return facts;
}

Result<std::unique_ptr<Model>> Model::open(const std::string &folder) {
  std::unique_ptr<Model> model(new Model);
  model->folder = folder;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return Status::error(folder, "no compiled model: not a folder");
  std::string path = folder + "/manifest.json";
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  Result<Manifest> manifest = parseManifest(file->text(), path);
  if (!manifest)
    return manifest.status();
  model->facts = std::move(*manifest);
  if (Status status = model->loadModule(); !status)
    return status;
  if (Status status = model->loadTokenizer(folder); !status)
    return status;
  return model;
}

Model::~Model() {
  if (library)
    dlclose(library);
}

Status Model::loadModule() {
  // With a slash in it the name is a path for the loader, never a search.
  std::error_code error;
  std::string path =
      fs::absolute(fs::path(folder) / "model.so", error).string();
  if (error)
    return Status::error(folder, error.message());
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Status::error(path, dlerror());
  auto query = reinterpret_cast<dsf_module_query_function>(
      dlsym(library, DSF_MODULE_QUERY_SYMBOL));
  if (!query)
    return Status::error(
        path,
        "no compiled model: the symbol " DSF_MODULE_QUERY_SYMBOL " is missing");
  const dsf_module *module = query();
  if (!module || module->magic != DSF_ABI_MAGIC)
    return Status::error(path, "no compiled model: wrong magic number");
  if (module->abi_version != DSF_ABI_VERSION)
    return Status::error(path, "the model was compiled for " +
                                   versionText(module->abi_version));
  if (Status status = checkTable(*module, path); !status)
    return status;
  std::string missing;
  for (const std::string &name : missingCpuFeatures(module->cpu_features))
    missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty())
    return Status::error(path, "this processor lacks features that the model "
                               "was compiled for: " +
                                   missing);
  table = module;
  return Status();
}

Status Model::loadTokenizer(const std::string &from) {
  std::string path = from + "/tokenizer.json";
  std::error_code error;
  if (!fs::exists(path, error))
    return Status();
  Result<Tokenizer> loaded = Tokenizer::load(path);
  if (!loaded)
    return loaded.status();
  tokens = std::move(*loaded);
  if (facts.bosToken < 0)
    facts.bosToken = tokens->idOf(kBosText).value_or(-1);
  if (facts.eosToken < 0)
    facts.eosToken = tokens->idOf(kEosText).value_or(-1);
  return Status();
}

Status Model::bindWeights(const std::string &from,
                          const std::string &engramFile, bool holdsEngram) {
  std::string where = from;
  if (where.empty()) {
    if (facts.weights.empty())
      return Status::error(folder, "compiled without weights; name their "
                                   "folder with --weights");
    where = (fs::path(folder) / facts.weights).lexically_normal().string();
  }
  if (!tokens)
    if (Status status = loadTokenizer(where); !status)
      return status;
  Result<BoundWeights> weights =
      BoundWeights::bind(*table, where, tokenizer(), engramFile);
  if (!weights)
    return weights.status();
  bound = std::move(*weights);
  return holdsEngram ? bound->holdEngramTables(*table) : Status();
}

const dsf_entry *Model::findEntry(std::string_view name) const {
  for (int64_t i = 0; i < table->entry_count; ++i)
    if (table->entries[i].name == name)
      return &table->entries[i];
  return nullptr;
}

double Model::kvBytesPerToken() const {
  double bytes = 0;
  for (int64_t i = 0; i < table->state_count; ++i) {
    const dsf_state &state = table->states[i];
    if (state.positions_per_row > 0)
      bytes += double(state.row_bytes) / double(state.positions_per_row);
  }
  return bytes;
}

int64_t Model::kvBytes(int64_t positions) const {
  int64_t bytes = 0;
  for (int64_t i = 0; i < table->state_count; ++i) {
    const dsf_state &state = table->states[i];
    if (state.positions_per_row > 0)
      bytes += positions / state.positions_per_row * state.row_bytes;
  }
  return bytes;
}
