//===- Model.h - A compiled model, opened -----------------------*- C++ -*-===//
//
// An artifact is a folder *.dsflash: model.so, manifest.json, tokenizer.json.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_MODEL_H
#define DSFLASH_RUNTIME_MODEL_H

#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Runtime/WeightBinding.h"
#include "dsflash/Support/Status.h"
#include "dsflash/Tokens/Tokenizer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dsflash {

/// What manifest.json says.
struct Manifest {
  std::string compiler;
  std::string numerics;
  std::string target;
  /// Checkpoint folder; empty if the model was compiled without one.
  std::string weights;
  /// Digest of the config; empty if the model was compiled from the text of a
  /// later stage.
  std::string config;
  /// Ids of the named tokens, -1 where there is none. BOS and EOS that the file
  /// does not give are those of the tokenizer.
  int32_t bosToken = -1;
  int32_t eosToken = -1;
  int32_t padToken = -1;
  /// Operations of the IR behind each stage of the compiler, by its name.
  std::map<std::string, int64_t> operations;
};

/// Reads the text of a manifest.json; `where` names it. Errors, all listed:
/// members of a wrong type, another format, another ABI version.
Result<Manifest> parseManifest(std::string_view json, const std::string &where);

/// Element type of an ABI tensor, as safetensors spells it.
const char *abiTypeName(uint32_t type);

/// A loaded artifact. Immutable once its weights are bound; sessions and
/// runners refer to it.
class Model {
public:
  /// Opens the folder, checks that this runtime and processor can run it, and
  /// loads its tokenizer if it has one. Errors: no artifact, another ABI
  /// version (both are named), missing CPU features (all are named), a module
  /// table that contradicts itself.
  static Result<std::unique_ptr<Model>> open(const std::string &folder);

  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model();

  /// Maps the weights from `folder`, or if it is empty from the manifest's.
  /// A model that brought no tokenizer takes that of the weights folder.
  /// The Engram tables come from `engramFile` unless that is empty, and are
  /// read into memory if they are to be held there.
  Status bindWeights(const std::string &folder = "",
                     const std::string &engramFile = "",
                     bool holdsEngram = false);

  const std::string &path() const { return folder; }
  const Manifest &manifest() const { return facts; }
  const dsf_module &module() const { return *table; }
  /// Null before bindWeights.
  const BoundWeights *weights() const { return bound ? &*bound : nullptr; }
  /// Null if there is none: such a model works on token ids alone.
  const Tokenizer *tokenizer() const { return tokens ? &*tokens : nullptr; }
  /// The entry of that name, or null.
  const dsf_entry *findEntry(std::string_view name) const;
  bool drafts() const { return table->draft_block > 0; }

  /// Global KV and index keys: bytes that one more token adds to a sequence.
  double kvBytesPerToken() const;
  /// The same for a sequence of `positions` tokens, in all.
  int64_t kvBytes(int64_t positions) const;

private:
  Model() = default;
  Status loadModule();
  Status loadTokenizer(const std::string &from);

  std::string folder;
  Manifest facts;
  void *library = nullptr;
  const dsf_module *table = nullptr;
  std::optional<Tokenizer> tokens;
  std::optional<BoundWeights> bound;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_MODEL_H
