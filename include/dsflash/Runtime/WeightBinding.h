//===- WeightBinding.h - Checkpoint tensors to a model's slots --*- C++ -*-===//
//
// Weights stay where they are: the files are mapped and compiled code gets the
// addresses of the tensors that it names.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_WEIGHTBINDING_H
#define DSFLASH_RUNTIME_WEIGHTBINDING_H

#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Model/Checkpoint.h"
#include "dsflash/Support/Status.h"
#include "dsflash/Tokens/Tokenizer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dsflash {

/// Payload or scale of an Engram table (SPEC section 4).
bool isEngramTable(const std::string &tensor);

/// The mapped weights of one module.
class BoundWeights {
public:
  /// Opens the checkpoint folder and finds every tensor that the module names.
  /// Errors, all listed: broken shards, tensors that are missing or of another
  /// dtype or shape, a token map without tokenizer or of another length.
  /// `tokenizer` may be null. The Engram tables come from `engramFile`, a
  /// safetensors file, unless that is empty.
  static Result<BoundWeights> bind(const dsf_module &module,
                                   const std::string &folder,
                                   const Tokenizer *tokenizer,
                                   const std::string &engramFile = "");
  /// The same for a checkpoint that was opened.
  static Result<BoundWeights> bind(const dsf_module &module,
                                   CheckpointIndex checkpoint,
                                   const Tokenizer *tokenizer,
                                   const std::string &engramFile = "");

  /// Where a bound tensor lies on the disk.
  struct Place {
    std::string path;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  Place placeOf(const std::string &tensor) const;
  /// Reads the Engram tables into memory, where they stay. Errors name the
  /// file: a read that fails, a file that ends too early.
  Status holdEngramTables(const dsf_module &module);
  bool holdsEngramTables() const { return !heldTables.empty(); }

  /// Address of each slot, [dsf_module.weight_slots]. A slot that belongs to a
  /// layer without that weight is null.
  const void *const *slots() const { return addresses.data(); }

  /// Whether the checkpoint's tensor of that name is in a slot.
  bool uses(const std::string &tensor) const;

  /// Bytes of the weight files that this process has touched so far, counted
  /// in mapped pages.
  int64_t bytesRead() const;

  /// Tells checkpoints apart: a hash of all names, types and shapes, and of
  /// some bytes of every kind of tensor, in hexadecimal digits.
  std::string fingerprint() const;

private:
  explicit BoundWeights(CheckpointIndex index) : checkpoint(std::move(index)) {}

  CheckpointIndex checkpoint;
  std::string engramPath;
  std::optional<SafetensorsFile> engram;
  std::vector<std::vector<char>> heldTables;
  std::vector<std::vector<int32_t>> tokenMaps;
  std::vector<const void *> addresses;
};

/// A tensor that a module takes from a checkpoint.
struct WeightTensor {
  std::string name;
  uint32_t type = DSF_NONE;   ///< dsf_type
  std::vector<int64_t> shape; ///< as stored: two E2M1 elements are one
  size_t slot = 0;

  int64_t bytes() const;
};

/// Visits all of one parameter, in the order of its slots.
void forEachTensor(const dsf_weight &weight,
                   const std::function<void(const WeightTensor &)> &visit);

/// "layers.{l}.ffn.experts.{e}.w1" for layer 3, expert 5:
/// "layers.3.ffn.experts.5.w1".
std::string expandName(std::string_view pattern, int64_t layer,
                       int64_t expert = 0);

} // namespace dsflash

#endif // DSFLASH_RUNTIME_WEIGHTBINDING_H
