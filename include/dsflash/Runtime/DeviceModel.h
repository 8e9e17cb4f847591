//===- DeviceModel.h - A model on a device ----------------------*- C++ -*-===//
//
// The weights lie on the device for as long as the model does. A call's inputs
// go in, all kernels are started without waiting for any, outputs come back.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_DEVICEMODEL_H
#define DSFLASH_RUNTIME_DEVICEMODEL_H

#include "dsflash/Runtime/Device.h"
#include "dsflash/Runtime/Model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dsflash {

/// Called with each observation point that is passed: probe number, layer,
/// data, rows (see dsf_env.probe).
using ProbeFunction =
    std::function<void(int32_t probe, int64_t layer, void *data, int64_t rows)>;

class DeviceModel {
public:
  /// Copies the bound weights of a model. Error: no room for them.
  static Result<std::unique_ptr<DeviceModel>>
  create(const Model &model, std::unique_ptr<Device> device);

  Device &device() { return *dev; }

  /// Runs an entry. `tensors` are buffers of the host in the entry's order,
  /// null where a tensor has no elements; `states` lie on the device. Errors:
  /// the entry's failure code, no memory, a failure of a kernel. `probe` may be
  /// empty.
  Status run(const dsf_entry &entry, const std::vector<void *> &tensors,
             const std::vector<void *> &states,
             const int64_t (&extents)[DSF_DIM_COUNT],
             const ProbeFunction &probe);

private:
  DeviceModel(const Model &model, std::unique_ptr<Device> device)
      : model(model), dev(std::move(device)) {}
  Status copyWeights();

  const Model &model;
  std::unique_ptr<Device> dev;
  std::vector<DeviceBuffer> weights;
  DeviceBuffer slots;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_DEVICEMODEL_H
