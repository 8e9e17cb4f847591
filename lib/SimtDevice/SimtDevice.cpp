//===- SimtDevice.cpp - The simt device as a library of its own -----------===//

#include "dsflash/ABI/DeviceABI.h"
#include "dsflash/Simt/Simt.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <utility>
#include <vector>

using namespace dsflash;

namespace {

constexpr int64_t kMaxBlocks = 65535;

class SimtDevice {
public:
  explicit SimtDevice(std::string_view options) {
    table = {DSF_DEVICE_ABI_VERSION,
             this,
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
    device.options().checks = false;
    while (!options.empty()) {
      size_t comma = std::min(options.find(','), options.size());
      setOption(std::string(options.substr(0, comma)));
      options.remove_prefix(std::min(comma + 1, options.size()));
    }
  }
  ~SimtDevice() {
    for (auto &[address, bytes] : ranges)
      munmap(address, bytes);
  }
  const dsf_device *functions() const { return &table; }

private:
  void setOption(const std::string &name) {
    simt::Options &options = device.options();
    if (name == "checks")
      options.checks = true;
    else if (name == "counters")
      options.counters = true;
    else if (name == "reverse")
      options.order = simt::Order::Reverse;
    else if (name.rfind("random", 0) == 0) {
      options.order = simt::Order::Random;
      options.seed = std::strtoull(name.c_str() + 6, nullptr, 10);
    } else if (name.rfind("sm_", 0) == 0)
      target = "nvptx:" + name;
    else
      wrongOption = "unknown option '" + name +
                    "'; it has checks, counters, reverse, randomSEED, sm_CHIP";
  }

  /// The first code, or that of the architecture that is wanted.
  static const char *load(void *user, const dsf_module *module,
                          const dsf_device_code **chosen) {
    auto *self = static_cast<SimtDevice *>(user);
    if (!self->wrongOption.empty())
      return self->fail(self->wrongOption);
    for (int64_t i = module->code_count - 1; i >= 0; --i)
      if (self->target.empty() || self->target == module->codes[i].target)
        *chosen = &module->codes[i];
    if (!*chosen)
      return self->fail("the model has no code for " + self->target);
    Result<simt::Module> loaded =
        simt::Module::load(self->device, (*chosen)->ptx, "model.ptx");
    if (!loaded)
      return self->report(loaded.status());
    self->module = std::move(*loaded);
    return nullptr;
  }

  static const char *allocate(void *user, const char *name, int64_t bytes,
                              uint32_t access, void **address) {
    auto *self = static_cast<SimtDevice *>(user);
    Result<uint64_t> memory =
        self->device.allocate(size_t(bytes), name, access != DSF_READ);
    if (!memory)
      return self->report(memory.status());
    *address = reinterpret_cast<void *>(*memory);
    return nullptr;
  }

  /// All of it is there; what is not touched takes no memory.
  static const char *reserve(void *user, const char *name, int64_t bytes,
                             void **address) {
    auto *self = static_cast<SimtDevice *>(user);
    void *range = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
      return self->fail("cannot reserve " + std::to_string(bytes) +
                        " bytes: " + std::strerror(errno));
    self->ranges[range] = size_t(bytes);
    *address = range;
    return self->report(
        self->device.mapHost(range, size_t(bytes), /*writable=*/true, name));
  }
  static const char *commit(void *, void *, int64_t, int64_t) {
    return nullptr;
  }

  static const char *release(void *user, void *address) {
    auto *self = static_cast<SimtDevice *>(user);
    Status status = self->device.release(reinterpret_cast<uint64_t>(address));
    auto range = self->ranges.find(address);
    if (range != self->ranges.end()) {
      munmap(range->first, range->second);
      self->ranges.erase(range);
    }
    return self->report(status);
  }

  static const char *copy(void *, void *to, const void *from, int64_t bytes) {
    if (bytes)
      std::memcpy(to, from, size_t(bytes));
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
    return self->report(self->module->launch(
        kernel->name, grid, block, kernel->shared_bytes, parameters.data()));
  }

  static const char *wait(void *) { return nullptr; }

  static const char *statistics(void *user) {
    auto *self = static_cast<SimtDevice *>(user);
    if (!self->device.options().counters)
      return nullptr;
    nlohmann::json kernels = nlohmann::json::array();
    for (const auto &[name, counters] : self->device.counters())
      kernels.push_back(describe(name, counters));
    return self->keep(kernels.dump());
  }

  static nlohmann::json describe(const std::string &name,
                                 const simt::Counters &counters) {
    nlohmann::json instructions;
    for (size_t i = 0; i < simt::kInstructionClasses; ++i)
      instructions[simt::instructionClassName(simt::InstructionClass(i))] =
          counters.instructions[i];
    return {{"name", name},
            {"launches", counters.launches},
            {"threads", counters.threads},
            {"instructions", instructions},
            {"tensor_flops", counters.tensorFlops},
            {"global_read_bytes", counters.globalReadBytes},
            {"global_written_bytes", counters.globalWrittenBytes},
            {"unique_read_bytes", counters.uniqueReadBytes},
            {"unique_written_bytes", counters.uniqueWrittenBytes},
            {"global_requests", counters.globalRequests},
            {"global_sectors", counters.globalSectors},
            {"ideal_sectors", counters.idealSectors},
            {"shared_requests", counters.sharedRequests},
            {"shared_passes", counters.sharedPasses},
            {"ideal_passes", counters.idealPasses}};
  }

  static void close(void *user) { delete static_cast<SimtDevice *>(user); }

  /// The text of a fault, or null.
  const char *report(const Status &status) {
    return status ? nullptr : fail(status.str());
  }
  const char *fail(std::string why) { return keep(std::move(why)); }
  /// A text that lives until the next call.
  const char *keep(std::string answer) {
    text = std::move(answer);
    return text.c_str();
  }

  dsf_device table;
  simt::Device device;
  std::optional<simt::Module> module;
  std::map<void *, size_t> ranges; ///< that `reserve` mapped
  std::string text, wrongOption, target;
};

} // namespace

extern "C" const dsf_device *dsf_device_open(const char *options) {
  auto *device = new (std::nothrow) SimtDevice(options);
  return device ? device->functions() : nullptr;
}
