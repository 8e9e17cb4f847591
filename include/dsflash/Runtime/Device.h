//===- Device.h - Where kernels run that the host does not ------*- C++ -*-===//

#ifndef DSFLASH_RUNTIME_DEVICE_H
#define DSFLASH_RUNTIME_DEVICE_H

#include "dsflash/ABI/DeviceABI.h"
#include "dsflash/Support/Status.h"

#include <memory>
#include <string>
#include <utility>

namespace dsflash {

/// Names of devices, the host's first: "cpu, cuda, simt".
std::string deviceNames();

/// What a module has code for, "nvptx:sm_80, nvptx:sm_90a"; empty: the host.
std::string deviceTargets(const dsf_module &module);

class Device;

/// Memory of a device, given back when this goes; the device outlives it.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(Device &device, void *address)
      : device(&device), address(address) {}
  DeviceBuffer(DeviceBuffer &&other) noexcept { *this = std::move(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    std::swap(device, other.device);
    std::swap(address, other.address);
    return *this;
  }
  ~DeviceBuffer();

  void *data() const { return address; }

private:
  Device *device = nullptr;
  void *address = nullptr;
};

/// Launches that a device kept (DeviceABI.h), given back when this goes; the
/// device outlives it.
class DeviceRecording {
public:
  DeviceRecording() = default;
  DeviceRecording(Device &device, void *launches)
      : device(&device), launches(launches) {}
  DeviceRecording(DeviceRecording &&other) noexcept {
    *this = std::move(other);
  }
  DeviceRecording &operator=(DeviceRecording &&other) noexcept {
    std::swap(device, other.device);
    std::swap(launches, other.launches);
    return *this;
  }
  ~DeviceRecording();

  void *data() const { return launches; }
  explicit operator bool() const { return launches; }

private:
  Device *device = nullptr;
  void *launches = nullptr;
};

/// A device with the code of one module on it; see DeviceABI.h. A failure of a
/// kernel is told by the next call that can.
class Device {
public:
  /// `spec` is a name, perhaps with ':' and options of that device. Null for
  /// "cpu", which needs none. Errors: a device of this name is not installed;
  /// the module was compiled for the host; the device does not take the options
  /// or the module's code.
  static Result<std::unique_ptr<Device>> open(const std::string &spec,
                                              const dsf_module &module);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// Undefined memory. Error: there is not so much.
  Result<DeviceBuffer> allocate(const std::string &name, int64_t bytes,
                                dsf_access access);
  /// The same with a copy of the host's memory in it.
  Result<DeviceBuffer> upload(const std::string &name, const void *data,
                              int64_t bytes, dsf_access access);
  /// Undefined memory that the host uses too.
  Result<DeviceBuffer> allocateShared(const std::string &name, int64_t bytes);
  /// An address range whose parts become real, and zero, by commit.
  Result<DeviceBuffer> reserve(const std::string &name, int64_t bytes);
  Status commit(const DeviceBuffer &range, int64_t offset, int64_t bytes);
  /// Between the host and the device, or within the device.
  Status copy(void *to, const void *from, int64_t bytes);

  /// Starts a kernel, unless an earlier one failed since the last wait. The
  /// arguments are those of dsf_env.launch.
  void launch(int32_t kernel, int64_t items, const void *arguments,
              int64_t argumentBytes);
  /// Fills shared memory and copies it to the device beside what kernels do;
  /// see DeviceABI.h.
  Status prefetch(int64_t number, dsf_fill fill, void *context,
                  const DeviceBuffer &to, const DeviceBuffer &from,
                  int64_t bytes);
  /// Launches from here on find what that prefetch copies.
  void awaitPrefetch(int64_t number);
  /// From here to endRecording launches are kept, and nothing else is done.
  /// False: the device cannot, launches run as ever.
  bool beginRecording();
  /// What was kept; nothing if something went wrong, which the next wait tells.
  DeviceRecording endRecording();
  /// Starts launches that were kept, unless an earlier one failed.
  void replay(const DeviceRecording &recording);
  /// Returns when all is done. Error: what went wrong since the last time,
  /// with the kernel's name.
  Status wait();
  /// What the device counted, as JSON text (DeviceABI.h); empty: nothing.
  std::string statistics() const;

private:
  friend class DeviceBuffer;
  friend class DeviceRecording;
  Device(std::string name, const dsf_module &module,
         const dsf_device *functions)
      : name(std::move(name)), module(module), functions(functions) {}
  Status report(const std::string &what, const char *why) const;
  /// What wait tells.
  void fail(const std::string &what, const char *why);

  std::string name;
  const dsf_module &module;
  const dsf_device *functions;
  std::string target; ///< of the code that was taken
  Status failure;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_DEVICE_H
