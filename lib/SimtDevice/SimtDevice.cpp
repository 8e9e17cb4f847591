//===- SimtDevice.cpp - The simt device as a library of its own -----------===//

#include "dsflash/ABI/DeviceABI.h"
#include "dsflash/Simt/Simt.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace dsflash;

namespace {

constexpr int64_t kMaxBlocks = 65535;

class SimtDevice {
public:
  SimtDevice() {
    table = {DSF_DEVICE_ABI_VERSION, this, load, launch, close};
    device.options().checks = false;
  }
  const dsf_device *functions() const { return &table; }

private:
  static const char *load(void *user, const char *code) {
    auto *self = static_cast<SimtDevice *>(user);
    Result<simt::Module> loaded =
        simt::Module::load(self->device, code, "model.ptx");
    if (!loaded)
      return self->report(loaded.status());
    self->module = std::move(*loaded);
    return nullptr;
  }

  static const char *launch(void *user, const dsf_kernel *kernel, int64_t items,
                            const void *arguments, int64_t argumentBytes) {
    auto *self = static_cast<SimtDevice *>(user);
    const simt::KernelInfo *info = self->module->kernel(kernel->name);
    if (!info)
      return self->fail("no such kernel");
    std::vector<const void *> parameters;
    int64_t offset = 0;
    for (const simt::Parameter &parameter : info->parameters) {
      int64_t alignment = parameter.alignment;
      offset = (offset + alignment - 1) / alignment * alignment;
      parameters.push_back(static_cast<const char *>(arguments) + offset);
      offset += parameter.bytes;
    }
    if (offset > argumentBytes)
      return self->fail("its parameters have " + std::to_string(offset) +
                        " bytes, the launch " + std::to_string(argumentBytes));
    int64_t blocks =
        (items + kernel->items_per_block - 1) / kernel->items_per_block;
    simt::Dim3 grid, block;
    grid.x = uint32_t(std::min(blocks, kMaxBlocks));
    block.x = kernel->threads;
    return self->report(self->module->launch(kernel->name, grid, block,
                                             kernel->shared_bytes,
                                             parameters.data()));
  }

  static void close(void *user) { delete static_cast<SimtDevice *>(user); }

  /// The text of a fault, or null.
  const char *report(const Status &status) {
    return status ? nullptr : fail(status.str());
  }
  const char *fail(std::string why) {
    text = std::move(why);
    return text.c_str();
  }

  dsf_device table;
  simt::Device device;
  std::optional<simt::Module> module;
  std::string text;
};

} // namespace

extern "C" const dsf_device *dsf_device_open() {
  auto *device = new (std::nothrow) SimtDevice;
  return device ? device->functions() : nullptr;
}
