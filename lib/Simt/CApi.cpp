//===- CApi.cpp - The PTX device by dlopen --------------------------------===//

#include "dsflash/Simt/Simt.h"
#include "dsflash/Simt/SimtApi.h"

using namespace dsflash;
using namespace dsflash::simt;

struct dsf_simt_device {
  Device device;
};

struct dsf_simt_module {
  Module module;
};

namespace {

thread_local std::string lastError;

const char *answer(const Status &status) {
  if (status.ok())
    return nullptr;
  lastError = status.str();
  return lastError.c_str();
}

Options toOptions(const dsf_simt_options &from) {
  Options options;
  options.checks = from.checks;
  options.counters = from.counters;
  options.order = from.order == 1   ? Order::Reverse
                  : from.order == 2 ? Order::Random
                                    : Order::Forward;
  options.threads = unsigned(from.threads);
  options.seed = from.seed;
  return options;
}

const char *createDevice(const dsf_simt_options *options,
                         dsf_simt_device **device) {
  *device = new dsf_simt_device{Device(toOptions(*options))};
  return nullptr;
}

void destroyDevice(dsf_simt_device *device) { delete device; }

void setOptions(dsf_simt_device *device, const dsf_simt_options *options) {
  device->device.options() = toOptions(*options);
}

const char *allocate(dsf_simt_device *device, size_t bytes, const char *name,
                     uint64_t *address) {
  Result<uint64_t> result = device->device.allocate(bytes, name);
  if (result)
    *address = *result;
  return answer(result.status());
}

const char *release(dsf_simt_device *device, uint64_t address) {
  return answer(device->device.release(address));
}

const char *mapHost(dsf_simt_device *device, const void *data, size_t bytes,
                    int32_t writable, const char *name) {
  return answer(device->device.mapHost(data, bytes, writable, name));
}

const char *write(dsf_simt_device *device, uint64_t address, const void *data,
                  size_t bytes) {
  return answer(device->device.write(address, data, bytes));
}

const char *read(dsf_simt_device *device, uint64_t address, void *data,
                 size_t bytes) {
  return answer(device->device.read(address, data, bytes));
}

const char *load(dsf_simt_device *device, const char *ptx, size_t length,
                 const char *name, dsf_simt_module **module) {
  Result<Module> loaded = Module::load(device->device, {ptx, length}, name);
  if (loaded)
    *module = new dsf_simt_module{std::move(*loaded)};
  return answer(loaded.status());
}

void unload(dsf_simt_module *module) { delete module; }

const char *parameters(const dsf_simt_module *module, const char *kernel,
                       dsf_simt_parameter *parameters, size_t capacity,
                       size_t *count) {
  const KernelInfo *info = module->module.kernel(kernel);
  if (!info)
    return answer(Status::error(kernel, "no kernel of this name"));
  *count = info->parameters.size();
  for (size_t i = 0; i < *count && i < capacity; ++i)
    parameters[i] = {info->parameters[i].bytes, info->parameters[i].alignment};
  return nullptr;
}

uint64_t variable(const dsf_simt_module *module, const char *name) {
  return module->module.variable(name);
}

const char *launch(dsf_simt_module *module, const char *kernel,
                   const uint32_t grid[3], const uint32_t block[3],
                   uint32_t dynamicSharedBytes, const void *const *arguments) {
  return answer(module->module.launch(kernel, {grid[0], grid[1], grid[2]},
                                      {block[0], block[1], block[2]},
                                      dynamicSharedBytes, arguments));
}

const dsf_simt_functions kFunctions = {DSF_SIMT_API_VERSION,
                                       createDevice,
                                       destroyDevice,
                                       setOptions,
                                       allocate,
                                       release,
                                       mapHost,
                                       write,
                                       read,
                                       load,
                                       unload,
                                       parameters,
                                       variable,
                                       launch};

} // namespace

extern "C" const dsf_simt_functions *dsf_simt_api(uint32_t version) {
  return version == DSF_SIMT_API_VERSION ? &kFunctions : nullptr;
}
