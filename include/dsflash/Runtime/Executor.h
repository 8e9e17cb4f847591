//===- Executor.h - Calls the entries of a compiled model -------*- C++ -*-===//
//
// An entry says which tensors it takes, by name. The executor resolves the
// names once, keeps the workspace and runs the parallel pieces.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_EXECUTOR_H
#define DSFLASH_RUNTIME_EXECUTOR_H

#include "dsflash/Runtime/DeviceModel.h"
#include "dsflash/Runtime/ThreadPool.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace dsflash {

/// The entries that this runtime calls.
enum class Entry {
  Forward,
  Replay,
  Prompt,
  Tail,
  BoundedTail,
  DraftContext,
  Draft,
  Markov
};
constexpr size_t kEntryCount = 8;
const char *entryName(Entry entry);

/// The tensors that this runtime offers them.
enum class Tensor {
  Tokens,     ///< i32 [rows], of draft [sequences]
  Sequence,   ///< i32 [rows]: index into the call's states
  Position,   ///< i32 [rows]
  Extents,    ///< i32 [sequences, 2]: first row, row count
  Lookback,   ///< i32 [sequences, look_back]: ids before the first row
  Outputs,    ///< i32 [outputs]: rows
  Previous,   ///< i32 [outputs]: token ids
  Logits,     ///< f32 [outputs or rows, vocab]
  Features,   ///< f32 [rows, draft features]
  Hidden,     ///< f32 [rows, hidden]
  Confidence, ///< f32 [rows]
  EngramRows, ///< i64 [rows, columns]: table rows, of the entries engram_rows.L
  Stream,     ///< f32 [rows, streams * hidden]: between encoder and decoder
  Pre,        ///< f32 [rows, streams]: collapse weights beside it
  Wanted,     ///< i32 [sequences]: last rows that have outputs
};
constexpr size_t kTensorCount = 15;
std::optional<Tensor> tensorOfName(std::string_view name);

/// Buffers of one call, by Tensor.
using TensorBuffers = std::array<void *, kTensorCount>;
inline void setBuffer(TensorBuffers &buffers, Tensor tensor, void *data) {
  buffers[size_t(tensor)] = data;
}
/// Rows, sequences and outputs of one call, by dsf_dim.
using CallExtents = std::array<int64_t, DSF_DIM_COUNT>;

/// Called before rows of the table in a weight slot are looked up (see
/// dsf_env.await_rows).
using AwaitRowsFunction = std::function<void(int64_t slot)>;

/// Scratch memory of entries: 64-byte aligned, never smaller than before.
class Workspace {
public:
  Status grow(int64_t bytes);
  void *data() const { return memory.get(); }
  int64_t size() const { return bytes; }

private:
  struct FreeDelete {
    void operator()(void *memory) const;
  };
  std::unique_ptr<void, FreeDelete> memory;
  int64_t bytes = 0;
};

class Executor {
public:
  /// Resolves the entries of a model whose weights are bound. Errors, all
  /// listed: a module for a device without one, an entry that is missing, a
  /// tensor whose name is not known or whose type or row size does not fit.
  /// `device` runs the kernels; null: the host does.
  static Result<std::unique_ptr<Executor>>
  create(const Model &model, ThreadPool &pool,
         std::unique_ptr<Device> device = nullptr);
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  bool hasEntry(Entry entry) const { return bindings[size_t(entry)].entry; }
  /// Rows of a sequence from which the entry can compute all; 0: any number.
  int64_t lastRows(Entry entry) const {
    return hasEntry(entry) ? bindings[size_t(entry)].entry->last_rows : 0;
  }
  /// Whether the entry changes that tensor.
  bool writes(Entry entry, Tensor tensor) const;
  /// Elements of a row of that tensor; 0 if no entry takes it.
  int64_t rowElements(Tensor tensor) const { return widths[size_t(tensor)]; }

  /// Where the kernels run; null: on the host.
  Device *device() const { return onDevice ? &onDevice->device() : nullptr; }

  /// The model there; null: on the host.
  DeviceModel *deviceModel() const { return onDevice.get(); }

  /// Runs an entry. Errors: it returned a failure code, a check of a checked
  /// model or a kernel on its device failed. `probe` and `awaitRows` may be
  /// empty.
  Status run(Entry entry, const TensorBuffers &buffers,
             const std::vector<void *> &states, const CallExtents &extents,
             const ProbeFunction &probe = {},
             const AwaitRowsFunction &awaitRows = {});

  /// Records the calls of entries from now on; may be null.
  void setTimeline(Timeline *timeline) { recorder = timeline; }

  /// Bytes of the workspace, the largest so far.
  int64_t workspaceBytes() const { return workspace.size(); }

private:
  struct Binding {
    const dsf_entry *entry = nullptr;
    std::vector<Tensor> tensors;
  };

  Executor(const Model &model, ThreadPool &pool) : model(model), pool(pool) {}
  Status resolve(Entry entry);

  const Model &model;
  ThreadPool &pool;
  std::unique_ptr<DeviceModel> onDevice;
  Timeline *recorder = nullptr;
  std::array<Binding, kEntryCount> bindings;
  std::array<int64_t, kTensorCount> widths{};
  std::vector<void *> pointers;
  Workspace workspace;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_EXECUTOR_H
