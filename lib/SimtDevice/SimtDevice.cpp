//===- SimtDevice.cpp - The simt device as a library of its own -----------===//

#include "dsflash/ABI/DeviceTable.h"
#include "dsflash/Simt/Simt.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
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
    device.options().checks = false;
    while (!options.empty()) {
      size_t comma = std::min(options.find(','), options.size());
      setOption(std::string(options.substr(0, comma)));
      options.remove_prefix(std::min(comma + 1, options.size()));
    }
  }
  SimtDevice(const SimtDevice &) = delete;
  SimtDevice &operator=(const SimtDevice &) = delete;
  ~SimtDevice() {
    for (auto &[address, bytes] : ranges)
      munmap(address, bytes);
  }

  /// The first code, or that of the architecture that is wanted.
  Status load(const dsf_module *module, const dsf_device_code **chosen) {
    if (!wrongOption)
      return wrongOption;
    for (int64_t i = module->code_count - 1; i >= 0; --i)
      if (target.empty() || target == module->codes[i].target)
        *chosen = &module->codes[i];
    if (!*chosen)
      return Status::error(target, "the model has no code for it");
    Result<simt::Module> loaded =
        simt::Module::load(device, (*chosen)->ptx, "model.ptx");
    if (!loaded)
      return loaded.status();
    code = std::move(*loaded);
    return Status();
  }

  Status allocate(const char *name, int64_t bytes, uint32_t access,
                  void **address) {
    Result<uint64_t> memory =
        device.allocate(size_t(bytes), name, access != DSF_READ);
    if (!memory)
      return memory.status();
    *address = reinterpret_cast<void *>(*memory);
    return Status();
  }
  Status allocateShared(const char *name, int64_t bytes, void **address) {
    return allocate(name, bytes, DSF_READ, address);
  }

  /// All of it is there; what is not touched takes no memory.
  Status reserve(const char *name, int64_t bytes, void **address) {
    void *range = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
      return Status::error("cannot reserve " + std::to_string(bytes) + " bytes",
                           std::strerror(errno));
    ranges[range] = size_t(bytes);
    *address = range;
    return device.mapHost(range, size_t(bytes), /*writable=*/true, name);
  }
  Status commit(void *, int64_t, int64_t) { return Status(); }

  Status release(void *address) {
    Status status = device.release(reinterpret_cast<uint64_t>(address));
    auto range = ranges.find(address);
    if (range != ranges.end()) {
      munmap(range->first, range->second);
      ranges.erase(range);
    }
    return status;
  }

  Status copy(void *to, const void *from, int64_t bytes) {
    if (bytes)
      std::memcpy(to, from, size_t(bytes));
    return Status();
  }

  Status launch(const dsf_kernel *kernel, int64_t items, const void *arguments,
                int64_t argumentBytes) {
    auto *bytes = static_cast<const char *>(arguments);
    if (recording) {
      recording->push_back({kernel, items, {bytes, bytes + argumentBytes}});
      return Status();
    }
    const simt::KernelInfo *info = code->kernel(kernel->entry);
    if (!info)
      return Status::error("model.ptx", "no such kernel");
    std::vector<const void *> parameters;
    int64_t offset = 0;
    for (const simt::Parameter &parameter : info->parameters) {
      int64_t alignment = parameter.alignment;
      offset = (offset + alignment - 1) / alignment * alignment;
      parameters.push_back(bytes + offset);
      offset += parameter.bytes;
    }
    if (offset > argumentBytes)
      return Status::error("its parameters", std::to_string(offset) +
                                                 " bytes, the launch has " +
                                                 std::to_string(argumentBytes));
    int64_t blocks =
        (items + kernel->items_per_block - 1) / kernel->items_per_block;
    simt::Dim3 grid, block;
    grid.x = uint32_t(std::min(blocks, kMaxBlocks));
    block.x = kernel->threads;
    return code->launch(kernel->entry, grid, block, kernel->shared_bytes,
                        parameters.data(), kernel->name);
  }

  /// The copy happens as late as it may.
  Status prefetch(int64_t number, dsf_fill fill, void *context, void *to,
                  const void *from, int64_t bytes) {
    prefetches[number] = [=] {
      fill(context);
      std::memcpy(to, from, size_t(bytes));
    };
    return Status();
  }
  Status awaitPrefetch(int64_t number) {
    if (recording)
      recording->push_back({nullptr, number, {}});
    else if (auto pending = prefetches.extract(number))
      pending.mapped()();
    return Status();
  }

  Status beginRecording(int32_t *begun) {
    recording = std::make_unique<Recording>();
    *begun = 1;
    return Status();
  }
  Status endRecording(void **recorded) {
    *recorded = recording.release();
    return Status();
  }
  Status replay(void *recorded) {
    for (const Launch &kept : *static_cast<Recording *>(recorded)) {
      if (!kept.kernel) {
        (void)awaitPrefetch(kept.items);
        continue;
      }
      if (Status status = launch(kept.kernel, kept.items, kept.arguments.data(),
                                 int64_t(kept.arguments.size()));
          !status)
        return Status::error(std::string("kernel '") + kept.kernel->name + "'",
                             status.str());
    }
    return Status();
  }
  Status releaseRecording(void *recorded) {
    delete static_cast<Recording *>(recorded);
    return Status();
  }

  Status wait() { return Status(); }

  std::string statistics() {
    if (!device.options().counters)
      return "";
    nlohmann::json kernels = nlohmann::json::array();
    for (const auto &[name, counters] : device.counters())
      kernels.push_back(describe(name, counters));
    return kernels.dump();
  }

private:
  struct Launch {
    const dsf_kernel *kernel; ///< null: awaitPrefetch of number `items`
    int64_t items;
    std::vector<char> arguments;
  };
  using Recording = std::vector<Launch>;

  void setOption(const std::string &name) {
    simt::Options &options = device.options();
    if (name == "checks")
      options.checks = true;
    else if (name == "counters")
      options.counters = true;
    else if (name == "reverse")
      options.order = simt::Order::Reverse;
    else if (name.rfind("random", 0) == 0 && readSeed(name.substr(6)))
      options.order = simt::Order::Random;
    else if (name.rfind("sm_", 0) == 0)
      target = "nvptx:" + name;
    else
      wrongOption.add("unknown option '" + name + "'",
                      "it has checks, counters, reverse, randomSEED, sm_CHIP");
  }

  bool readSeed(const std::string &digits) {
    const char *end = digits.data() + digits.size();
    auto [stop, error] =
        std::from_chars(digits.data(), end, device.options().seed);
    return error == std::errc() && stop == end;
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

  simt::Device device;
  std::optional<simt::Module> code;
  std::map<void *, size_t> ranges; ///< that `reserve` mapped
  std::unique_ptr<Recording> recording;
  std::map<int64_t, std::function<void()>> prefetches;
  Status wrongOption;
  std::string target;
};

} // namespace

extern "C" const dsf_device *dsf_device_open(const char *options) {
  return DeviceTable<SimtDevice>::open(options);
}
