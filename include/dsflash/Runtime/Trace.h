//===- Trace.h - Records and replaces observed values -----------*- C++ -*-===//
//
// Models compiled with --probes pass named values by the runtime: --trace
// keeps them, --force puts others in their place.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_TRACE_H
#define DSFLASH_RUNTIME_TRACE_H

#include "dsflash/Runtime/Drafting.h"
#include "dsflash/Runtime/ModelRunner.h"
#include "dsflash/Support/Safetensors.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace dsflash {

/// "" for a single sequence, "p3." for number 3 of several.
std::string sequencePrefix(int64_t sequence, int64_t sequences);

/// Observes the prompts of a run. A session's index is its prompt's number.
class Trace : public ProbeObserver {
public:
  struct Options {
    /// Whether to keep the values, as they were before a replacement.
    bool record = false;
    /// A safetensors file (F32 or BF16) whose tensors named as a `stream` or
    /// `pre` observation point replace its values; the first dimension counts
    /// prompt positions. Empty: nothing is replaced.
    std::string force;
  };

  /// Errors: a model without observation points; a file that cannot be read.
  static Result<std::unique_ptr<Trace>>
  create(const dsf_module &module, std::vector<int64_t> promptLengths,
         const Options &options);

  void observe(int32_t probe, int64_t layer, void *data, int64_t rows,
               const RowTable &table) override;
  /// The first draft block after a prompt.
  void addDraft(int64_t sequence, DraftBlock block);

  /// What went wrong so far: rows that do not fit the call, a replacement of
  /// another shape.
  Status status() const override { return faults; }
  /// Error if no observation point took a value of the file.
  Status checkForced() const;

  /// Writes what was kept, by the names of the observation points: F32 or I32
  /// (I64 where a value needs it), first dimension = prompt position, or row
  /// of the global KV. With several prompts names start with "p0.", "p1.", ..
  Status write(const std::string &path) const;

private:
  /// Probe number, layer, sequence.
  using Key = std::tuple<int32_t, int64_t, int64_t>;
  struct Recorded {
    std::vector<int64_t> shape;
    std::vector<char> bytes;
  };

  Trace(const dsf_module &module, std::vector<int64_t> lengths, bool record)
      : module(module), lengths(std::move(lengths)), recording(record) {}
  std::string tensorName(const Key &key) const;
  int64_t promptRows(const dsf_probe &probe, int64_t sequence) const;
  /// Values a row has.
  static int64_t rowElements(const dsf_probe &probe);
  Recorded &recordedTensor(const Key &key);
  /// The replacement of a probe, or null; checks its shape.
  const TensorInfo *replacement(const Key &key);
  void replaceRow(const TensorInfo &tensor, int64_t row, int64_t elements,
                  float *to) const;

  const dsf_module &module;
  std::vector<int64_t> lengths;
  bool recording;
  std::string forcePath;
  std::optional<SafetensorsFile> forced;
  std::map<Key, Recorded> recorded;
  std::map<Key, const TensorInfo *> replacements;
  std::map<int64_t, DraftBlock> drafts;
  Status faults;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_TRACE_H
