//===- Device.cpp - Memory and options of a device ------------------------===//

#include "DeviceImpl.h"

#include <cstring>

namespace dsflash::simt {

Device::Device(Options options) : implementation(std::make_unique<Impl>()) {
  implementation->options = options;
}
Device::~Device() = default;
Device::Device(Device &&) noexcept = default;
Device &Device::operator=(Device &&) noexcept = default;

Result<uint64_t> Device::allocate(size_t bytes, std::string name,
                                  bool writable) {
  return implementation->memory.allocate(bytes, std::move(name), writable);
}

Status Device::release(uint64_t address) {
  return implementation->memory.release(address);
}

Status Device::mapHost(const void *data, size_t bytes, bool writable,
                       std::string name) {
  return implementation->memory.map(reinterpret_cast<uint64_t>(data), bytes,
                                    writable, std::move(name));
}

Status Device::write(uint64_t address, const void *data, size_t bytes) {
  if (Status status = implementation->memory.check(address, bytes); !status)
    return status;
  if (bytes)
    std::memcpy(reinterpret_cast<void *>(address), data, bytes);
  return {};
}

Status Device::read(uint64_t address, void *data, size_t bytes) const {
  if (Status status = implementation->memory.check(address, bytes); !status)
    return status;
  if (bytes)
    std::memcpy(data, reinterpret_cast<const void *>(address), bytes);
  return {};
}

Status Device::fill(uint64_t address, uint8_t value, size_t bytes) {
  if (Status status = implementation->memory.check(address, bytes); !status)
    return status;
  if (bytes)
    std::memset(reinterpret_cast<void *>(address), value, bytes);
  return {};
}

Options &Device::options() { return implementation->options; }

const std::map<std::string, Counters> &Device::counters() const {
  return implementation->counters;
}

void Device::resetCounters() { implementation->counters.clear(); }

} // namespace dsflash::simt
