//===- Device.h - Where kernels run that the host does not --------*- C++
//-*-===//

#ifndef DSFLASH_RUNTIME_DEVICE_H
#define DSFLASH_RUNTIME_DEVICE_H

#include "dsflash/ABI/DeviceABI.h"
#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/Support/Status.h"

#include <memory>
#include <string>

namespace dsflash {

/// Names of devices, the host's first: "cpu, simt".
std::string deviceNames();

/// A device with the code of one module on it.
class Device {
public:
  /// Null for "cpu", which needs no device. Errors: a device of this name is
  /// not installed; the module was compiled for the host; the device does not
  /// take the module's code.
  static Result<std::unique_ptr<Device>> open(const std::string &name,
                                              const dsf_module &module);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// Runs a kernel, unless an earlier one of this call failed. The arguments
  /// are those of dsf_env.launch.
  void launch(int32_t kernel, int64_t items, const void *arguments,
              int64_t argumentBytes);
  /// What went wrong since the last time, with the kernel's name.
  Status takeStatus();

private:
  Device(const dsf_module &module, const dsf_device *functions)
      : module(module), functions(functions) {}

  const dsf_module &module;
  const dsf_device *functions;
  Status status;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_DEVICE_H
