//===- DeviceModel.h - A model on a device ----------------------*- C++ -*-===//
//
// The weights lie on the device for as long as the model does. A call's inputs
// go in, all kernels are started without waiting for any, outputs come back.
// Calls of one shape (entry and extents) have their buffers at the same places,
// so that their launches are the same: from the second one on they are kept by
// the device and started at once.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_DEVICEMODEL_H
#define DSFLASH_RUNTIME_DEVICEMODEL_H

#include "dsflash/Runtime/Device.h"
#include "dsflash/Runtime/Model.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace dsflash {

/// Called with each observation point that is passed: probe number, layer,
/// data, rows (see dsf_env.probe).
using ProbeFunction =
    std::function<void(int32_t probe, int64_t layer, void *data, int64_t rows)>;

/// How calls reached a device.
struct DeviceCalls {
  int64_t launched = 0; ///< kernel by kernel
  int64_t recorded = 0; ///< kept and then started
  int64_t replayed = 0;
  bool canRecord = true; ///< false once the device said so
};

class DeviceModel {
public:
  /// Copies the bound weights of a model but for Engram tables, whose slots
  /// setWeight fills. Error: no room for them.
  static Result<std::unique_ptr<DeviceModel>>
  create(const Model &model, std::unique_ptr<Device> device);

  Device &device() { return *dev; }
  const DeviceCalls &calls() const { return counts; }

  /// Has kernels look for the weight of a slot at an address of the device.
  Status setWeight(int64_t slot, const void *address);

  /// Runs an entry. `tensors` are buffers of the host in the entry's order,
  /// null where a tensor has no elements; `states` lie on the device. Errors:
  /// the entry's failure code, no memory, a failure of a kernel. `probe` may be
  /// empty.
  Status run(const dsf_entry &entry, const std::vector<void *> &tensors,
             const std::vector<void *> &states,
             const int64_t (&extents)[DSF_DIM_COUNT],
             const ProbeFunction &probe);

private:
  /// What calls of one shape have in common.
  struct Shape {
    std::vector<DeviceBuffer> tensors;
    DeviceBuffer states, call;
    std::vector<void *> addresses; ///< of `tensors`
    dsf_call arguments;            ///< of the entry
    DeviceRecording launches;
    int64_t lastUse = 0, uses = 0;
  };
  using ShapeKey =
      std::pair<const dsf_entry *, std::array<int64_t, DSF_DIM_COUNT>>;

  DeviceModel(const Model &model, std::unique_ptr<Device> device)
      : model(model), dev(std::move(device)) {}
  Status copyWeights();
  /// Room for the kernels' results between them, of all calls.
  Status growWorkspace(int64_t bytes);
  Result<Shape *> findShape(const dsf_entry &entry,
                            const int64_t (&extents)[DSF_DIM_COUNT]);
  Status makeShape(Shape &shape, const dsf_entry &entry,
                   const int64_t (&extents)[DSF_DIM_COUNT]);
  Status launch(Shape &shape, const dsf_entry &entry,
                const ProbeFunction &probe);
  Status callEntry(Shape &shape, const dsf_entry &entry,
                   const ProbeFunction &probe);

  const Model &model;
  std::unique_ptr<Device> dev;
  std::vector<DeviceBuffer> weights;
  DeviceBuffer slots, workspace;
  int64_t workspaceBytes = 0;
  std::map<ShapeKey, Shape> shapes;
  int64_t useClock = 0;
  DeviceCalls counts;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_DEVICEMODEL_H
