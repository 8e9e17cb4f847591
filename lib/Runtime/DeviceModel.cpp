//===- DeviceModel.cpp - A model on a device ------------------------------===//

#include "dsflash/Runtime/DeviceModel.h"

#include "dsflash/ABI/KernelArguments.h"

#include <algorithm>
#include <cstring>

using namespace dsflash;

namespace {

/// Shapes whose buffers and launches are kept: plain steps, those of draft
/// blocks and their lengths, chunks of a prompt.
constexpr size_t kMaxShapes = 16;

int64_t elementBytes(uint32_t type) {
  return type == DSF_I64 ? 8 : type == DSF_BF16 ? 2 : 4;
}

int64_t tensorBytes(const dsf_tensor &tensor,
                    const int64_t (&extents)[DSF_DIM_COUNT]) {
  return extents[tensor.dim] * tensor.row_elements * elementBytes(tensor.type);
}

/// Whether its launches follow from more than its extents.
bool readsOnHost(const dsf_entry &entry) {
  return std::any_of(
      entry.tensors, entry.tensors + entry.tensor_count,
      [](const dsf_tensor &tensor) { return tensor.host_reads != 0; });
}

/// What dsf_env.user points to.
struct CallContext {
  Device &device;
  const dsf_module &module;
  const ProbeFunction &probe;
  void *call; ///< the device's copy
  std::vector<char> arguments;
  Status status;
};

void launch(void *user, int32_t number, int64_t items, const void *arguments,
            int64_t argumentBytes) {
  auto &context = *static_cast<CallContext *>(user);
  std::vector<char> &all = context.arguments;
  joinKernelArguments(context.module.kernels[number], context.call, arguments,
                      argumentBytes, all);
  context.device.launch(number, items, all.data(), int64_t(all.size()));
}

/// The rows of that table are a prefetch of the same number (EngramStore).
void awaitRows(void *user, int64_t slot) {
  static_cast<CallContext *>(user)->device.awaitPrefetch(slot);
}

/// An observer works on the host.
void passProbe(void *user, int32_t number, int64_t layer, void *data,
               int64_t rows) {
  auto &context = *static_cast<CallContext *>(user);
  const dsf_probe &probe = context.module.probes[number];
  int64_t bytes =
      rows * probe.extents[0] * probe.extents[1] * elementBytes(probe.type);
  std::vector<char> before(size_t(bytes), 0);
  context.status.add(context.device.copy(before.data(), data, bytes));
  std::vector<char> after = before;
  context.probe(number, layer, after.data(), rows);
  if (after != before)
    context.status.add(context.device.copy(data, after.data(), bytes));
}

} // namespace

Result<std::unique_ptr<DeviceModel>>
DeviceModel::create(const Model &model, std::unique_ptr<Device> device) {
  std::unique_ptr<DeviceModel> created(
      new DeviceModel(model, std::move(device)));
  if (Status status = created->copyWeights(); !status)
    return status;
  return created;
}

Status DeviceModel::copyWeights() {
  const dsf_module &module = model.module();
  const void *const *host = model.weights()->slots();
  std::vector<const void *> addresses(size_t(module.weight_slots), nullptr);
  Status status;
  for (int64_t i = 0; i < module.weight_count; ++i)
    forEachTensor(module.weights[i], [&](const WeightTensor &tensor) {
      if (!status || isEngramTable(tensor.name))
        return;
      Result<DeviceBuffer> buffer =
          dev->upload(tensor.name, host[tensor.slot], tensor.bytes(), DSF_READ);
      if (!buffer) {
        status = buffer.status();
        return;
      }
      addresses[tensor.slot] = buffer->data();
      weights.push_back(std::move(*buffer));
    });
  if (!status)
    return status;
  Result<DeviceBuffer> table =
      dev->upload("weight table", addresses.data(),
                  int64_t(addresses.size() * sizeof(void *)), DSF_READ);
  if (!table)
    return table.status();
  slots = std::move(*table);
  return dev->wait();
}

Status DeviceModel::setWeight(int64_t slot, const void *address) {
  return dev->copy(static_cast<const void **>(slots.data()) + slot, &address,
                   sizeof(address));
}

Status DeviceModel::growWorkspace(int64_t bytes) {
  if (bytes <= workspaceBytes)
    return Status();
  // Recorded launches have its address.
  shapes.clear();
  workspace = DeviceBuffer();
  workspaceBytes = 0;
  Result<DeviceBuffer> memory =
      dev->allocate("workspace", bytes, DSF_READ_WRITE);
  if (!memory)
    return memory.status();
  workspace = std::move(*memory);
  workspaceBytes = bytes;
  return Status();
}

Result<DeviceModel::Shape *>
DeviceModel::findShape(const dsf_entry &entry,
                       const int64_t (&extents)[DSF_DIM_COUNT]) {
  int64_t units = *std::max_element(std::begin(extents), std::end(extents));
  if (Status status = growWorkspace(entry.workspace_row_bytes * units +
                                    entry.workspace_fixed_bytes);
      !status)
    return status;
  ShapeKey key{&entry, {extents[0], extents[1], extents[2]}};
  auto found = shapes.find(key);
  if (found == shapes.end()) {
    if (shapes.size() == kMaxShapes)
      shapes.erase(std::min_element(
          shapes.begin(), shapes.end(), [](const auto &a, const auto &b) {
            return a.second.lastUse < b.second.lastUse;
          }));
    Shape shape;
    if (Status status = makeShape(shape, entry, extents); !status)
      return status;
    found = shapes.emplace(key, std::move(shape)).first;
    found->second.arguments.tensors = found->second.addresses.data();
  }
  found->second.lastUse = ++useClock;
  return &found->second;
}

Status DeviceModel::makeShape(Shape &shape, const dsf_entry &entry,
                              const int64_t (&extents)[DSF_DIM_COUNT]) {
  Status status;
  auto keep = [&](DeviceBuffer &to, Result<DeviceBuffer> buffer) {
    if (buffer)
      to = std::move(*buffer);
    else
      status.add(buffer.status());
    return to.data();
  };
  for (int64_t i = 0; i < entry.tensor_count; ++i) {
    const dsf_tensor &tensor = entry.tensors[i];
    int64_t bytes = tensorBytes(tensor, extents);
    shape.addresses.push_back(keep(
        shape.tensors.emplace_back(),
        tensor.host_reads
            ? dev->allocateShared(tensor.name, bytes)
            : dev->allocate(tensor.name, bytes, dsf_access(tensor.access))));
  }
  auto sequences = int64_t(sizeof(void *)) * extents[DSF_DIM_SEQUENCES];
  shape.arguments = {
      nullptr,
      static_cast<const void *const *>(slots.data()),
      static_cast<void *const *>(keep(
          shape.states, dev->allocate("state table", sequences, DSF_READ))),
      nullptr,
      workspace.data(),
      {extents[0], extents[1], extents[2]}};
  keep(shape.call, dev->upload("call", &shape.arguments,
                               sizeof(shape.arguments), DSF_READ));
  return status;
}

Status DeviceModel::callEntry(Shape &shape, const dsf_entry &entry,
                              const ProbeFunction &probe) {
  CallContext context{*dev, model.module(), probe, shape.call.data(), {}, {}};
  dsf_env env{};
  env.user = &context;
  env.probe = probe ? passProbe : nullptr;
  env.launch = ::launch;
  env.await_rows = ::awaitRows;
  dsf_call call = shape.arguments;
  call.env = &env;
  if (int32_t code = entry.function(&call))
    context.status.add(std::string("entry '") + entry.name + "'",
                       "compiled code failed with code " +
                           std::to_string(code));
  return context.status;
}

Status DeviceModel::launch(Shape &shape, const dsf_entry &entry,
                           const ProbeFunction &probe) {
  // An observer looks at what is between launches.
  bool canRecord = !probe && !readsOnHost(entry);
  if (canRecord && shape.launches) {
    ++counts.replayed;
    dev->replay(shape.launches);
    return Status();
  }
  // The first call of a shape may be the only one.
  if (canRecord && ++shape.uses > 1 &&
      (counts.canRecord = dev->beginRecording())) {
    Status status = callEntry(shape, entry, probe);
    shape.launches = dev->endRecording();
    ++counts.recorded;
    if (status && shape.launches)
      dev->replay(shape.launches);
    return status;
  }
  ++counts.launched;
  return callEntry(shape, entry, probe);
}

Status DeviceModel::run(const dsf_entry &entry,
                        const std::vector<void *> &tensors,
                        const std::vector<void *> &states,
                        const int64_t (&extents)[DSF_DIM_COUNT],
                        const ProbeFunction &probe) {
  Result<Shape *> found = findShape(entry, extents);
  if (!found)
    return found.status();
  Shape &shape = **found;
  Status status = dev->copy(shape.states.data(), states.data(),
                            int64_t(states.size() * sizeof(void *)));
  auto copyAll = [&](auto copy) {
    for (int64_t i = 0; i < entry.tensor_count && status; ++i)
      status = copy(entry.tensors[i], tensors[i], shape.addresses[i],
                    tensorBytes(entry.tensors[i], extents));
  };
  copyAll(
      [&](const dsf_tensor &tensor, void *host, void *device, int64_t bytes) {
        if (tensor.access == DSF_WRITE)
          return Status();
        if (!tensor.host_reads)
          return dev->copy(device, host, bytes);
        if (bytes)
          std::memcpy(device, host, size_t(bytes));
        return Status();
      });
  if (!status)
    return status;
  Status called = launch(shape, entry, probe);
  status = dev->wait();
  status.add(called);
  copyAll(
      [&](const dsf_tensor &tensor, void *host, void *device, int64_t bytes) {
        return tensor.access == DSF_READ ? Status()
                                         : dev->copy(host, device, bytes);
      });
  return status;
}
