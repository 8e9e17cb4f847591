//===- Executor.cpp - Calls the entries of a compiled model ---------------===//

#include "dsflash/Runtime/Executor.h"
#include "dsflash/Runtime/CheckReports.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace dsflash;

namespace {

constexpr const char *kEntryNames[kEntryCount] = {
    "forward",      "replay",        "prompt", "tail",
    "bounded_tail", "draft_context", "draft",  "markov"};

struct TensorRow {
  const char *name;
  dsf_type type;
};

constexpr TensorRow kTensors[kTensorCount] = {
    {"tokens", DSF_I32},   {"sequence", DSF_I32},   {"position", DSF_I32},
    {"extents", DSF_I32},  {"lookback", DSF_I32},   {"outputs", DSF_I32},
    {"previous", DSF_I32}, {"logits", DSF_F32},     {"features", DSF_F32},
    {"hidden", DSF_F32},   {"confidence", DSF_F32}, {"engram_rows", DSF_I64},
    {"stream", DSF_F32},   {"pre", DSF_F32},        {"wanted", DSF_I32}};

/// Row size that a tensor must have, or 0 if it is the model's choice.
int64_t expectedWidth(Tensor tensor, const dsf_module &module) {
  switch (tensor) {
  case Tensor::Extents:
    return 2;
  case Tensor::Lookback:
    return module.look_back;
  case Tensor::Logits:
    return module.vocab_size;
  case Tensor::Features:
  case Tensor::Hidden:
  case Tensor::EngramRows:
  case Tensor::Stream:
  case Tensor::Pre:
    return 0;
  default:
    return 1;
  }
}

constexpr int64_t kWorkspaceAlignment = 64;

/// What dsf_env.user points to.
struct CallContext {
  ThreadPool *pool;
  const ProbeFunction *probe;
  const AwaitRowsFunction *awaitRows;
  CheckReports *reports;
};

void parallelFor(void *user, dsf_task task, void *context, int64_t count) {
  static_cast<CallContext *>(user)->pool->run(task, context, count);
}

void passProbe(void *user, int32_t probe, int64_t layer, void *data,
               int64_t rows) {
  (*static_cast<CallContext *>(user)->probe)(probe, layer, data, rows);
}

void awaitRows(void *user, int64_t slot) {
  (*static_cast<CallContext *>(user)->awaitRows)(slot);
}

void takeReport(void *user, int32_t check, int64_t layer, int64_t position,
                int64_t found, int64_t expected, int64_t slot) {
  static_cast<CallContext *>(user)->reports->add(
      {check, layer, position, found, expected, slot});
}

} // namespace

const char *dsflash::entryName(Entry entry) {
  return kEntryNames[size_t(entry)];
}

std::optional<Tensor> dsflash::tensorOfName(std::string_view name) {
  for (size_t i = 0; i < kTensorCount; ++i)
    if (kTensors[i].name == name)
      return Tensor(i);
  return std::nullopt;
}

void Workspace::FreeDelete::operator()(void *memory) const {
  std::free(memory);
}

Result<std::unique_ptr<Executor>>
Executor::create(const Model &model, ThreadPool &pool,
                 std::unique_ptr<Device> device) {
  if (model.module().vocab_size == 0 || model.module().max_positions == 0)
    return Status::error(model.path() + "/model.so",
                         "a function without vocabulary or positions, no "
                         "model");
  if (!device && model.module().code_count)
    return Status::error(model.path(),
                         "the model was compiled for " +
                             deviceTargets(model.module()) +
                             "; it runs on a device, as --device=simt");
  std::unique_ptr<Executor> executor(new Executor(model, pool));
  std::vector<Entry> needed{Entry::Forward, Entry::Replay};
  if (model.drafts())
    needed.insert(needed.end(),
                  {Entry::DraftContext, Entry::Draft, Entry::Markov});
  if (model.findEntry(entryName(Entry::Prompt)))
    needed.insert(needed.end(),
                  {Entry::Prompt, Entry::Tail, Entry::BoundedTail});
  Status faults;
  for (Entry entry : needed)
    faults.add(executor->resolve(entry));
  if (!faults)
    return faults;
  if (device) {
    Result<std::unique_ptr<DeviceModel>> placed =
        DeviceModel::create(model, std::move(device));
    if (!placed)
      return placed.status();
    executor->onDevice = std::move(*placed);
  }
  return executor;
}

Status Executor::resolve(Entry entry) {
  Binding &binding = bindings[size_t(entry)];
  std::string where = model.path() + "/model.so";
  binding.entry = model.findEntry(entryName(entry));
  if (!binding.entry)
    return Status::error(where,
                         std::string("no entry '") + entryName(entry) + "'");
  where += std::string(": entry '") + entryName(entry) + "'";
  Status faults;
  for (int64_t i = 0; i < binding.entry->tensor_count; ++i) {
    const dsf_tensor &tensor = binding.entry->tensors[i];
    std::string name = tensor.name ? tensor.name : "";
    std::optional<Tensor> slot = tensorOfName(name);
    if (!slot) {
      faults.add(where, "tensor '" + name + "' is not known to this runtime");
      continue;
    }
    dsf_type known = kTensors[size_t(*slot)].type;
    if (tensor.type != known)
      faults.add(where, "tensor '" + name + "' is " + abiTypeName(tensor.type) +
                            ", this runtime passes " + abiTypeName(known));
    int64_t &width = widths[size_t(*slot)];
    int64_t expected = width ? width : expectedWidth(*slot, model.module());
    if (expected && tensor.row_elements != expected)
      faults.add(where, "tensor '" + name + "' has rows of " +
                            std::to_string(tensor.row_elements) +
                            " elements, this runtime passes " +
                            std::to_string(expected));
    width = tensor.row_elements;
    binding.tensors.push_back(*slot);
  }
  return faults;
}

bool Executor::writes(Entry entry, Tensor tensor) const {
  const Binding &binding = bindings[size_t(entry)];
  for (size_t i = 0; i < binding.tensors.size(); ++i)
    if (binding.tensors[i] == tensor)
      return binding.entry->tensors[i].access != DSF_READ;
  return false;
}

Status Workspace::grow(int64_t wanted) {
  if (wanted <= bytes)
    return Status();
  wanted = (wanted + kWorkspaceAlignment - 1) / kWorkspaceAlignment *
           kWorkspaceAlignment;
  memory.reset();
  bytes = 0;
  memory.reset(std::aligned_alloc(kWorkspaceAlignment, size_t(wanted)));
  if (!memory)
    return Status::error("workspace",
                         "out of memory: " + std::to_string(wanted) + " bytes");
  bytes = wanted;
  return Status();
}

Status Executor::run(Entry entry, const TensorBuffers &buffers,
                     const std::vector<void *> &states,
                     const CallExtents &extents, const ProbeFunction &probe,
                     const AwaitRowsFunction &awaitRows) {
  const Binding &binding = bindings[size_t(entry)];
  pointers.clear();
  for (Tensor tensor : binding.tensors)
    pointers.push_back(buffers[size_t(tensor)]);
  TimelineScope span(recorder, entryName(entry), "rows", extents[DSF_DIM_ROWS]);
  if (onDevice)
    return onDevice->run(*binding.entry, pointers, states,
                         {extents[0], extents[1], extents[2]}, probe);

  int64_t units = *std::max_element(extents.begin(), extents.end());
  if (Status status =
          workspace.grow(binding.entry->workspace_row_bytes * units +
                         binding.entry->workspace_fixed_bytes);
      !status)
    return status;
  CheckReports reports;
  CallContext context{&pool, &probe, &awaitRows, &reports};
  dsf_env env{};
  env.user = &context;
  env.parallel_for = parallelFor;
  env.probe = probe ? passProbe : nullptr;
  env.report = takeReport;
  env.await_rows = awaitRows ? ::awaitRows : nullptr;
  dsf_call call{&env,
                model.weights()->slots(),
                states.data(),
                pointers.data(),
                workspace.data(),
                {extents[0], extents[1], extents[2]}};
  if (int32_t code = binding.entry->function(&call))
    return Status::error(std::string("entry '") + entryName(entry) + "'",
                         "compiled code failed with code " +
                             std::to_string(code));
  return reports.status(model.module());
}
