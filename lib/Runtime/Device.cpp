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
constexpr std::string_view kLibraryDevices[] = {"simt"};

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

Result<const dsf_device *> openDevice(const std::string &name) {
  Result<void *> library = openLibrary(name);
  if (!library)
    return library.status();
  std::string where = "libdsflash-" + name + ".so";
  auto open = reinterpret_cast<dsf_device_open_function>(
      dlsym(*library, DSF_DEVICE_OPEN_SYMBOL));
  const dsf_device *device = open ? open() : nullptr;
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

Result<std::unique_ptr<Device>> Device::open(const std::string &name,
                                             const dsf_module &module) {
  if (name == kHost)
    return std::unique_ptr<Device>();
  if (std::find(std::begin(kLibraryDevices), std::end(kLibraryDevices), name) ==
      std::end(kLibraryDevices))
    return Status::error("--device", "'" + name +
                                         "' is not built into this runtime; "
                                         "it has " +
                                         deviceNames());
  if (!module.device)
    return Status::error("--device", "the model was compiled for the cpu, not "
                                     "for '" +
                                         name + "'");
  Result<const dsf_device *> functions = openDevice(name);
  if (!functions)
    return functions.status();
  std::unique_ptr<Device> device(new Device(module, *functions));
  if (const char *why =
          device->functions->load(device->functions->user, module.device_code))
    return Status::error(name, why);
  return device;
}

Device::~Device() { functions->close(functions->user); }

void Device::launch(int32_t kernel, int64_t items, const void *arguments,
                    int64_t argumentBytes) {
  if (!status)
    return;
  const dsf_kernel &entry = module.kernels[kernel];
  if (const char *why = functions->launch(functions->user, &entry, items,
                                          arguments, argumentBytes))
    status = Status::error(
        std::string("kernel '") + entry.name + "' for " + module.device, why);
}

Status Device::takeStatus() { return std::exchange(status, Status()); }
