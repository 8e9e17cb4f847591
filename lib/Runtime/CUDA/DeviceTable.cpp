//===- DeviceTable.cpp - The device ABI of a GPU --------------------------===//

#include "CudaDevice.h"

#include <new>

using namespace dsflash;
using dsflash::cuda::CudaDevice;

namespace {

/// A device, its table and the text of its last fault.
struct Opened {
  CudaDevice device;
  std::string options, text;
  dsf_device table;

  static const char *report(void *user, const Status &status) {
    auto *self = static_cast<Opened *>(user);
    self->text = status.str();
    return status ? nullptr : self->text.c_str();
  }
  static CudaDevice &of(void *user) {
    return static_cast<Opened *>(user)->device;
  }
};

const char *load(void *user, const dsf_module *module,
                 const dsf_device_code **chosen) {
  auto *self = static_cast<Opened *>(user);
  return Opened::report(user,
                        self->device.load(self->options, *module, chosen));
}

const char *allocate(void *user, const char *, int64_t bytes, uint32_t,
                     void **address) {
  return Opened::report(user, Opened::of(user).allocate(bytes, address));
}

const char *reserve(void *user, const char *, int64_t bytes, void **address) {
  return Opened::report(user, Opened::of(user).reserve(bytes, address));
}

const char *commit(void *user, void *address, int64_t offset, int64_t bytes) {
  return Opened::report(user, Opened::of(user).commit(address, offset, bytes));
}

const char *release(void *user, void *address) {
  return Opened::report(user, Opened::of(user).release(address));
}

const char *copy(void *user, void *to, const void *from, int64_t bytes) {
  return Opened::report(user, Opened::of(user).copy(to, from, bytes));
}

const char *launch(void *user, const dsf_kernel *kernel, int64_t items,
                   const void *arguments, int64_t argumentBytes) {
  return Opened::report(
      user, Opened::of(user).launch(*kernel, items, arguments, argumentBytes));
}

const char *wait(void *user) {
  return Opened::report(user, Opened::of(user).wait());
}

const char *statistics(void *) { return nullptr; }

void close(void *user) { delete static_cast<Opened *>(user); }

} // namespace

extern "C" const dsf_device *dsf_device_open(const char *options) {
  auto *opened = new (std::nothrow) Opened;
  if (!opened)
    return nullptr;
  opened->options = options;
  opened->table = {DSF_DEVICE_ABI_VERSION,
                   opened,
                   load,
                   allocate,
                   reserve,
                   commit,
                   release,
                   copy,
                   launch,
                   wait,
                   statistics,
                   close};
  return &opened->table;
}
