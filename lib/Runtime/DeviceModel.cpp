//===- DeviceModel.cpp - A model on a device ------------------------------===//

#include "dsflash/Runtime/DeviceModel.h"

#include <algorithm>
#include <cstring>

using namespace dsflash;

namespace {

int64_t elementBytes(uint32_t type) {
  return type == DSF_I64 ? 8 : type == DSF_BF16 ? 2 : 4;
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

/// Kernels get the device's copy of the call.
void launch(void *user, int32_t kernel, int64_t items, const void *arguments,
            int64_t argumentBytes) {
  auto &context = *static_cast<CallContext *>(user);
  auto *bytes = static_cast<const char *>(arguments);
  context.arguments.assign(bytes, bytes + argumentBytes);
  std::memcpy(context.arguments.data(), &context.call, sizeof(context.call));
  context.device.launch(kernel, items, context.arguments.data(), argumentBytes);
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
      if (!status)
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

Status DeviceModel::run(const dsf_entry &entry,
                        const std::vector<void *> &tensors,
                        const std::vector<void *> &states,
                        const int64_t (&extents)[DSF_DIM_COUNT],
                        const ProbeFunction &probe) {
  Status status;
  std::vector<DeviceBuffer> buffers;
  auto keep = [&](Result<DeviceBuffer> buffer) -> void * {
    if (!buffer) {
      status.add(buffer.status());
      return nullptr;
    }
    buffers.push_back(std::move(*buffer));
    return buffers.back().data();
  };
  auto bytesOf = [&](const dsf_tensor &tensor) {
    return extents[tensor.dim] * tensor.row_elements *
           elementBytes(tensor.type);
  };
  std::vector<void *> addresses;
  for (int64_t i = 0; i < entry.tensor_count; ++i) {
    const dsf_tensor &tensor = entry.tensors[i];
    auto access = dsf_access(tensor.access);
    addresses.push_back(keep(
        access == DSF_WRITE
            ? dev->allocate(tensor.name, bytesOf(tensor), access)
            : dev->upload(tensor.name, tensors[i], bytesOf(tensor), access)));
  }
  int64_t units = *std::max_element(std::begin(extents), std::end(extents));
  void *workspace = keep(dev->allocate("workspace",
                                       entry.workspace_row_bytes * units +
                                           entry.workspace_fixed_bytes,
                                       DSF_READ_WRITE));
  void *stateTable =
      keep(dev->upload("state table", states.data(),
                       int64_t(states.size() * sizeof(void *)), DSF_READ));

  CallContext context{*dev, model.module(), probe, nullptr, {}, {}};
  dsf_env env{};
  env.user = &context;
  env.probe = probe ? passProbe : nullptr;
  env.launch = launch;
  dsf_call call{&env,
                static_cast<const void *const *>(slots.data()),
                static_cast<void *const *>(stateTable),
                addresses.data(),
                workspace,
                {extents[0], extents[1], extents[2]}};
  context.call = keep(dev->upload("call", &call, sizeof(call), DSF_READ));
  if (!status)
    return status;
  if (int32_t code = entry.function(&call))
    return Status::error(std::string("entry '") + entry.name + "'",
                         "compiled code failed with code " +
                             std::to_string(code));
  status = dev->wait();
  status.add(context.status);
  for (int64_t i = 0; i < entry.tensor_count && status; ++i)
    if (entry.tensors[i].access != DSF_READ)
      status = dev->copy(tensors[i], addresses[i], bytesOf(entry.tensors[i]));
  return status;
}
