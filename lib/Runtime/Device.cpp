//===- Device.cpp - Where kernels run that the host does not --------------===//

#include "dsflash/Runtime/Device.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>
#include <utility>

namespace fs = std::filesystem;
using namespace dsflash;

namespace {

constexpr const char *kHost = "cpu";
constexpr std::string_view kLibraryDevices[] = {"cuda", "simt"};

/// Where an installation or a build has the device's library, then its name
/// alone, for the loader to search.
Result<void *> openLibrary(const std::string &device) {
  std::string name = "libdsflash-" + device + ".so";
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  fs::path beside = program.parent_path().parent_path() / "lib" / name;
  std::string why;
  for (const std::string &path : {beside.string(), name}) {
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    why = dlerror();
  }
  return Status::error("--device", "cannot load '" + device + "': " + why);
}

Result<const dsf_device *> openDevice(const std::string &name,
                                      const std::string &options) {
  Result<void *> library = openLibrary(name);
  if (!library)
    return library.status();
  std::string where = "libdsflash-" + name + ".so";
  auto open = reinterpret_cast<dsf_device_open_function>(
      dlsym(*library, DSF_DEVICE_OPEN_SYMBOL));
  const dsf_device *device = open ? open(options.c_str()) : nullptr;
  if (!device)
    return Status::error(where, "no device");
  if (device->abi_version != DSF_DEVICE_ABI_VERSION)
    return Status::error(where, "device ABI version " +
                                    std::to_string(device->abi_version) +
                                    ", this runtime needs version " +
                                    std::to_string(DSF_DEVICE_ABI_VERSION));
  return device;
}

} // namespace

std::string dsflash::deviceNames() {
  std::string names = kHost;
  for (std::string_view name : kLibraryDevices)
    names.append(", ").append(name);
  return names;
}

std::string dsflash::deviceTargets(const dsf_module &module) {
  std::string targets;
  for (int64_t i = 0; i < module.code_count; ++i)
    targets.append(i ? ", " : "").append(module.codes[i].target);
  return targets;
}

Result<std::unique_ptr<Device>> Device::open(const std::string &spec,
                                             const dsf_module &module) {
  size_t colon = std::min(spec.find(':'), spec.size());
  std::string name = spec.substr(0, colon);
  std::string options = spec.substr(std::min(colon + 1, spec.size()));
  if (name == kHost)
    return std::unique_ptr<Device>();
  if (std::find(std::begin(kLibraryDevices), std::end(kLibraryDevices), name) ==
      std::end(kLibraryDevices))
    return Status::error("--device", "'" + name +
                                         "' is not built into this runtime; "
                                         "it has " +
                                         deviceNames());
  if (!module.code_count)
    return Status::error("--device", "the model was compiled for the cpu, not "
                                     "for '" +
                                         name + "'");
  Result<const dsf_device *> functions = openDevice(name, options);
  if (!functions)
    return functions.status();
  std::unique_ptr<Device> device(new Device(name, module, *functions));
  const dsf_device_code *chosen = nullptr;
  if (const char *why =
          (*functions)->load((*functions)->user, &module, &chosen))
    return Status::error(name, why);
  device->target = chosen->target;
  return device;
}

Device::~Device() { functions->close(functions->user); }

DeviceBuffer::~DeviceBuffer() {
  // What a device says here, its next wait says too.
  if (device)
    device->functions->release(device->functions->user, address);
}

DeviceRecording::~DeviceRecording() {
  if (launches)
    device->functions->release_recording(device->functions->user, launches);
}

Status Device::report(const std::string &what, const char *why) const {
  return why ? Status::error(name + ": " + what, why) : Status();
}

Result<DeviceBuffer> Device::allocate(const std::string &what, int64_t bytes,
                                      dsf_access access) {
  void *address = nullptr;
  if (Status status =
          report(what, functions->allocate(functions->user, what.c_str(), bytes,
                                           access, &address));
      !status)
    return status;
  return DeviceBuffer(*this, address);
}

Result<DeviceBuffer> Device::upload(const std::string &what, const void *data,
                                    int64_t bytes, dsf_access access) {
  Result<DeviceBuffer> buffer = allocate(what, bytes, access);
  if (buffer)
    if (Status status =
            report(what, functions->copy(functions->user, buffer->data(), data,
                                         bytes));
        !status)
      return status;
  return buffer;
}

Result<DeviceBuffer> Device::allocateShared(const std::string &what,
                                            int64_t bytes) {
  void *address = nullptr;
  if (Status status =
          report(what, functions->allocate_shared(functions->user, what.c_str(),
                                                  bytes, &address));
      !status)
    return status;
  return DeviceBuffer(*this, address);
}

Result<DeviceBuffer> Device::reserve(const std::string &what, int64_t bytes) {
  void *address = nullptr;
  if (Status status =
          report(what, functions->reserve(functions->user, what.c_str(), bytes,
                                          &address));
      !status)
    return status;
  return DeviceBuffer(*this, address);
}

Status Device::commit(const DeviceBuffer &range, int64_t offset,
                      int64_t bytes) {
  return report("memory", functions->commit(functions->user, range.data(),
                                            offset, bytes));
}

Status Device::copy(void *to, const void *from, int64_t bytes) {
  return report("copy", functions->copy(functions->user, to, from, bytes));
}

void Device::launch(int32_t kernel, int64_t items, const void *arguments,
                    int64_t argumentBytes) {
  if (!failure)
    return;
  const dsf_kernel &entry = module.kernels[kernel];
  fail(std::string("kernel '") + entry.name + "' for " + target,
       functions->launch(functions->user, &entry, items, arguments,
                         argumentBytes));
}

void Device::fail(const std::string &what, const char *why) {
  if (why && failure)
    failure = Status::error(what, why);
}

Status Device::prefetch(int64_t number, dsf_fill fill, void *context,
                        const DeviceBuffer &to, const DeviceBuffer &from,
                        int64_t bytes) {
  return report("prefetch",
                functions->prefetch(functions->user, number, fill, context,
                                    to.data(), from.data(), bytes));
}

void Device::awaitPrefetch(int64_t number) {
  if (failure)
    fail(name + ": prefetch",
         functions->await_prefetch(functions->user, number));
}

bool Device::beginRecording() {
  int32_t recording = 0;
  fail(name + ": recording of kernels for " + target,
       functions->begin_recording(functions->user, &recording));
  return recording;
}

DeviceRecording Device::endRecording() {
  void *launches = nullptr;
  fail(name + ": recording of kernels for " + target,
       functions->end_recording(functions->user, &launches));
  return DeviceRecording(*this, launches);
}

void Device::replay(const DeviceRecording &recording) {
  if (failure)
    fail(name + ": recorded kernels for " + target,
         functions->replay(functions->user, recording.data()));
}

std::string Device::statistics() const {
  const char *text = functions->statistics(functions->user);
  return text ? text : "";
}

Status Device::wait() {
  Status status = std::exchange(failure, Status());
  const char *why = functions->wait(functions->user);
  return status ? report("kernels for " + target, why) : status;
}
